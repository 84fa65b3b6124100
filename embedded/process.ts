// Processes that outlive the terminal. A pid in a file proves nothing: after a crash it may belong to a stranger, so
// every question about one also asks for words of its command line.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, fchownSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { until } from './wait.ts'

/** Empty when there is no such process, or only its zombie. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout.trim()
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** True when the process lives and its command line has the word: the absolute path of something that only it is given. */
export function isOurs(pid: number | undefined, word: string): pid is number {
  return pid !== undefined && Number.isInteger(pid) && pid > 1 && commandLine(pid).includes(word)
}

/** One signal after another, each with its time. False when even the last one did not help. */
export async function stopProcess(pid: number, word: string, steps: [NodeJS.Signals, number][]): Promise<boolean> {
  for (const [signal, waitMs] of steps) {
    if (!isOurs(pid, word)) return true
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
    if (await until(() => !isOurs(pid, word), waitMs)) return true
  }
  return false
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

export interface Start {
  readonly file: string
  readonly args: string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly logFile: string
  /** In a session of its own: neither the end of the terminal nor Ctrl-C reaches it. */
  readonly detached: boolean
  readonly user?: User | undefined
}

/** Whom a process runs as; undefined ids mean: as ourselves. */
export interface User {
  readonly uid: number
  readonly gid: number
}

export async function start(options: Start): Promise<ChildProcess & { readonly pid: number }> {
  const log = openSync(options.logFile, 'a', 0o600)
  try {
    // It opens it anew itself, later.
    if (options.user) fchownSync(log, options.user.uid, options.user.gid)
    const child = spawn(options.file, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['ignore', log, log],
      detached: options.detached,
      ...options.user,
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.unref()
    return child as ChildProcess & { readonly pid: number }
  } finally {
    closeSync(log)
  }
}

export function portProblem(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/**
 * Below the range from which systems draw ports for outgoing connections: nobody gets it by accident, so that a service
 * that goes away for a while finds it free when it comes back.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portProblem(preferred, '127.0.0.1')) === undefined) return preferred
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if ((await portProblem(port, '127.0.0.1')) === undefined) return port
  }
}
