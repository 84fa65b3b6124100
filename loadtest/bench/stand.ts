// What a measurement of whole servers needs: services of its own, and servers as processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../embedded/process.ts'
import { buildIndexes } from '../../server/connections/indexes.ts'
import { withDatabaseLock } from '../../server/connections/migrate.ts'
import { openPostgres } from '../../server/connections/postgres.ts'
import { chooseIndexes } from '../../server/links/upkeep.ts'
import { ask } from '../../embedded/ask.ts'
import { dieWithMe, makeRunDir, removeDir, startLocalPostgres, startLocalRedis } from '../../embedded/temporary.ts'
import { waitFor } from '../../embedded/wait.ts'
import { opsAt, type Ops } from '../measure/ops.ts'

export type Stand = Awaited<ReturnType<typeof openStand>>

export interface BenchServer extends Ops {
  readonly url: string
  readonly opsUrl: string
  readonly pid: number
  /** Its API, as the owner: what it answers. Anything but a 2xx is an error. */
  api<T = unknown>(method: string, path: string, body?: string | object, type?: string): Promise<T>
  stop(): Promise<void>
}

/** As an operator would run them: every commit is on disk before it is acknowledged. */
const durable = ['fsync=on', 'full_page_writes=on', 'shared_buffers=256MB', 'max_wal_size=1GB']

export async function openStand() {
  const runDir = makeRunDir('bench')
  dieWithMe(undefined, runDir)
  const [postgres, redis] = await Promise.all([
    startLocalPostgres({ dir: join(runDir, 'pg'), runDir, settings: durable }),
    startLocalRedis({ dir: join(runDir, 'redis') }),
  ])
  const onError = (): undefined => undefined
  const sql = openPostgres({ url: postgres.url, name: 'bench', maxConnections: 2, connectMs: 5000, queryMs: 120_000, onError }) // prettier-ignore
  const servers: BenchServer[] = []
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()))
    await sql.close()
    await Promise.all([postgres.kill(), redis.kill()])
    removeDir(runDir)
  }
  return {
    postgres,
    redis,
    sql,
    /** Its tables, as a first server makes them. */
    migrate: () => withDatabaseLock({ url: postgres.url, connectMs: 5000, onInfo: onError }, () => Promise.resolve()),
    /** Those that a primary makes after its start. */
    index: () => buildIndexes({ url: postgres.url, connectMs: 5000, buildMs: 600_000 }, chooseIndexes),
    /** `program`: another one's. */
    async startServer(env: Record<string, string>, program = main): Promise<BenchServer> {
      const server = await startServer({ DATABASE_URL: postgres.url, ...env }, program)
      servers.push(server)
      return server
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const main = new URL('../../server/main.ts', import.meta.url).pathname
/** As many at once as a program would have. */
const kept = new Agent({ keepAlive: true, maxSockets: 8, keepAliveMsecs: 1000, timeout: 60_000 })
const ownerKey = `ql_${randomBytes(24).toString('base64url')}`

async function startServer(env: Record<string, string>, program: string): Promise<BenchServer> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const own = {
    HOST: '127.0.0.1',
    PORT: String(port),
    OPS_PORT: String(opsPort),
    DATA_DIR: dataDir,
    OWNER_KEY: ownerKey,
  }
  const child: ChildProcess = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'], ...own, WORKERS: '1', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const callOff = dieWithMe(child.pid, dataDir)
  const opsUrl = `http://127.0.0.1:${opsPort}`
  await waitFor(async () => (await ask(opsUrl, '/readyz')).text.includes('"ok"'), { deadlineMs: 30_000 })
  const url = `http://127.0.0.1:${port}`
  const key = env['OWNER_KEY'] ?? ownerKey
  return {
    url,
    opsUrl,
    async api<T>(method: string, path: string, body?: string | object, type = 'application/json'): Promise<T> {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': type }
      const text = typeof body === 'object' ? JSON.stringify(body) : body
      const answer = await ask(url, `/api/v1${path}`, { method, headers, body: text, agent: kept })
      if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
      return (answer.text === '' ? undefined : JSON.parse(answer.text)) as T
    },
    pid: child.pid as number,
    ...opsAt(opsUrl),
    async stop() {
      const ended = new Promise((resolve) => child.once('close', resolve))
      if (child.exitCode === null) {
        child.kill('SIGTERM')
        await ended
      }
      callOff()
      removeDir(dataDir)
    },
  }
}
