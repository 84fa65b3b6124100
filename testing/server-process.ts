// QuickLink as it is started: a primary and its workers, from the environment alone.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { hasEnded } from '../embedded/daemon.ts'
import { freePort } from '../embedded/process.ts'
import { apiOf, send, type Api } from './http.ts'
import { waitFor } from '../embedded/wait.ts'

export interface ServerProcess {
  readonly url: string
  readonly opsUrl: string
  readonly key: string
  readonly dataDir: string
  readonly output: () => string
  readonly api: Api
  workerPids(): Promise<number[]>
  signal(signal: NodeJS.Signals): void
  /** The exit code, when it has ended. */
  ended: Promise<number | null>
  /** Primary and workers, all at once, without a word. */
  kill(): Promise<void>
}

const started: ServerProcess[] = []
afterAll(async () => {
  await Promise.all(started.splice(0).map((server) => server.kill()))
})

const main = new URL('../server/main.ts', import.meta.url).pathname

export async function startServer(env: Record<string, string>): Promise<ServerProcess> {
  const server = await spawnServer(env)
  await waitFor(async () => (await send(server.opsUrl, 'GET', '/readyz')).status === 200, { deadlineMs: 20_000 })
  return server
}

export async function spawnServer(env: Record<string, string>): Promise<ServerProcess> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-test-'))
  const key = env['OWNER_KEY'] ?? `ql_${randomBytes(24).toString('base64url')}`
  const own = { HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: `${opsPort}`, OWNER_KEY: key, DATA_DIR: dataDir }
  const child = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...own, WORKERS: '1', ...env },
    // A group of its own, so that all of it can be killed at once.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const server: ServerProcess = {
    url,
    opsUrl,
    key,
    dataDir,
    ended,
    output: () => output,
    api: apiOf(url, key),
    async workerPids() {
      const { text } = await send(opsUrl, 'GET', '/statusz')
      const { workers } = JSON.parse(text) as { workers: { pid: number | null }[] }
      return workers.flatMap(({ pid }) => pid ?? [])
    },
    signal: (signal) => void child.kill(signal),
    async kill() {
      if (!hasEnded(child) && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  started.push(server)
  return server
}
