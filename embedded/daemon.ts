// A program of ours in the background: ready, stopped, killed, paused. Whoever asks need not have started it: its pid is in a
// file, and a word of its command line tells it from a stranger that has its pid by now.
import type { ChildProcess } from 'node:child_process'
import { Refusal } from './paths.ts'
import { family, isOurs, signalAll, stopProcess } from './process.ts'
import { until } from './wait.ts'

export type Stopped = 'stopped' | 'was not running' | 'does not stop'

export interface Daemon {
  /** Undefined: it does not run. */
  pid(): number | undefined
  /** Its own way to end, and SIGKILL after that. */
  stop(): Promise<Stopped>
  /** At once and without a word, with its children, as the kernel's out-of-memory killer does. */
  kill(): Promise<void>
  /** Connections stay open, nothing answers. */
  pause(): Promise<void>
  resume(): Promise<void>
}

interface Traits {
  /** As it was recorded, which proves nothing. */
  readonly pid: () => number | undefined
  readonly word: string
  /** That ask it to end, each with its milliseconds. */
  readonly signals: readonly [NodeJS.Signals, number][]
}

export function daemon({ pid: recorded, word, signals }: Traits): Daemon {
  const pid = (): number | undefined => {
    const known = recorded()
    return isOurs(known, word) ? known : undefined
  }
  const signal = (name: NodeJS.Signals): Promise<void> => {
    const known = pid()
    if (known !== undefined) signalAll(family(known), name)
    return Promise.resolve()
  }
  return {
    pid,
    async stop() {
      const known = pid()
      if (known === undefined) return 'was not running'
      return (await stopProcess(known, word, [...signals, ['SIGKILL', 5000]])) ? 'stopped' : 'does not stop'
    },
    async kill() {
      await signal('SIGKILL')
      if (!(await until(() => pid() === undefined, 5000, 10))) throw new Refusal('It does not die.')
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  }
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** False when it ended, or was not ready in time. */
export async function isReadyInTime(
  child: ChildProcess,
  ready: () => boolean | Promise<boolean>,
  deadlineMs: number,
  everyMs = 20,
): Promise<boolean> {
  return (await until(async () => hasEnded(child) || (await ready()), deadlineMs, everyMs)) && !hasEnded(child)
}
