// Promise 4 where the truth itself goes back: a database restored to an earlier state, under a Redis that kept running.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Postgres } from '../connections/postgres.ts'
import {
  allTrust,
  broken,
  cacheAll,
  fourChanges,
  handInPsql,
  madeAt,
  makeAll,
  oldInRedis,
  promiseMs,
  underLoad,
  undone,
  type Change,
} from '../testing/changes.ts'
import { startServer, type ServerProcess } from '../testing/server-process.ts'
import { freshDatabase, startPostgresServer, startRedisServer, type LocalServer } from '../testing/services.ts'

const untilJudged = (): Promise<void> => pause(promiseMs + 400)

async function twoServers(databaseUrl: string, redis: LocalServer): Promise<ServerProcess[]> {
  const env = {
    OWNER_KEY: 'ql_y3st3rdaysDataT0daysCacheN3verTh3Tw0',
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    DB_TIMEOUT_MS: '1000',
    // What Postgres says is asked for again at once when it is back.
    DB_BREAKER_OPEN_MS: '100',
  }
  const servers = await Promise.all([startServer(env), startServer(env)])
  await allTrust(servers)
  return servers
}

/** After `restore` everything is as it was before the changes, and can be changed again. */
async function restored(servers: ServerProcess[], redis: LocalServer, changes: Change[], restore: () => Promise<void>) {
  const back = undone(changes)
  await cacheAll(servers, back, redis.url)
  const watched = await underLoad(servers, changes, async () => {
    await restore()
    const made = madeAt(back, performance.now())
    await allTrust(servers)
    await untilJudged()
    return made
  })
  expect(broken(watched, watched.result)).toEqual([])
  expect(await oldInRedis(redis.url, watched.result)).toEqual([])

  await cacheAll(servers, changes, redis.url)
  const again = await underLoad(servers, changes, async () => {
    const made = await makeAll(changes)
    await untilJudged()
    return made
  })
  expect(broken(again, again.result)).toEqual([])
  expect(await oldInRedis(redis.url, again.result)).toEqual([])
}

it('yesterday’s files under a Redis of today: right within a second of Postgres being reachable', async () => {
  const [postgres, redis] = await Promise.all([startPostgresServer(), startRedisServer()])
  const servers = await twoServers(postgres.url, redis)
  const changes = await fourChanges(servers, 'files')
  const data = join(postgres.dir, 'data')
  await postgres.stop()
  execFileSync('cp', ['-a', data, `${data}.yesterday`])
  await postgres.restart()
  await allTrust(servers)
  await makeAll(changes)
  await restored(servers, redis, changes, async () => {
    await postgres.stop()
    execFileSync('rm', ['-rf', data])
    execFileSync('mv', [`${data}.yesterday`, data])
    await postgres.restart()
  })
})

describe('rows put back by hand into the same database: right within a second, when they are', () => {
  let redis: LocalServer
  let hand: Postgres
  let servers: ServerProcess[]

  beforeAll(async () => {
    redis = await startRedisServer()
    const databaseUrl = await freshDatabase()
    servers = await twoServers(databaseUrl, redis)
    hand = handInPsql(databaseUrl)
  })
  afterAll(() => hand.close())

  it('loaded into the emptied table', async () => {
    const changes = await fourChanges(servers, 'loaded')
    await hand.query('create table yesterday as select * from links')
    await makeAll(changes)
    await restored(servers, redis, changes, () =>
      hand.transaction(async (sql) => {
        await sql.query('truncate links')
        await sql.query('insert into links select * from yesterday')
        await sql.query('drop table yesterday')
      }),
    )
  })

  it('written while the triggers are off, which no Redis is trusted for', async () => {
    const [update] = (await fourChanges(servers, 'off')).filter(({ what }) => what === 'update') as [Change]
    await cacheAll(servers, [update], redis.url)
    const watched = await underLoad(servers, [update], async () => {
      await hand.query('alter table links disable trigger user')
      await untilJudged()
      await hand.query('update links set url = $1 where code = $2', [update.after, update.code])
      const made = madeAt([update], performance.now())
      await untilJudged()
      await hand.query('alter table links enable trigger user')
      await allTrust(servers)
      return made
    })
    expect(broken(watched, watched.result)).toEqual([])
    expect(await oldInRedis(redis.url, watched.result)).toEqual([])
  })

  it('written behind the back of the triggers, in a transaction that takes its time, with the sequence set back', async () => {
    const changes = await fourChanges(servers, 'behind')
    await hand.query('create table yesterday as select * from links')
    const [before] = await hand.query<{ version: number }>('select last_value as version from link_version_seq')
    await makeAll(changes)
    await restored(servers, redis, changes, () =>
      hand.transaction(async (sql) => {
        await sql.query('alter table links disable trigger user')
        await sql.query('delete from links where code not in (select code from yesterday)')
        await sql.query(`update links l set url = y.url, enabled = y.enabled, deleted_at = y.deleted_at, id = y.id
          from yesterday y where y.code = l.code`)
        await sql.query(`select setval('link_version_seq', $1)`, [before?.version])
        // Seen by everybody before the rows are: a sequence knows no transaction.
        await pause(600)
        await sql.query('alter table links enable trigger user')
        await sql.query('drop table yesterday')
      }),
    )
  })
})
