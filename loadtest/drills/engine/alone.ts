// Two drills at once would measure each other.
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal, readJson } from '../../../embedded/paths.ts'
import { commandLine, isOurs } from '../../../embedded/process.ts'

/** Of the user: another one's cannot be written. */
export const lockFile = join(tmpdir(), `quicklink-drill-${process.getuid?.() ?? 0}.lock`)

/** What tells this process from a stranger that gets its pid. */
export const self = (): { pid: number; word: string } => ({ pid: process.pid, word: commandLine(process.pid) })

/** Held from now on; the dead man's switch releases it for a runner that was killed. */
export function lockDrills(): () => void {
  for (;;) {
    try {
      writeFileSync(lockFile, JSON.stringify(self()), { flag: 'wx', mode: 0o600 })
      return () => rmSync(lockFile, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = readJson<{ pid: number; word: string }>(lockFile)
    if (holder?.word && isOurs(holder.pid, holder.word)) {
      throw new Refusal('Another drill is under way on this machine: wait for it.')
    }
    rmSync(lockFile, { force: true })
  }
}
