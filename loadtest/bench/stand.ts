// What a measurement of whole servers needs: services of its own, servers as processes, a steady load, and the CPU that
// each of them took.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
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

export interface Sample {
  readonly atMs: number
  readonly ms: number
  readonly ok: boolean
}

/** Requests at a constant rate over kept connections, timed from when each was due, so that a stall counts in full. */
export function load(servers: readonly BenchServer[], paths: readonly string[], perSecond: number) {
  const samples: Sample[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  const stop = new AbortController()
  const ask = (n: number, dueMs: number): void => {
    const path = paths[Math.floor(Math.random() * paths.length)] ?? '/'
    const note = (ok: boolean): void => {
      samples.push({ atMs: dueMs, ms: performance.now() - dueMs, ok })
    }
    get(`${servers[n % servers.length]?.url}${path}`, { agent }, (response) => {
      response.resume().on('end', () => note(response.statusCode === 302))
    }).on('error', () => note(false))
  }
  const running = (async () => {
    const beganMs = performance.now()
    for (let n = 0; !stop.signal.aborted; n++) {
      const dueMs = beganMs + (n * 1000) / perSecond
      const aheadMs = dueMs - performance.now()
      if (aheadMs > 1) await pause(aheadMs)
      ask(n, dueMs)
    }
    await pause(500)
    agent.destroy()
  })()
  return {
    between: (fromMs: number, toMs: number): Sample[] => samples.filter(({ atMs }) => atMs >= fromMs && atMs < toMs),
    stop: () => {
      stop.abort()
      return running
    },
  }
}

export function quantile(samples: readonly Sample[], share: number): number {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN
}

/** Seconds of CPU that the process and its children have taken so far. (Linux only.) */
export function cpuS(pid: number): number {
  const parentOf = new Map<number, number>()
  const ticks = new Map<number, number>()
  for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
    try {
      // After the name of the program, which may contain anything: state, parent, …, user and system time.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
      parentOf.set(Number(name), Number(fields[1]))
      ticks.set(Number(name), Number(fields[11]) + Number(fields[12]))
    } catch {
      // It has ended since.
    }
  }
  const family = [...ticks.keys()].filter((each) => each === pid || parentOf.get(each) === pid)
  return family.reduce((sum, each) => sum + (ticks.get(each) ?? 0), 0) / 100
}
