// A program of ours in the background: started, ready, paused, stopped, killed. Whoever asks need not have started it: its
// pid is in a file, and a word of its command line tells it from a stranger that has its pid by now.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, fchownSync, openSync } from 'node:fs'
import { Refusal } from './paths.ts'
import { isOurs } from './process.ts'
import { until } from './wait.ts'

/** Whom a process runs as; undefined ids mean: as ourselves. */
export interface User {
  readonly uid: number
  readonly gid: number
}

interface Start {
  readonly file: string
  readonly args: string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly logFile: string
  /** In a session of its own: neither the end of the terminal nor Ctrl-C reaches it. */
  readonly detached: boolean
  readonly user?: User | undefined
}

export type Started = ChildProcess & { readonly pid: number }

export async function start({ file, args, logFile, user, ...how }: Start): Promise<Started> {
  const log = openSync(logFile, 'a', 0o600)
  try {
    // It opens it anew itself, later.
    if (user) fchownSync(log, user.uid, user.gid)
    const child = spawn(file, args, { ...how, stdio: ['ignore', log, log], ...user })
    await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject))
    child.unref()
    return child as Started
  } finally {
    closeSync(log)
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
  readonly signals: readonly (readonly [NodeJS.Signals, number])[]
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
      // What is paused does not hear.
      await signal('SIGCONT')
      for (const [name, waitMs] of [...signals, ['SIGKILL', 5000] as const]) {
        if (isOurs(known, word)) signalAll([known], name)
        if (await until(() => !isOurs(known, word), waitMs)) return 'stopped'
      }
      return 'does not stop'
    },
    async kill() {
      await signal('SIGKILL')
      if (!(await until(() => pid() === undefined, 5000, 10))) throw new Refusal('It does not die.')
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  }
}

/** It and its children. */
export function family(pid: number): number[] {
  const table = spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).stdout.trim().split('\n')
  const rows = table.map((row) => row.trim().split(/\s+/).map(Number))
  return [pid, ...rows.filter(([, parent]) => parent === pid).map(([child]) => child as number)]
}

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // Gone already.
    }
  }
}
