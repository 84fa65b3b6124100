// What makes sure that a fault is undone: the dead man's switch, and Ctrl-C.
import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DeadManOrder } from './dead-man.ts'
import { lockFile, self } from './alone.ts'
import { heal, takeDown } from './cleanup.ts'

/** Armed before anything is started. Returns the ordinary end: everything down, and the switch called off. */
export function armDeadMan(dir: string, maxSeconds: number): () => Promise<void> {
  const order: DeadManOrder = { runner: self(), dir, lockFile, maxMs: maxSeconds * 1000 }
  const file = join(import.meta.dirname, 'dead-man.ts')
  const child = spawn(process.execPath, ['--no-warnings', file, JSON.stringify(order)], {
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
