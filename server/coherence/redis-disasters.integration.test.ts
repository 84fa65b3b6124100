// Promise 4 on real servers: whatever becomes of Redis, what was changed a second ago is not served any more.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  allTrust,
  besideOpenTransaction,
  broken,
  cacheAll,
  connectedBeforeAnyPass,
  fourChanges,
  makeAll,
  oldInRedis,
  promiseMs,
  seldomAsked,
  underLoad,
} from '../../testing/changes.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import {
  freshDatabase,
  redisCommand,
  startFaultProxy,
  startRedisServer,
  startSentinels,
  type FaultProxy,
  type LocalServer,
} from '../../testing/services.ts'

const ownerKey = 'ql_r3d1sD1sast3rsAr3SurvivedByTrustAl0ne'
const calm = {
  OWNER_KEY: ownerKey,
  // It is trust that has to do it: no breaker shields readers from a Redis that has just come back.
  BREAKER_FAILURES: '1000',
  // A machine that is busy with other tests is not a Postgres that does not answer.
  DB_TIMEOUT_MS: '1000',
}

/** What readers are given, whatever is served, as long as the promise needs to be judged. */
const untilJudged = (): Promise<void> => pause(promiseMs + 400)

const twoServers = (...envs: [Record<string, string>, Record<string, string>]): Promise<ServerProcess[]> =>
  Promise.all(envs.map((env) => startServer({ ...calm, ...env })))

describe('a change is seen everywhere within a second, and nothing old comes back, when Redis', () => {
  let databaseUrl: string
  let redis: LocalServer
  let proxy: FaultProxy
  let servers: ServerProcess[]

  beforeAll(async () => {
    redis = await startRedisServer({ config: ['save ""'] })
    proxy = await startFaultProxy({ host: '127.0.0.1', port: redis.port })
    databaseUrl = await freshDatabase()
    const REDIS_URL = Object.assign(new URL(redis.url), { port: proxy.port }).href
    const env = { DATABASE_URL: databaseUrl, REDIS_URL }
    servers = await twoServers(env, env)
  })

  const whileAway = async (name: string, leave: () => Promise<void>, comeBack: () => Promise<void>) => {
    await allTrust(servers)
    const often = await fourChanges(servers, name)
    const seldom = await seldomAsked(servers, name)
    const changes = [...often, ...seldom]
    await cacheAll(servers, changes, redis.url)
    const work = async () => {
      await leave()
      const made = await makeAll(changes)
      await untilJudged()
      await connectedBeforeAnyPass(databaseUrl, servers, comeBack)
      await allTrust(servers)
      await untilJudged()
      return made
    }
    const watched = await underLoad(servers, often, work, seldom)
    expect(broken(watched, watched.result)).toEqual([])
    expect(await oldInRedis(redis.url, watched.result)).toEqual([])
  }

  it('is refused', () =>
    whileAway(
      'refused',
      () => proxy.refuse(),
      () => proxy.pass(),
    ))

  it('is black-holed and what was under way is lost, with a transaction left open', () =>
    besideOpenTransaction(databaseUrl, () =>
      whileAway(
        'hole',
        () => proxy.blackHole(),
        async () => {
          await proxy.cut()
          await proxy.pass()
        },
      ),
    ))

  it('is killed and comes back with a snapshot from before, beside a transaction left open', async () => {
    await allTrust(servers)
    const [early, late] = [await seldomAsked(servers, 'early'), await fourChanges(servers, 'late')]
    await cacheAll(servers, [...early, ...late], redis.url)
    const snapshot = join(redis.dir, 'dump.rdb')
    await redisCommand(redis.url, 'SAVE')
    copyFileSync(snapshot, `${snapshot}.kept`)
    const work = async () => {
      // These have long been everywhere when the old values come back.
      const made = await makeAll(early)
      await untilJudged()
      await redis.kill()
      made.push(...(await makeAll(late)))
      await untilJudged()
      copyFileSync(`${snapshot}.kept`, snapshot)
      await connectedBeforeAnyPass(databaseUrl, servers, () => redis.restart())
      await allTrust(servers)
      await untilJudged()
      return made
    }
    const watched = await besideOpenTransaction(databaseUrl, () => underLoad(servers, late, work, early))
    expect(broken(watched, watched.result)).toEqual([])
    expect(await oldInRedis(redis.url, watched.result)).toEqual([])
  })
})

it('a change is seen everywhere within a second when Sentinel promotes a replica that was cut off before it', async () => {
  const [group, databaseUrl] = await Promise.all([startSentinels(), freshDatabase()])
  const { primary, replica } = group
  const env = { DATABASE_URL: databaseUrl, ...group.env }
  const servers = await twoServers(env, env)
  await allTrust(servers)
  const [early, late] = [await seldomAsked(servers, 'early'), await fourChanges(servers, 'late')]
  const all = [...early, ...late]
  await cacheAll(servers, all, primary.url)
  await cacheAll(servers, all, replica.url)
  await group.cutReplica()
  const work = async () => {
    const made = await makeAll(early)
    await untilJudged()
    // Nor may it matter that one of the Sentinels is unreachable at that moment.
    await group.firstSentinel.blackHole()
    await primary.kill()
    made.push(...(await makeAll(late)))
    await connectedBeforeAnyPass(databaseUrl, servers, () => group.promoted())
    await allTrust(servers)
    await untilJudged()
    return made
  }
  const watched = await besideOpenTransaction(databaseUrl, () => underLoad(servers, late, work, early))
  expect(broken(watched, watched.result)).toEqual([])
  expect(await oldInRedis(replica.url, watched.result)).toEqual([])
})

it('a change made by one process is seen by another that talks to another Redis, as in a split brain', async () => {
  const [databaseUrl, one, other] = await Promise.all([freshDatabase(), startRedisServer(), startRedisServer()])
  const urls = [one.url, other.url]
  const servers = await twoServers(
    { DATABASE_URL: databaseUrl, REDIS_URL: one.url },
    { DATABASE_URL: databaseUrl, REDIS_URL: other.url },
  )
  await allTrust(servers)
  const changes = await fourChanges(servers, 'split')
  for (const url of urls) await cacheAll(servers, changes, url)
  const watched = await underLoad(servers, changes, async () => {
    const made = await makeAll(changes)
    await untilJudged()
    return made
  })
  expect(broken(watched, watched.result)).toEqual([])
  for (const url of urls) expect(await oldInRedis(url, watched.result)).toEqual([])
})
