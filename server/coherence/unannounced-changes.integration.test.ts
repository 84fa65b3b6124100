// Promise 4 where nobody tells the caches: the process that made the change is gone, or it was a person with psql.
import { beforeAll, describe, expect, it } from 'vitest'
import type { Postgres } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import { send } from '../../testing/app.ts'
import { allTrust, cacheAll, expectKept, fourChanges, madeAt, outcome, type Change } from '../../testing/changes.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import {
  freshDatabase,
  handInPsql,
  proxied,
  startRedisServer,
  waitFor,
  type LocalServer,
} from '../../testing/services.ts'

const common = { OWNER_KEY: 'ql_nob0dyT3llsTheCachesButTheyHearOfIt', DB_TIMEOUT_MS: '1000' }

it('a change is right everywhere within a second when its process dies between commit and Redis', async () => {
  const [redis, databaseUrl] = await Promise.all([startRedisServer(), freshDatabase()])
  const { proxy, url } = await proxied(redis.url)
  const env = { ...common, DATABASE_URL: databaseUrl }
  // Its announcements wait for Redis until long after it is dead.
  const ofVictim = { ...env, REDIS_URL: url, REDIS_TIMEOUT_MS: '10000' }
  const [victim, witness] = await Promise.all([startServer(ofVictim), startServer({ ...env, REDIS_URL: redis.url })])
  const both = [victim, witness]
  await allTrust(both)
  const changes = (await fourChanges([victim], 'kill')).filter(({ what }) => what === 'disable' || what === 'update')
  await cacheAll(both, changes, redis.url)
  const hand = handInPsql(databaseUrl)
  const committed = async (): Promise<boolean> =>
    (await hand.query(`select from links where not enabled or url like '%/after'`)).length === changes.length
  await expectKept({ servers: [witness], redisUrls: [redis.url], changes }, async () => {
    await proxy.blackHole()
    let acknowledged = 0
    const asked = changes.map((change) => change.make().then(() => acknowledged++, () => undefined)) // prettier-ignore
    await waitFor(committed, { everyMs: 2 })
    const made = madeAt(changes, performance.now())
    await victim.kill()
    await Promise.all(asked)
    expect(acknowledged).toBe(0)
    return made
  })
  const heir = await startServer({ ...env, REDIS_URL: redis.url })
  for (const { code, after } of changes) expect(outcome(await send(heir.url, 'GET', `/${code}`))).toBe(after)
})

describe('a hand in psql is seen by every process within a second when it', () => {
  let redis: LocalServer
  let hand: Postgres
  /** A session keeps the plans of its triggers: those for single rows take 20 s for thousands. */
  let handForMany: Postgres
  let servers: ServerProcess[]

  beforeAll(async () => {
    redis = await startRedisServer()
    const databaseUrl = await freshDatabase()
    const env = { ...common, DATABASE_URL: databaseUrl, REDIS_URL: redis.url }
    servers = await Promise.all([startServer(env), startServer(env)])
    hand = handInPsql(databaseUrl)
    handForMany = handInPsql(databaseUrl)
    await allTrust(servers)
  })

  const link = async (code: string): Promise<Pick<Change, 'code' | 'before'>> => {
    const url = `https://example.org/${code}`
    await (servers[0] as ServerProcess).api('POST', '/links', { code, url })
    return { code: code as Code, before: url }
  }
  const seen = (sql: string, changes: readonly Change[], by = hand): Promise<void> =>
    expectKept({ servers, redisUrls: [redis.url], changes }, async () => {
      await by.query(sql)
      return madeAt(changes, performance.now())
    })
  const make = (): Promise<void> => Promise.reject(new Error('the hand does it'))

  it('corrects a destination', async () => {
    const after = 'https://example.org/corrected'
    await seen(`update links set url = '${after}' where code = 'wrong'`, [
      { what: 'update', ...(await link('wrong')), after, make },
    ])
  })

  it('deletes a row, renames a code', async () => {
    const [gone, renamed] = [await link('gone'), await link('old-name')]
    await seen(
      `with deleted as (delete from links where code = 'gone') update links set code = 'new-name' where code = 'old-name'`,
      [
        { what: 'delete', ...gone, after: 404, make },
        { what: 'rename', ...renamed, after: 404, make },
        { what: 'new name', code: 'new-name' as Code, before: 404, after: renamed.before, make },
      ],
    )
  })

  it('rewrites thousands of rows at once', async () => {
    await handForMany.query(`insert into links (code, url)
      select 'many-' || n, 'https://example.org/many-' || n from generate_series(1, 5000) n`)
    const some = [1, 500, 501, 2500, 5000].map((n) => `many-${n}`)
    await seen(
      `update links set url = url || '/again' where code like 'many-%'`,
      some.map((code) => {
        const before = `https://example.org/${code}`
        return { what: 'rewrite', code: code as Code, before, after: `${before}/again`, make }
      }),
      handForMany,
    )
  })

  it('truncates the table', async () => {
    const links = [await link('all'), await link('of-them')]
    await seen('truncate links', links.map((each) => ({ what: 'truncate', ...each, after: 404, make }))) // prettier-ignore
  })
})
