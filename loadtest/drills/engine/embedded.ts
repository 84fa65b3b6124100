// A drill's own QuickLink without Docker: the Postgres and Redis of `make up` in a folder of its own, the fault proxies in
// front of them, and the server behind these.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../../../embedded/paths.ts'
import { startPostgres } from '../../../embedded/postgres.ts'
import { start } from '../../../embedded/daemon.ts'
import { freePort } from '../../../embedded/process.ts'
import { askRedis } from '../../../embedded/redis-process.ts'
import { startRedis } from '../../../embedded/redis.ts'
import { waitFor } from '../../../embedded/wait.ts'
import { ask } from '../../../embedded/ask.ts'
import { startProxies, proxiesFile } from '../../faults/proxies.ts'
import { startSentinelGroup } from '../../faults/sentinels.ts'
import { embeddedServices } from '../../faults/services.ts'
import { applianceAt, newKey, openSql, silent, workers, type Appliance, type Dependency, type Settings } from './appliance.ts' // prettier-ignore
import type { Cleanup } from './cleanup.ts'

export async function startEmbedded(cleanup: Cleanup, settings: Settings): Promise<Appliance> {
  const { dir, places } = cleanup
  const [postgres, { redis, sentinels }] = await Promise.all([
    startPostgres(places, workers, silent),
    startSomeRedis(cleanup, settings),
  ])
  const local = (url: string): { host: string; port: number } => ({
    host: '127.0.0.1',
    port: Number(new URL(url).port),
  })
  const proxies = await startProxies(dir, { redis: local(redis.url), postgres: local(postgres.url) })
  cleanup.add({ pid: proxies.pid, word: proxiesFile })
  const ownerKey = newKey()
  const through = (url: string, name: Dependency): string =>
    Object.assign(new URL(url), { port: proxies.ports[name] }).href
  const { url, opsUrl } = await startServer(cleanup, settings, {
    DATABASE_URL: through(postgres.url, 'postgres'),
    ...(sentinels?.env ?? { REDIS_URL: through(redis.url, 'redis') }),
    OWNER_KEY: ownerKey,
  })
  const { port, password } = new URL(redis.operatorUrl)
  const access = {
    mode: 'embedded: PostgreSQL and Redis as processes, two workers, fault proxies before both',
    url,
    opsUrl,
    proxies,
    ports: { redis: local(redis.url).port, postgres: local(postgres.url).port },
    workers,
    sql: openSql(postgres.url),
    services: embeddedServices(places),
    stopWorker(pid: number) {
      process.kill(pid, 'SIGSTOP')
      return Promise.resolve()
    },
    sentinels,
    redis: (command: string) => askRedis(Number(port), password, command),
    close: async () => sentinels?.close(),
  }
  return applianceAt(access, ownerKey)
}

async function startSomeRedis(cleanup: Cleanup, settings: Settings) {
  if (settings.sentinels) {
    const sentinels = await startSentinelGroup(cleanup.dir)
    for (const each of sentinels.processes) cleanup.add(each)
    const { url } = sentinels.primary
    return { redis: { url, operatorUrl: url }, sentinels }
  }
  const redis = await startRedis(cleanup.places, silent, settings.redis ?? [])
  if (!redis) throw new Refusal('A drill needs a redis-server 7.0 (or valkey-server 8) or later: install it.')
  return { redis, sentinels: undefined }
}

async function startServer(cleanup: Cleanup, { env, sources }: Settings, own: Record<string, string>) {
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
      DATA_DIR: join(cleanup.dir, 'data'),
      WORKERS: String(workers),
      ...env,
      ...own,
    },
    logFile: join(cleanup.dir, 'server.log'),
    detached: true,
  })
  cleanup.add({ pid: child.pid, word: mainFile })
  const server = { url: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` }
  await waitFor(async () => (await ask(server.opsUrl, '/readyz')).text.includes('"ok"'), { deadlineMs: 30_000, everyMs: 50 }) // prettier-ignore
  return server
}
