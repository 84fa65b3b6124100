// What makes sure that a fault is undone: the dead man's switch, and Ctrl-C; and that no two drills measure each other.
import { spawn } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal, readJson } from '../../../embedded/paths.ts'
import { commandLine, isOurs } from '../../../embedded/process.ts'
import { until } from '../../../embedded/wait.ts'
import { heal, takeDown } from './cleanup.ts'

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

interface DeadManOrder {
  readonly runner: { readonly pid: number; readonly word: string }
  readonly dir: string
  readonly maxMs: number
}

/**
 * The dead man's switch: heals and takes everything down when the runner has gone, or at the latest when the time is up. A
 * process of its own, in a session of its own, so that neither kill -9 of the runner nor the end of the terminal reaches it.
 */
async function waitForTheEnd({ runner, dir, maxMs }: DeadManOrder): Promise<void> {
  // A runner that is done says so by killing this process.
  await until(() => !isOurs(runner.pid, runner.word), maxMs, 200)
  await heal(dir)
  await takeDown(dir)
  rmSync(lockFile, { force: true })
}

/** Armed before anything is started. Returns the ordinary end: everything down, and the switch called off. */
export function armDeadMan(dir: string, maxSeconds: number): () => Promise<void> {
  const order: DeadManOrder = { runner: self(), dir, maxMs: maxSeconds * 1000 }
  const child = spawn(process.execPath, ['--no-warnings', import.meta.filename, JSON.stringify(order)], {
    detached: true,
    stdio: 'ignore',
  })
  child.unref()
  const end = async (): Promise<void> => {
    for (const signal of signals) process.off(signal, interrupted)
    // Of a drill that ended in mid-fault, too.
    await heal(dir)
    await takeDown(dir)
    child.kill('SIGKILL')
  }
  const interrupted = (): void => {
    void end().then(() => {
      rmSync(lockFile, { force: true })
      // As the shell says it of a program that a Ctrl-C ended.
      process.exit(130)
    })
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.once(signal, interrupted)
  return end
}

if (import.meta.main) await waitForTheEnd(JSON.parse(process.argv[2] ?? '') as DeadManOrder)
