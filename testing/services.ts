// What an integration test asks for. Everything it got is gone when its file ends.
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, inject } from 'vitest'
import { type RedisCluster, startRedisCluster } from '../loadtest/faults/clusters.ts'
import { type SentinelGroup, startSentinelGroup } from '../loadtest/faults/sentinels.ts'
import { askRedis } from '../embedded/redis-process.ts'
import { openSql, withSql } from '../embedded/sql.ts'
import { withDatabaseLock } from '../server/connections/migrate.ts'
import type { Postgres } from '../server/connections/postgres.ts'
import { openRedis, type RedisConnection } from '../server/connections/redis.ts'
import { type FaultProxy, startFaultProxy } from '../loadtest/faults/fault-proxy.ts'
import { waitFor } from '../embedded/wait.ts'
import { makeDatabase, redisDatabases } from './global-setup.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startStandby } from '../embedded/standby.ts'
import {
  type LocalPostgresOptions,
  type LocalRedisOptions,
  type LocalServer,
  pgbouncerProgram,
  removeDir,
  startLocalPostgres,
  startLocalRedis,
} from '../embedded/temporary.ts'

const releases: (() => Promise<void> | void)[] = []

afterAll(async () => {
  for (const release of releases.splice(0).reverse()) await release()
})

const randomName = (): string => `test_${randomBytes(6).toString('hex')}`

/** A database on the shared Postgres with the tables of QuickLink, empty; its URL is that of a role which owns it and is no superuser. */
export async function freshDatabase(): Promise<string> {
  // Files are copied much faster than pages by way of the log.
  const url = await newDatabase('template quicklink strategy file_copy')
  await anotherEpoch(url)
  return url
}

/** One without any table. */
export const emptyDatabase = (): Promise<string> => newDatabase('')

async function newDatabase(how: string): Promise<string> {
  const { adminUrl, rolePassword } = inject('services')
  const name = randomName()
  await withSql(adminUrl, (admin) => admin.query(`create database ${name} owner quicklink ${how}`))
  releases.push(() =>
    withSql(adminUrl, async (admin) => {
      await admin.query(`drop database if exists ${name} with (force)`)
    }),
  )
  const url = new URL(adminUrl)
  return Object.assign(url, { username: 'quicklink', password: rolePassword, pathname: `/${name}` }).href
}

/** What was copied is a database of its own. */
const anotherEpoch = (url: string): Promise<unknown> =>
  withSql(url, (sql) => sql.query('update ql_meta set epoch = gen_random_uuid()'))

/** Connections to a database that has its tables now. */
export async function migrated(databaseUrl: string): Promise<Postgres> {
  const db = openSql(databaseUrl, { maxConnections: 8 })
  releases.push(db.close)
  await withDatabaseLock({ url: databaseUrl, connectMs: 30_000, onInfo: () => undefined }, () => Promise.resolve())
  return db
}

/** A person's own connections to a database, until the end of the file. */
export function handInPsql(...[url, more]: Parameters<typeof openSql>): Postgres {
  const hand = openSql(url, more)
  releases.push(hand.close)
  return hand
}

/** The superuser's URL of a database that `freshDatabase` gave. */
export function adminUrlOf(databaseUrl: string): string {
  const url = new URL(inject('services').adminUrl)
  url.pathname = new URL(databaseUrl).pathname
  return url.href
}

/**
 * An empty database of the shared Redis, for tests that neither flush everything nor count commands of the server.
 * Pub/sub channels are common to all of them.
 */
export async function freshRedis(): Promise<string> {
  const url = new URL(inject('services').redisUrl)
  const answer = await redisCommand(url, 'INCR test:databases')
  const database = Number(answer?.replace(':', ''))
  if (!(database > 0 && database < redisDatabases)) throw new Error(`no Redis database left: ${answer}`)
  url.pathname = `/${database}`
  return url.href
}

/** The first line of Redis' answer. */
export function redisCommand(at: string | URL, command: string): Promise<string | undefined> {
  const url = new URL(at)
  return askRedis(Number(url.port), decodeURIComponent(url.password), command, url.hostname)
}

/** What it has is on its disk, however long that takes a busy one. */
export const saveRedis = (at: string | URL): Promise<boolean> =>
  waitFor(async () => (await redisCommand(at, 'SAVE')) === '+OK', { deadlineMs: 20_000 })

/** A Redis of the test's own, to kill, pause, fill or restart with old data. */
export async function startRedisServer(options: Pick<LocalRedisOptions, 'config'> = {}): Promise<LocalServer> {
  const dir = mkdtempSync(join(inject('services').runDir, 'redis-'))
  const redis = await startLocalRedis({ ...options, dir })
  releases.push(async () => {
    await redis.kill()
    removeDir(dir)
  })
  return redis
}

interface PostgresServerOptions extends Pick<LocalPostgresOptions, 'settings' | 'binDir'> {
  /**
   * A real initdb (1-2 s) instead of a copy of the run's template. Copies share their system identifier, as a primary and
   * its replica or a restored backup do; a fresh one is another database to whoever compares. With a binDir always so.
   */
  readonly fresh?: boolean
  /** Its URL is the superuser's, of a database with nothing in it. */
  readonly bare?: boolean
}

/** A Postgres of the test's own, with a database of a role that is no superuser, to kill, pause or restart. */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<LocalServer> {
  const { runDir, template, rolePassword } = inject('services')
  const copied = options.fresh || options.binDir ? undefined : template
  const parent = join(runDir, 'postgres')
  mkdirSync(parent, { recursive: true, mode: 0o711 })
  const dir = join(parent, randomName())
  const like = { superuserPassword: copied?.password, template: options.bare ? copied?.bare : copied?.made }
  const server = await startLocalPostgres({ ...options, ...like, dir, runDir })
  releases.push(async () => {
    await server.kill()
    removeDir(dir)
  })
  if (options.bare) return server
  const own = { username: 'quicklink', password: rolePassword, pathname: '/quicklink' }
  const url = Object.assign(new URL(server.url), own).href
  if (copied) await anotherEpoch(url)
  else await makeDatabase(server.url, rolePassword)
  return Object.create(server, { url: { value: url, enumerable: true } }) as LocalServer
}

/** A standby of a Postgres that `startPostgresServer` gave, streaming from it; its URL is of the same role and database. */
export async function startStandbyOf(primary: LocalServer): Promise<LocalServer> {
  const { runDir } = inject('services')
  const superuser = Object.getPrototypeOf(primary) as LocalServer
  const dir = join(runDir, 'postgres', randomName())
  const standby = await startStandby({ superuser, dir, runDir })
  releases.push(async () => {
    await standby.kill()
    removeDir(dir)
  })
  return Object.create(standby, {
    url: { value: Object.assign(new URL(primary.url), { port: standby.port }).href, enumerable: true },
  }) as LocalServer
}

/** A primary, its replica and three Sentinels of the test's own. */
export async function startSentinels(): Promise<SentinelGroup> {
  const group = await startSentinelGroup(mkdtempSync(join(inject('services').runDir, 'sentinels-')), 3000)
  releases.push(group.close)
  return group
}

/** Three primaries with a replica each, of the test's own. */
export async function startCluster(options?: Parameters<typeof startRedisCluster>[1]): Promise<RedisCluster> {
  const cluster = await startRedisCluster(mkdtempSync(join(inject('services').runDir, 'cluster-')), options)
  releases.push(cluster.close)
  return cluster
}

/** A connection to this Redis as a server makes it, when it is ready. */
export async function connectRedis(redisUrl: string): Promise<RedisConnection> {
  const none = { redisSentinels: undefined, redisSentinelName: undefined, redisPassword: undefined }
  const ignore = (): undefined => undefined
  const redis = openRedis({ ...none, redisUrl }, { onError: ignore, onCommand: ignore })
  releases.push(() => redis.close())
  await waitFor(() => redis.ready)
  return redis
}

/** A fault proxy in front of this server, and the URL that leads through it. */
export async function proxied(target: string): Promise<{ proxy: FaultProxy; url: string }> {
  const url = new URL(target)
  const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
  releases.push(proxy.close)
  return { proxy, url: Object.assign(url, { hostname: '127.0.0.1', port: proxy.port }).href }
}

/** A PgBouncer in transaction mode before the server of this URL, and the URL through it; undefined where there is none to be had. */
export async function throughPgBouncer(databaseUrl: string): Promise<string | undefined> {
  const program = await pgbouncerProgram()
  if (program === undefined) return undefined
  const parent = join(inject('services').runDir, 'postgres')
  mkdirSync(parent, { recursive: true, mode: 0o711 })
  const dir = join(parent, randomName())
  const bouncer = await startPgBouncer(program, dir, databaseUrl)
  releases.push(async () => {
    await bouncer.kill()
    removeDir(dir)
  })
  return bouncer.url
}

export { postgres15BinDir } from '../embedded/temporary.ts'
export type { FaultProxy }
export { waitFor }
export type { LocalServer } from '../embedded/temporary.ts'
