// QuickLink as it is started: a primary and its workers, from the environment alone.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { hasEnded } from '../embedded/daemon.ts'
import { freePort } from '../embedded/process.ts'
import { dieWithMe } from '../embedded/temporary.ts'
import { compileCache } from './global-setup.ts'
import { apiOf, send, type Answer } from './http.ts'
import { waitFor } from '../embedded/wait.ts'

interface Status {
  readonly health: { readonly status: string }
  readonly workers: readonly {
    readonly pid: number | null
    readonly serving: boolean
    readonly restarts: number
    readonly status: { readonly pid: number } | null
  }[]
}

/**
 * Deadlines of Postgres for tests whose claim is another: two cores that run everything are late with an answer now and then,
 * which is no outage. A test of the deadlines themselves says `hurried`.
 */
export const patient = { DB_TIMEOUT_MS: '2000', API_DB_TIMEOUT_MS: '10000' }
/** The deadlines that people have. */
export const hurried = { DB_TIMEOUT_MS: '100', API_DB_TIMEOUT_MS: '2000' }

interface Manner {
  /** Instead of the server. */
  readonly program?: string
  /** Its standard output: a socket that is read, one that nobody reads, a file that is read, or this descriptor. */
  readonly stdout?: 'read' | 'unread' | 'file' | number
}

export type ServerProcess = Awaited<ReturnType<typeof spawnServer>>

const started: { kill(): Promise<void> }[] = []
afterAll(() => Promise.all(started.splice(0).map((server) => server.kill())))

const main = new URL('../server/main.ts', import.meta.url).pathname

export async function startServer(env: Record<string, string>, manner?: Manner): Promise<ServerProcess> {
  const server = await spawnServer(env, manner)
  await waitFor(async () => (await server.ready()).status === 200, { deadlineMs: 60_000 })
  return server
}

export async function spawnServer(env: Record<string, string>, manner: Manner = {}) {
  const { program = main, stdout = 'read' } = manner
  const [port, opsPort] = [Number(env['PORT'] ?? (await freePort())), await freePort()]
  const [url, opsUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${opsPort}`]
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-test-'))
  const key = env['OWNER_KEY'] ?? `ql_${randomBytes(24).toString('base64url')}`
  const own = { HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: `${opsPort}`, OWNER_KEY: key, DATA_DIR: dataDir }
  const outputFile = join(dataDir, 'output')
  const file = stdout === 'file' ? openSync(outputFile, 'a') : undefined
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...own, WORKERS: '1', ...patient, ...env },
    // A group of its own, so that all of it can be killed at once.
    detached: true,
    stdio: ['ignore', file ?? (typeof stdout === 'number' ? stdout : 'pipe'), 'pipe'],
  })
  if (file !== undefined) closeSync(file)
  const callOff = dieWithMe(child.pid, dataDir)
  let output = ''
  for (const stream of stdout === 'read' ? [child.stdout, child.stderr] : [child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.once(stdout === 'unread' ? 'exit' : 'close', resolve))
  const ops = (path: string): Promise<Answer> => send(opsUrl, 'GET', path)
  const status = async (): Promise<Status> => JSON.parse((await ops('/statusz')).text) as Status
  const server = {
    url,
    opsUrl,
    key,
    dataDir,
    /** The exit code, when it has ended. */
    ended,
    output: () => (file === undefined ? output : readFileSync(outputFile, 'utf8') + output),
    api: apiOf(url, key),
    /** Of the primary. */
    pid: child.pid as number,
    status,
    workerPids: async (): Promise<number[]> => (await status()).workers.flatMap(({ pid }) => pid ?? []),
    /** One line of the metrics of all workers: a name, or a name with its labels. */
    async metric(line: string): Promise<number> {
      const lines = (await ops('/metrics')).text.split('\n')
      return Number(lines.find((each) => each.startsWith(`${line} `))?.slice(line.length))
    },
    /** What its ops port answers to those who ask whether it is ready. */
    ready: () => ops('/readyz'),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Primary and workers, all at once, without a word. */
    async kill(): Promise<void> {
      callOff()
      if (!hasEnded(child) && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      await ended
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  started.push(server)
  return server
}
