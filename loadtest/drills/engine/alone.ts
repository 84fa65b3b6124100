// Two drills at once would measure each other.
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal, readText } from '../../../embedded/paths.ts'
import { isOurs } from '../../../embedded/process.ts'

/** Of the user: another one's cannot be written. */
export const lockFile = join(tmpdir(), `quicklink-drill-${process.getuid?.() ?? 0}.lock`)

/** Held from now on; the dead man's switch releases it for a runner that was killed. */
export function lockDrills(runnerWord: string): () => void {
  for (;;) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx', mode: 0o600 })
      return () => rmSync(lockFile, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (isOurs(Number(readText(lockFile)), runnerWord)) {
      throw new Refusal('Another drill is under way on this machine: wait for it.')
    }
    rmSync(lockFile, { force: true })
  }
}
