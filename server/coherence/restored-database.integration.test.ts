// Promise 4 where the truth itself goes back: a database restored to an earlier state, under a Redis that kept running.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { Postgres } from '../connections/postgres.ts'
import { readHighWater } from '../links/high-water.ts'
import { send } from '../../testing/app.ts'
import {
  allTrust,
  expectKept,
  fourChanges,
  madeAt,
  makeAll,
  outcome,
  promiseMs,
  undone,
  untilJudged,
  type Change,
} from '../../testing/changes.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import {
  freshDatabase,
  handInPsql,
  redisCommand,
  startPostgresServer,
  startRedisServer,
  waitFor,
  type LocalServer,
} from '../../testing/services.ts'

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
  const scene = { servers, redisUrls: [redis.url] }
  const back = undone(changes)
  await expectKept({ ...scene, changes: back }, async () => {
    await restore()
    const made = madeAt(back, performance.now())
    await allTrust(servers)
    return made
  })
  await expectKept({ ...scene, changes }, () => makeAll(changes))
}

async function mint(server: ServerProcess, links: number): Promise<string[]> {
  const made: string[] = []
  while (made.length < links) {
    const { status, body } = await server.api('POST', '/links', { url: 'https://example.org/' })
    // What is lost meanwhile is 503.
    if (status === 201) made.push(String(body['code']))
    else await pause(5)
  }
  return made
}

const twice = (codes: readonly string[]): string[] => codes.filter((code, n) => codes.indexOf(code) !== n)

/** The server has noted that the database has come this far. */
const noted = ({ dataDir }: Pick<ServerProcess, 'dataDir'>, db: Postgres): Promise<unknown> =>
  waitFor(async () => {
    const [newest] = await db.query<{ id: number }>('select max(id) as id from links')
    return (await readHighWater(dataDir))?.linkId === newest?.id
  })

/** A copy of a Postgres' files, and the way to put it back. Postgres is stopped for either. */
async function copyFiles(postgres: LocalServer): Promise<() => Promise<void>> {
  const data = join(postgres.dir, 'data')
  const copy = `${data}.yesterday`
  await postgres.stop()
  execFileSync('cp', ['-a', data, copy])
  await postgres.restart()
  return async () => {
    await postgres.stop()
    execFileSync('rm', ['-rf', data])
    execFileSync('cp', ['-a', copy, data])
    await postgres.restart()
  }
}

it('yesterday’s files under a Redis of today: right within a second of Postgres being reachable', async () => {
  const [postgres, redis] = await Promise.all([startPostgresServer(), startRedisServer()])
  const servers = await twoServers(postgres.url, redis)
  const changes = await fourChanges(servers, 'files')
  const putBack = await copyFiles(postgres)
  await allTrust(servers)
  await makeAll(changes)
  const [one, other] = servers as [ServerProcess, ServerProcess]
  const handedOut = [...(await mint(one, 5)), ...(await mint(other, 5))]
  const hand = handInPsql(postgres.url)
  await Promise.all(servers.map((server) => noted(server, hand)))
  const minted: string[] = []
  await restored(servers, redis, changes, async () => {
    await putBack()
    minted.push(...(await Promise.all([mint(one, 10), mint(other, 10)])).flat())
  })
  expect(twice([...handedOut, ...minted])).toEqual([])
})

describe('yesterday’s files: no code and no link id is given twice', () => {
  let postgres: LocalServer
  let putBack: () => Promise<void>
  let db: Postgres
  const OWNER_KEY = 'ql_n0C0deAndN0L1nkIdIsGivenTw1ceEver'

  beforeAll(async () => {
    postgres = await startPostgresServer()
    db = handInPsql(postgres.url)
    const first = await startServer({ DATABASE_URL: postgres.url, OWNER_KEY })
    await mint(first, 3)
    await first.kill()
    putBack = await copyFiles(postgres)
  })
  beforeEach(() => putBack())

  const ids = async (codes: readonly string[]): Promise<string[]> =>
    (await db.query<{ id: number }>('select id from links where code = any($1)', [codes])).map(({ id }) => String(id))

  it.each<[string, { goesOn?: true; hasRedis?: true }]>([
    ['without a Redis, from the first one on that a running server makes', { goesOn: true }],
    ['by a server that is started with them, and with its own DATA_DIR', {}],
    ['where DATA_DIR went back, too, and only Redis has seen more', { hasRedis: true }],
  ])('%s', async (_, { goesOn, hasRedis }) => {
    const redis = hasRedis && (await startRedisServer())
    const kept = mkdtempSync(join(tmpdir(), 'quicklink-test-'))
    onTestFinished(() => rmSync(kept, { recursive: true }))
    const env = { DATABASE_URL: postgres.url, OWNER_KEY, ...(redis ? { REDIS_URL: redis.url } : { DATA_DIR: kept }) }
    const before = await startServer(env)
    if (redis) await allTrust([before])
    const handedOut = await mint(before, 5)
    const known = await ids(handedOut)
    if (redis) {
      const seen = await redisCommand(redis.url, 'GET ql:v1:cursor')
      await waitFor(async () => (await redisCommand(redis.url, 'GET ql:v1:cursor')) !== seen, { deadlineMs: 30_000 })
    } else await noted({ dataDir: kept }, db)
    if (!goesOn) await before.kill()
    await putBack()
    const after = goesOn ? before : await startServer(env)
    if (redis) await allTrust([after])
    const minted = await mint(after, 10)
    expect(twice([...handedOut, ...minted])).toEqual([])
    expect(twice([...known, ...(await ids(minted))])).toEqual([])
    await after.kill()
  })

  it('without a Redis, what a running server held is forgotten within a second, vouched for or not', async () => {
    const env = { DATABASE_URL: postgres.url, OWNER_KEY, DB_BREAKER_OPEN_MS: '100', DB_TIMEOUT_MS: '1000' }
    const server = await startServer(env)
    const [code] = (await db.query<{ code: string }>('select code from links limit 1')).map(({ code }) => code)
    const url = 'https://example.org/today'
    const made = await server.api('POST', '/links', { url, code: 'of-today' })
    const changed = await server.api('PATCH', `/links/${code}`, { url })
    expect([made.status, changed.status]).toEqual([201, 200])
    await noted(server, db)
    const visited = async (path: string): Promise<unknown> => outcome(await send(server.url, 'GET', path))
    const vouched = async (): Promise<boolean> => {
      const { body } = await server.api('GET', '/cache/of-today')
      return (body['tier1'] as { vouched?: boolean } | null)?.vouched === true
    }
    await waitFor(
      async () => (await visited('/of-today')) === url && (await visited(`/${code}`)) === url && vouched(),
      {
        deadlineMs: 30_000,
      },
    )
    await putBack()
    // Nobody asks meanwhile, so that only passes can have noticed.
    await pause(promiseMs)
    expect([await visited('/of-today'), await visited(`/${code}`)]).toEqual([404, 'https://example.org/'])
    await server.kill()
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
    await expectKept({ servers, redisUrls: [redis.url], changes: [update] }, async () => {
      await hand.query('alter table links disable trigger user')
      await untilJudged()
      await hand.query('update links set url = $1 where code = $2', [update.after, update.code])
      const made = madeAt([update], performance.now())
      await untilJudged()
      await hand.query('alter table links enable trigger user')
      await allTrust(servers)
      return made
    })
  })

  it('written behind the back of the triggers, in a transaction that takes its time, with the sequence set back', async () => {
    // A hand that gives a special link a url is refused.
    const isPlain = ({ what }: Change): boolean => what !== 'rules' && what !== 'password'
    const changes = (await fourChanges(servers, 'behind')).filter(isPlain)
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
