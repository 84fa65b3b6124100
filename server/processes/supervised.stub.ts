// A primary and its workers around a stub for the app (supervisor.stub.ts), as processes, and how tests ask them.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'

// A start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 90_000 })

const stub = new URL('supervisor.stub.ts', import.meta.url).pathname
export const until = <T>(check: () => Promise<T>, timeout = 30_000): Promise<T> =>
  vi.waitFor(check, { timeout, interval: 25 })

export interface Running {
  readonly child: ChildProcess
  readonly url: string
  readonly ops: string
  readonly exit: Promise<{ code: number | null; signal: string | null; ms: number }>
  output(): string
}
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** What it writes goes to a file, unless it gets another standard output. */
export async function start(env: Record<string, string> = {}, stdout?: 'pipe' | number): Promise<Running> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const all = { HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: `${opsPort}`, WORKERS: '2', ...env }
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-supervised-'))
  const outputFile = join(dir, 'output')
  const output = openSync(outputFile, 'a')
  const child = spawn(process.execPath, [stub], {
    env: { PATH: process.env['PATH'], DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ...all },
    stdio: ['ignore', stdout ?? output, output],
    // A group of its own, so that all of it can be killed at once, also a worker that has been stopped.
    detached: true,
  })
  closeSync(output)
  const beganMs = performance.now()
  const exit = once(child, 'exit').then(([code, signal]) => ({ code, signal, ms: performance.now() - beganMs }))
  onTestFinished(async () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL')
    } catch {
      // All have ended.
    }
    await exit
    rmSync(dir, { recursive: true })
  })
  const [url, ops] = [all.PORT, all.OPS_PORT].map((each) => `http://127.0.0.1:${each}`) as [string, string]
  return { child, exit, url, ops, output: () => readFileSync(outputFile, 'utf8') }
}

export async function startReady(...how: Parameters<typeof start>): Promise<Running> {
  const running = await start(...how)
  await until(async () => expect((await fetch(`${running.ops}/readyz`)).status).toBe(200))
  return running
}

interface Status {
  readonly health: { status: string }
  readonly workers: { pid: number | null; serving: boolean; restarts: number; status: { pid: number } | null }[]
}
export const statusOf = async ({ ops }: Running): Promise<Status> =>
  (await (await fetch(`${ops}/statusz`)).json()) as Status
export const total = async ({ ops }: Running, series: string): Promise<number> => {
  const text = await (await fetch(`${ops}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  )
}
export const get = async ({ url }: Running, path = '/'): Promise<string> =>
  (await fetch(url + path, { headers: { connection: 'close' } })).text()
export const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
