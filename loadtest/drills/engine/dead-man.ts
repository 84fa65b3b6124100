// The dead man's switch of a drill: heals and takes everything down when the runner has gone, or at the latest when the
// time is up. A process of its own, in a session of its own, so that neither kill -9 of the runner nor the end of the
// terminal reaches it.
import { rmSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { isOurs } from '../../../embedded/process.ts'
import { heal, takeDown } from './cleanup.ts'

export interface DeadManOrder {
  readonly runner: { readonly pid: number; readonly word: string }
  readonly dir: string
  readonly lockFile: string
  readonly maxMs: number
}

const { runner, dir, lockFile, maxMs } = JSON.parse(process.argv[2] ?? '') as DeadManOrder
const lookEveryMs = 200
const endMs = performance.now() + maxMs
// A runner that is done says so by killing this process.
while (performance.now() < endMs && isOurs(runner.pid, runner.word)) await pause(lookEveryMs)
await heal(dir)
await takeDown(dir)
rmSync(lockFile, { force: true })
