// A drill's own QuickLink without Docker: the Postgres and Redis of `make up` in a folder of its own, the fault proxies in
// front of them, and the server behind these.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Refusal } from '../../../embedded/paths.ts'
import { databaseOf, startPostgres } from '../../../embedded/postgres.ts'
import { startStandby } from '../../../embedded/standby.ts'
import { start } from '../../../embedded/daemon.ts'
import { freePort, isOurs } from '../../../embedded/process.ts'
import { askRedis } from '../../../embedded/redis-process.ts'
import { startRedis } from '../../../embedded/redis.ts'
import { waitFor } from '../../../embedded/wait.ts'
import { ask } from '../../../embedded/ask.ts'
import { makeClock } from '../../faults/clock.ts'
import { startRedisCluster } from '../../faults/clusters.ts'
import { startNames, withNames, type Names } from '../../faults/names.ts'
import { startProxies, proxiesFile } from '../../faults/proxies.ts'
import { startSentinelGroup } from '../../faults/sentinels.ts'
import { embeddedServices } from '../../faults/services.ts'
import { mountSmallDisk, type SmallDisk } from '../../faults/small-disk.ts'
import { applianceAt, newKey, openSql, silent, workers, type Appliance, type Dependency, type LogReader, type Primary, type Settings } from './appliance.ts' // prettier-ignore
import type { Cleanup } from './cleanup.ts'

export async function startEmbedded(cleanup: Cleanup, settings: Settings): Promise<Appliance> {
  const { dir, places } = cleanup
  // Before anything is written there.
  const disk = settings.smallDisk && mountedFor(cleanup, settings.smallDisk)
  const [postgres, { redis, sentinels, cluster }] = await Promise.all([
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
  const names = settings.names ? await startNames(dir) : undefined
  const through = (url: string, name: Dependency): string =>
    Object.assign(new URL(url), { port: proxies.ports[name], ...(names && { hostname: `${name}.drill.test` }) }).href
  const clock = settings.clock ? makeClock(dir) : undefined
  const standby = settings.standby ? await startSomeStandby(cleanup, postgres.url) : undefined
  const own = {
    DATABASE_URL: through(postgres.url, 'postgres'),
    ...(standby && { DATABASE_READ_URL: standby.url }),
    ...(sentinels?.env ?? cluster?.env ?? { REDIS_URL: through(redis.url, 'redis') }),
    OWNER_KEY: ownerKey,
    ...(settings.smallDisk === 'log' && disk && { LOG_FILE: join(disk.dir, 'quicklink.log') }),
    ...clock?.env,
  }
  const logReader = settings.logReader ? await startLogReader(cleanup) : undefined
  const logFile = logReader?.pipe ?? join(dir, 'server.log')
  const { url, opsUrl, primary } = await startServer(cleanup, settings, { own, logFile, names })
  const { port, password } = new URL(redis.operatorUrl)
  const access = {
    mode: 'embedded: PostgreSQL and Redis as processes, two workers, fault proxies before both',
    ...{ url, opsUrl, proxies, workers, primary, disk, logReader, names, clock, sentinels, cluster, standby },
    ports: { redis: local(redis.url).port, postgres: local(postgres.url).port },
    sql: openSql(postgres.url),
    services: embeddedServices(places),
    signalWorker(pid: number, signal: NodeJS.Signals) {
      process.kill(pid, signal)
      return Promise.resolve()
    },
    redis: (command: string) => askRedis(Number(port), password, command),
    async close() {
      names?.close()
      await sentinels?.close()
      await cluster?.close()
      await standby?.close()
    },
  }
  return applianceAt(access, ownerKey)
}

function mountedFor(cleanup: Cleanup, what: NonNullable<Settings['smallDisk']>): SmallDisk {
  const { dir, places } = cleanup
  const folder = { spool: join(places.dataDir, 'spool'), log: join(dir, 'log'), postgres: places.postgresDir }[what]
  cleanup.add({ disk: folder })
  return mountSmallDisk(folder)
}

/** A program that takes the log from a pipe and writes it down, as a collector of logs would. */
async function startLogReader(cleanup: Cleanup): Promise<LogReader & { readonly pipe: string }> {
  const pipe = join(cleanup.dir, 'log.pipe')
  const made = spawnSync('mkfifo', ['-m', '600', pipe])
  if (made.status !== 0) throw new Refusal('A pipe for the log could not be made: mkfifo is missing.')
  const logFile = join(cleanup.dir, 'server.log')
  const env = { PATH: process.env['PATH'] }
  const { pid } = await start({ file: 'cat', args: [pipe], cwd: cleanup.dir, env, logFile, detached: true })
  cleanup.add({ pid, word: pipe })
  return {
    pipe,
    pause: () => void process.kill(pid, 'SIGSTOP'),
    resume: () => void process.kill(pid, 'SIGCONT'),
    bytes: () => statSync(logFile).size,
    // After the name, which may have anything in it: T is stopped.
    isPaused: () =>
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .startsWith('T'),
  }
}

async function startSomeStandby({ dir, places, add }: Cleanup, primaryUrl: string) {
  const { data, adminUrl = '' } = databaseOf(places)
  const superuser = { url: adminUrl, dir: dirname(data) }
  const standby = await startStandby({ superuser, dir: join(dir, 'standby'), runDir: dir })
  add({ pid: standby.pid, word: standby.word })
  const at = (url: string): string => Object.assign(new URL(url), { port: standby.port }).href
  const sql = openSql(Object.assign(new URL(at(adminUrl)), { pathname: new URL(primaryUrl).pathname }).href)
  return {
    url: at(primaryUrl),
    sql,
    async close() {
      await sql.close()
      await standby.kill()
    },
  }
}

async function startSomeRedis(cleanup: Cleanup, settings: Settings) {
  const none = { sentinels: undefined, cluster: undefined }
  if (settings.sentinels) {
    const sentinels = await startSentinelGroup(cleanup.dir)
    for (const each of sentinels.processes) cleanup.add(each)
    const { url } = sentinels.primary
    return { ...none, redis: { url, operatorUrl: url }, sentinels }
  }
  if (settings.cluster) {
    const cluster = await startRedisCluster(join(cleanup.dir, 'cluster'))
    for (const each of cluster.processes) cleanup.add(each)
    const { url } = cluster.nodes[0]!.server
    return { ...none, redis: { url, operatorUrl: url }, cluster }
  }
  const redis = await startRedis(cleanup.places, silent, settings.redis ?? [])
  if (!redis) throw new Refusal('A drill needs a redis-server 7.0 (or valkey-server 8) or later: install it.')
  return { ...none, redis }
}

interface Surroundings {
  readonly own: Readonly<Record<string, string>>
  readonly logFile: string
  readonly names: Names | undefined
}

async function startServer(cleanup: Cleanup, { env, sources }: Settings, { own, logFile, names }: Surroundings) {
  const [port, opsPort] = [await freePort(), await freePort()]
  const mainFile = join(sources, 'server', 'main.ts')
  if (!existsSync(mainFile)) throw new Refusal(`There is no server in ${sources}.`)
  const server = { url: `http://127.0.0.1:${port}`, opsUrl: `http://127.0.0.1:${opsPort}` }
  const program = names ? withNames(names, process.execPath, [mainFile]) : { file: process.execPath, args: [mainFile] }
  const begin = async (): Promise<number> => {
    const child = await start({
      ...program,
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
      logFile,
      detached: true,
    })
    cleanup.add({ pid: child.pid, word: mainFile })
    await waitFor(async () => (await ask(server.opsUrl, '/readyz')).text.includes('"ok"'), { deadlineMs: 30_000, everyMs: 50 }) // prettier-ignore
    return child.pid
  }
  let pid = await begin()
  const primary: Primary = {
    async kill() {
      process.kill(pid, 'SIGKILL')
      await waitFor(() => !isOurs(pid, mainFile))
    },
    async start() {
      pid = await begin()
    },
  }
  return { ...server, primary }
}
