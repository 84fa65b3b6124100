// A program of ours in the background: started, ready, paused, stopped, killed. Whoever asks need not have started it: its
// pid is in a file, and a word of its command line tells it from a stranger that has its pid by now.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, fchownSync, openSync } from 'node:fs'
import { Refusal, lastLines, shown } from './paths.ts'
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

type Started = ChildProcess & { readonly pid: number }

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

interface Launch extends Start {
  /** As people know it. */
  readonly name: string
  /** Told its pid before it is ready, so that a start that is killed here leaves nothing that the next one does not know. */
  readonly begun?: (pid: number) => void
  readonly ready: (pid: number) => boolean | Promise<boolean>
  readonly deadlineMs: number
  readonly everyMs?: number
  /** Ends it when it is not ready in time; SIGKILL after that. */
  readonly giveUp?: NodeJS.Signals
}

/** Its pid, once it is ready. What is not in time is ended, and refused with the end of its log, as what has ended is. */
export async function launch(options: Launch): Promise<number> {
  const { name, begun, ready, deadlineMs, everyMs = 20, giveUp = 'SIGTERM', ...how } = options
  const child = await start(how)
  try {
    begun?.(child.pid)
  } catch (error) {
    // The disk is full, for example: nobody would know of it, and it would keep its port.
    child.kill('SIGKILL')
    throw error
  }
  const settled = async (): Promise<boolean> => hasEnded(child) || (await ready(child.pid))
  if ((await until(settled, deadlineMs, everyMs)) && !hasEnded(child)) return child.pid
  const late = `was not ready after ${deadlineMs / 1000} s`
  const why = hasEnded(child) ? `ended (${child.signalCode ?? `exit code ${child.exitCode}`})` : late
  for (const signal of [giveUp, 'SIGKILL'] as const) {
    if (!hasEnded(child)) child.kill(signal)
    if (await until(() => hasEnded(child), 12_000)) break
  }
  throw new Refusal(`${name} ${why}. The end of ${shown(how.logFile)}:\n${lastLines(how.logFile, 20)}`)
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

/** Of these, the process, its children, theirs, and so on. */
export function familyOf<T extends { readonly pid: number; readonly parent: number }>(
  all: readonly T[],
  pid: number,
): T[] {
  const children = all.filter(({ parent }) => parent === pid)
  return [...all.filter((each) => each.pid === pid), ...children.flatMap((child) => familyOf(all, child.pid))]
}

export function family(pid: number): number[] {
  const table = spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).stdout.trim().split('\n')
  const all = table.map((row) => row.trim().split(/\s+/).map(Number)).map(([pid = 0, parent = 0]) => ({ pid, parent }))
  return familyOf(all, pid).map((each) => each.pid)
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
