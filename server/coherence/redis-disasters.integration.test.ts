// Promise 4 on real servers: whatever becomes of Redis, what was changed a second ago is not served any more.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import {
  allTrust,
  besideOpenTransaction,
  connectedBeforeAnyPass,
  expectKept,
  fourChanges,
  makeAll,
  seldomAsked,
  untilJudged,
} from '../../testing/changes.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import { freshDatabase, proxied, saveRedis, startRedisServer, startSentinels } from '../../testing/services.ts'

const calm = {
  OWNER_KEY: 'ql_r3d1sD1sast3rsAr3SurvivedByTrustAl0ne',
  // It is trust that has to do it: no breaker shields readers from a Redis that has just come back.
  BREAKER_FAILURES: '1000',
  // A machine that is busy with other tests is not a Postgres that does not answer.
  DB_TIMEOUT_MS: '1000',
  API_DB_TIMEOUT_MS: '10000',
}

interface Disaster {
  /** Of the two servers. */
  readonly env: Record<string, string>
  /** That hold the old values; where they come back from is the last. */
  readonly redisUrls: readonly string[]
  /** Keeps the old values: changes that are made behind this have long been everywhere when they come back. */
  readonly keepOld?: () => Promise<unknown>
  leave(): Promise<void>
  comeBack(): Promise<void>
  /** It may come back before what was made meanwhile has been judged. */
  readonly byItself?: true
}

async function behindProxy(away: 'refuse' | 'blackHole'): Promise<Disaster> {
  const redis = await startRedisServer({ config: ['save ""'] })
  const { proxy, url } = await proxied(redis.url)
  return {
    env: { REDIS_URL: url },
    redisUrls: [redis.url],
    leave: () => proxy[away](),
    async comeBack() {
      if (away === 'blackHole') await proxy.cut()
      await proxy.pass()
    },
  }
}

async function snapshot(): Promise<Disaster> {
  const redis = await startRedisServer({ config: ['save ""'] })
  const file = join(redis.dir, 'dump.rdb')
  return {
    env: { REDIS_URL: redis.url },
    redisUrls: [redis.url],
    async keepOld() {
      await saveRedis(redis.url)
      copyFileSync(file, `${file}.kept`)
    },
    leave: () => redis.kill(),
    comeBack() {
      copyFileSync(`${file}.kept`, file)
      return redis.restart()
    },
  }
}

async function promotion(): Promise<Disaster> {
  const { env, primary, replica, firstSentinel, cutReplica, promoted } = await startSentinels()
  return {
    env,
    redisUrls: [primary.url, replica.url],
    keepOld: cutReplica,
    async leave() {
      // Nor may it matter that one of the Sentinels is unreachable at that moment.
      await firstSentinel.blackHole()
      await primary.kill()
    },
    comeBack: promoted,
    byItself: true,
  }
}

it.each<[string, () => Promise<Disaster>, boolean]>([
  ['is refused', () => behindProxy('refuse'), false],
  ['is black-holed and what was under way is lost, with a transaction left open', () => behindProxy('blackHole'), true],
  ['is killed and comes back with a snapshot from before, beside a transaction left open', snapshot, true],
  ['is a replica that was cut off before, promoted by Sentinel, beside a transaction left open', promotion, true],
])(
  'a change is seen everywhere within a second, and nothing old comes back, when Redis %s',
  async (_, open, beside) => {
    const [disaster, databaseUrl] = await Promise.all([open(), freshDatabase()])
    const { env, redisUrls, keepOld, leave, comeBack, byItself } = disaster
    const server = (): Promise<ServerProcess> => startServer({ ...calm, ...env, DATABASE_URL: databaseUrl })
    const servers = await Promise.all([server(), server()])
    await allTrust(servers)
    const [changes, seldom] = [await fourChanges(servers, 'often'), await seldomAsked(servers, 'seldom')]
    const happens = async () => {
      await keepOld?.()
      const made = keepOld ? await makeAll(seldom) : []
      if (keepOld) await untilJudged()
      await leave()
      made.push(...(await makeAll(keepOld ? changes : [...changes, ...seldom])))
      if (!byItself) await untilJudged()
      await connectedBeforeAnyPass(databaseUrl, servers, comeBack)
      await allTrust(servers)
      return made
    }
    const scene = { servers, redisUrls, changes, seldom, leftUrls: redisUrls.slice(-1) }
    await (beside ? besideOpenTransaction(databaseUrl, () => expectKept(scene, happens)) : expectKept(scene, happens))
  },
)

it('a change made by one process is seen by another that talks to another Redis, as in a split brain', async () => {
  const [databaseUrl, one, other] = await Promise.all([freshDatabase(), startRedisServer(), startRedisServer()])
  const redisUrls = [one.url, other.url]
  const servers = await Promise.all(
    redisUrls.map((REDIS_URL) => startServer({ ...calm, DATABASE_URL: databaseUrl, REDIS_URL })),
  )
  await allTrust(servers)
  const changes = await fourChanges(servers, 'split')
  await expectKept({ servers, redisUrls, changes }, () => makeAll(changes))
})
