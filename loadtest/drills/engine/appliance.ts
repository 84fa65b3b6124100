// A drill's own QuickLink: the Postgres and Redis of `make up` in a folder of its own, the fault proxies in front of
// them, and the server behind these. Links are loaded by SQL, as an import would.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { makeDataDir, Refusal } from '../../../embedded/paths.ts'
import { startPostgres } from '../../../embedded/postgres.ts'
import { postgresUser } from '../../../embedded/postgres-binaries.ts'
import { freePort, start } from '../../../embedded/process.ts'
import { askRedis } from '../../../embedded/redis-process.ts'
import { startRedis } from '../../../embedded/redis.ts'
import { openPostgres, type Postgres } from '../../../server/connections/postgres.ts'
import { makeRunDir } from '../../../server/testing/local-services.ts'
import { waitFor } from '../../../server/testing/wait-for.ts'
import { ask } from '../../bench/ask.ts'
import { startProxies, proxiesFile, type Proxies } from '../../faults/proxies.ts'
import { startSentinelGroup, type SentinelGroup } from '../../faults/sentinels.ts'
import { embeddedServices, type Services } from '../../faults/services.ts'
import { openRemains, type Remains } from './remains.ts'
import { parseSamples, type Sample } from './metrics.ts'

export interface Settings {
  /** Of the server. */
  readonly env?: Readonly<Record<string, string>>
  /** Lines of Redis' configuration. */
  readonly redis?: readonly string[]
  /** The folder with the server to drill: this project's, or a copy with a promise broken on purpose. */
  /** Redis is a primary with a replica, and three Sentinels watch them. */
  readonly sentinels?: boolean
  readonly sources: string
}

export interface Worker {
  readonly redis: { readonly breaker: string; readonly ready: boolean; readonly trusted: boolean }
  readonly postgres: { readonly breaker: string }
}

export interface Appliance {
  readonly dir: string
  readonly url: string
  readonly opsUrl: string
  readonly workers: number
  readonly services: Services
  readonly sentinels: SentinelGroup | undefined
  readonly proxies: Proxies<'redis' | 'postgres'>
  /** Past the proxies. */
  readonly ports: Readonly<Record<'redis' | 'postgres', number>>
  /** Past the proxies, as the owner of the database. Two connections. */
  readonly sql: Postgres
  /** One command, past the proxies; undefined without an answer. */
  redis(command: string): Promise<string | undefined>
  api(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>
  status(): Promise<Worker[]>
  metrics(): Promise<Sample[]>
  close(): Promise<void>
}

const workers = 2
const silent = (): void => undefined

export function prepareAppliance(): Remains {
  const dir = makeRunDir(postgresUser(), 'drill')
  const remains = openRemains(dir)
  makeDataDir(remains.places)
  return remains
}

export async function startAppliance(remains: Remains, settings: Settings): Promise<Appliance> {
  const { dir, places } = remains
  const [postgres, { redis, sentinels }] = await Promise.all([
    startPostgres(places, workers, silent),
    startSomeRedis(remains, settings),
  ])
  const local = (url: string): { host: string; port: number } => ({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
  })
  const proxies = await startProxies(dir, { redis: local(redis.url), postgres: local(postgres.url) })
  remains.add({ pid: proxies.pid, word: proxiesFile })
  const key = `ql_${randomBytes(24).toString('base64url')}`
  const through = (url: string, name: 'redis' | 'postgres'): string =>
    Object.assign(new URL(url), { port: proxies.ports[name] }).href
  const { url, opsUrl } = await startServer(remains, settings, {
    DATABASE_URL: through(postgres.url, 'postgres'),
    ...(sentinels?.env ?? { REDIS_URL: through(redis.url, 'redis') }),
    OWNER_KEY: key,
  })
  const sql = openPostgres({ url: postgres.url, name: 'drill', maxConnections: 2, connectMs: 5000, queryMs: 60_000, onError: silent }) // prettier-ignore
  const { port, password } = new URL(redis.url)
  const appliance: Appliance = {
    dir,
    url,
    opsUrl,
    workers,
    proxies,
    ports: { redis: local(redis.url).port, postgres: local(postgres.url).port },
    sql,
    services: embeddedServices(places),
    sentinels,
    redis: (command) => askRedis(Number(port), password, command),
    api: (method, path, body) =>
      ask(url, `/api/v1${path}`, {
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      }),
    async status() {
      const { workers } = JSON.parse((await ask(opsUrl, '/statusz')).text) as { workers: { status: Worker | null }[] }
      return workers.flatMap(({ status }) => status ?? [])
    },
    metrics: async () => parseSamples((await ask(opsUrl, '/metrics')).text),
    async close() {
      await sql.close()
      await sentinels?.close()
    },
  }
  await waitFor(async () => trusted(await appliance.status()), { deadlineMs: 30_000, everyMs: 50 })
  return appliance
}

async function startSomeRedis(remains: Remains, settings: Settings) {
  if (settings.sentinels) {
    const sentinels = await startSentinelGroup(remains.dir)
    for (const each of sentinels.processes) remains.add(each)
    return { redis: sentinels.primary, sentinels }
  }
  const redis = await startRedis(remains.places, silent, settings.redis ?? [])
  if (!redis) throw new Refusal('A drill needs a redis-server 7.0 (or valkey-server 8) or later: install it.')
  return { redis, sentinels: undefined }
}

export const trusted = (all: readonly Worker[]): boolean =>
  all.length === workers && all.every(({ redis }) => redis.trusted && redis.breaker === 'closed')

async function startServer(remains: Remains, { env, sources }: Settings, own: Record<string, string>) {
  const [port, opsPort] = [await freePort(), await freePort()]
  const mainFile = join(sources, 'server', 'main.ts')
  if (!existsSync(mainFile)) throw new Refusal(`There is no server in ${sources}.`)
  const child = await start({
    file: process.execPath,
    args: [mainFile],
    cwd: sources,
    env: {
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: String(port),
      OPS_PORT: String(opsPort),
      DATA_DIR: join(remains.dir, 'data'),
      WORKERS: String(workers),
      ...env,
      ...own,
    },
    logFile: join(remains.dir, 'server.log'),
    detached: true,
  })
  remains.add({ pid: child.pid, word: mainFile })
  const server = { url: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` }
  await waitFor(async () => (await ask(server.opsUrl, '/readyz')).text.includes('"ok"'), { deadlineMs: 30_000, everyMs: 50 }) // prettier-ignore
  return server
}
