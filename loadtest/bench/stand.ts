// What a measurement of whole servers needs: services of its own, and servers as processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newPassword } from '../../embedded/paths.ts'
import { postgresUser } from '../../embedded/postgres-binaries.ts'
import { freePort } from '../../embedded/process.ts'
import { openPostgres, type Postgres } from '../../server/connections/postgres.ts'
import {
  makeRunDir,
  removeDir,
  startLocalPostgres,
  startLocalRedis,
  type LocalServer,
} from '../../embedded/temporary.ts'
import { waitFor } from '../../embedded/wait.ts'

export interface Stand {
  readonly postgres: LocalServer
  readonly redis: LocalServer
  readonly sql: Postgres
  startServer(env: Record<string, string>): Promise<BenchServer>
  close(): Promise<void>
}

export interface BenchServer {
  readonly url: string
  readonly opsUrl: string
  readonly pid: number
  status(): Promise<WorkerStatus[]>
  /** That left tier 1 so far. */
  lookups(): Promise<number>
  stop(): Promise<void>
}

interface WorkerStatus {
  readonly status: {
    readonly redis?: { readonly trusted?: boolean }
    readonly tier1?: { readonly entries: number }
  } | null
}

/** As an operator would run them: every commit is on disk before it is acknowledged. */
const durable = ['fsync=on', 'full_page_writes=on', 'shared_buffers=256MB', 'max_wal_size=1GB']

export async function openStand(): Promise<Stand> {
  const runDir = makeRunDir(postgresUser())
  const [postgres, redis] = await Promise.all([
    startLocalPostgres({ dir: join(runDir, 'pg'), runDir, superuserPassword: newPassword(), settings: durable }),
    startLocalRedis({ dir: join(runDir, 'redis') }),
  ])
  const onError = (): undefined => undefined
  const sql = openPostgres({ url: postgres.url, name: 'bench', maxConnections: 2, connectMs: 5000, queryMs: 120_000, onError }) // prettier-ignore
  const servers: BenchServer[] = []
  return {
    postgres,
    redis,
    sql,
    async startServer(env) {
      const server = await startServer({ DATABASE_URL: postgres.url, ...env })
      servers.push(server)
      return server
    },
    async close() {
      await Promise.all(servers.map((server) => server.stop()))
      await sql.close()
      await Promise.all([postgres.kill(), redis.kill()])
      removeDir(runDir)
    },
  }
}

const main = new URL('../../server/main.ts', import.meta.url).pathname
const ownerKey = `ql_${randomBytes(24).toString('base64url')}`

async function startServer(env: Record<string, string>): Promise<BenchServer> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const own = {
    HOST: '127.0.0.1',
    PORT: String(port),
    OPS_PORT: String(opsPort),
    DATA_DIR: dataDir,
    OWNER_KEY: ownerKey,
  }
  const child: ChildProcess = spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...own, WORKERS: '1', LOG_LEVEL: 'warn', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ops = (path: string): Promise<string> => body(`http://127.0.0.1:${opsPort}${path}`)
  await waitFor(async () => (await ops('/readyz')).includes('"ok"'), { deadlineMs: 30_000 })
  return {
    url: `http://127.0.0.1:${port}`,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    pid: child.pid as number,
    status: async () => (JSON.parse(await ops('/statusz')) as { workers: WorkerStatus[] }).workers,
    lookups: async () =>
      [...(await ops('/metrics')).matchAll(/^quicklink_lookups_total\{.*\} (\d+)/gm)].reduce(
        (sum, [, n]) => sum + Number(n),
        0,
      ),
    async stop() {
      const ended = new Promise((resolve) => child.once('close', resolve))
      if (child.exitCode === null) {
        child.kill('SIGTERM')
        await ended
      }
      removeDir(dataDir)
    },
  }
}

const body = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve(text))
    }).on('error', reject)
  })
