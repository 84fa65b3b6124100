// A real standby that streams from a real primary: what it says of itself, and a server that asks it first.
// Long because every way in which a standby can be amiss stands here.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { openSql } from '../../embedded/sql.ts'
import type { Code } from '../link.ts'
import type { Postgres } from '../connections/postgres.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import {
  freshRedis,
  handInPsql,
  proxied,
  startPostgresServer,
  startStandbyOf,
  waitFor,
  type LocalServer,
} from '../../testing/services.ts'
import { News } from './news.ts'
import { watchStandby } from './standby.ts'
import { createNearTruth, createTruth } from './truth.ts'

let primary: LocalServer
let standby: LocalServer
/** Of a person. */
let hand: Postgres
let handThere: Postgres

beforeAll(async () => {
  primary = await startPostgresServer()
  standby = await startStandbyOf(primary)
  hand = handInPsql(primary.url)
  handThere = handInPsql(Object.assign(new URL(superuserOf(standby)), { pathname: '/quicklink' }).href)
})

const superuserOf = (server: LocalServer): string => (Object.getPrototypeOf(server) as LocalServer).url
const insert = (code: string, url = 'https://example.org/before'): Promise<unknown> =>
  hand.query('insert into links (code, url) values ($1, $2)', [code, url])
/** Passes have heard of all that is there now, and the standby has a heartbeat from after that. */
const beaten = async (): Promise<void> => {
  const beats = async (): Promise<number> => (await handThere.query<{ n: number }>('select n from ql_beat'))[0]?.n ?? 0
  const before = await beats()
  await waitFor(async () => (await beats()) > before + 4, { deadlineMs: 30_000 })
}
const caughtUp = async (): Promise<void> => {
  const [here] = await hand.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn')
  const hasIt = async () =>
    (await handThere.query<{ so: boolean }>('select pg_last_wal_replay_lsn() >= $1::pg_lsn as so', [here?.lsn]))[0]?.so === true // prettier-ignore
  await waitFor(hasIt, { deadlineMs: 30_000 })
}

describe('what a standby says', () => {
  const watch = () => {
    const pool = openSql(standby.url, { maxConnections: 2, onlyIndexes: true })
    const near = createNearTruth(pool, pool)
    const errors: unknown[] = []
    const watched = watchStandby({
      near,
      far: hand,
      everyMs: 20,
      lagMaxS: 5,
      pauseMs: 1000,
      nowMs: () => performance.now(),
      clockMs: Date.now,
      onError: (error) => errors.push(error),
    })
    const close = async (): Promise<void> => {
      watched.stop()
      await pool.close()
    }
    return { near, errors, watched, close }
  }

  test('is measured by its heartbeat: what was being written when that left is not taken for known', async () => {
    const { near, watched, errors, close } = watch()
    const truth = createTruth(hand, hand)
    const written = Promise.withResolvers<undefined>()
    const going = Promise.withResolvers<undefined>()
    const open = hand.transaction(async (sql) => {
      await sql.query(`insert into links (code, url) values ('late', 'https://example.org/late')`)
      written.resolve(undefined)
      await going.promise
    })
    await written.promise
    await insert('early')
    const { next } = await truth.changesSince(null)
    const news = new News(10)
    news.heard(next, 'anything')
    const knows = async (code: string) => news.isKnown(code as Code, (await near.read([code as Code])).asOf)
    await waitFor(() => knows('late'), { deadlineMs: 30_000 })
    const { next: near1 } = await near.changesSince(next)
    going.resolve(undefined)
    await open
    await caughtUp()
    // By what it knew a moment ago, a pass there goes on, and is told.
    await waitFor(async () => (await near.changesSince(near1)).changes.some(({ code }) => code === 'late'))
    const heard = await truth.changesSince(near1)
    news.heard(heard.next, heard.changes.map(({ code }) => code)) // prettier-ignore
    await waitFor(() => knows('late'))
    await handThere.query('select pg_wal_replay_pause()')
    try {
      await hand.query(`update links set url = 'https://example.org/later' where code = 'late'`)
      const more = await truth.changesSince(heard.next)
      news.heard(more.next, more.changes.map(({ code }) => code)) // prettier-ignore
      expect(await knows('late')).toBe(false)
      expect(await knows('early')).toBe(true)
      await waitFor(() => watched.lagS() > 0.5)
    } finally {
      await handThere.query('select pg_wal_replay_resume()')
    }
    await waitFor(() => knows('late'))
    await waitFor(() => watched.isFit && watched.lagS() < 0.5)
    expect(errors).toEqual([])
    await close()
  })

  test('a primary that cannot write leaves it as it is, and says so', async () => {
    const { watched, errors, close } = watch()
    await waitFor(() => watched.isFit)
    await hand.query('alter database quicklink set default_transaction_read_only = on')
    try {
      const readOnly = openSql(primary.url)
      const other = watchStandby({
        near: createNearTruth(handThere, handThere),
        far: readOnly,
        everyMs: 20,
        lagMaxS: 5,
        pauseMs: 1000,
        nowMs: () => performance.now(),
        clockMs: Date.now,
        onError: (error) => errors.push(error),
      })
      await waitFor(() => errors.length > 0)
      expect(String(errors[0])).toContain('read-only')
      other.stop()
      await readOnly.close()
    } finally {
      await hand.transaction(async (sql) => {
        await sql.query('set transaction read write')
        await sql.query('alter database quicklink reset default_transaction_read_only')
      })
    }
    await close()
  })
})

describe.each(['with Redis', 'without Redis'])('a server beside a standby, %s', (redis) => {
  let server: ServerProcess
  const asked = async (code: string): Promise<{ status: number; to: string | null; ms: number }> => {
    const beganMs = performance.now()
    const { status, headers } = await fetch(`${server.url}/${code}`, { redirect: 'manual' })
    return { status, to: headers.get('location'), ms: performance.now() - beganMs }
  }
  const name = (what: string): string => `${what}-${redis.replaceAll(' ', '-')}`
  const lag = (): Promise<number> => server.metric('quicklink_replica_lag_seconds')
  /** What is true while these processes stand still. */
  const whileStopped = async (pids: readonly number[], work: () => Promise<void>): Promise<void> => {
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    try {
      await work()
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
  }
  const backends = async (of: Postgres, application: string): Promise<number[]> => {
    const [row] = await of.query<{ pids: number[] | null }>(
      'select array_agg(pid) as pids from pg_stat_activity where application_name like $1',
      [application],
    )
    return row?.pids ?? []
  }

  beforeAll(async () => {
    server = await startServer({
      DATABASE_URL: primary.url,
      DATABASE_READ_URL: standby.url,
      ...(redis === 'with Redis' ? { REDIS_URL: await freshRedis() } : {}),
      DB_TIMEOUT_MS: '500',
      API_DB_TIMEOUT_MS: '10000',
    })
    await waitFor(async () => (await lag()) < 2, { deadlineMs: 30_000 })
  })

  test('asks it for links, and not the primary', async () => {
    for (let n = 0; n < 50; n++) await insert(name(`near${n}`))
    await caughtUp()
    await waitFor(async () => (await lag()) < 2)
    expect((await asked(name('near0'))).status).toBe(302)
    await beaten()
    const pids = await backends(hand, 'quicklink-redirects')
    expect(pids.length).toBeGreaterThan(0)
    await whileStopped(pids, async () => {
      for (let n = 1; n < 50; n++) {
        const { status, ms } = await asked(name(`near${n}`))
        expect({ status, inTime: ms < 450 }).toEqual({ status: 302, inTime: true })
      }
    })
  })

  test('a second after a change nobody is led to what was before, also while it stands still', async () => {
    const codes = Array.from({ length: 20 }, (_, n) => name(`still${n}`))
    for (const code of codes) await insert(code)
    await caughtUp()
    await handThere.query('select pg_wal_replay_pause()')
    try {
      for (const code of codes.slice(0, 10)) await asked(code)
      await hand.query(`update links set url = 'https://example.org/after' where code = any($1)`, [codes])
      await new Promise((resolve) => setTimeout(resolve, 1000))
      for (const code of codes)
        expect(await asked(code)).toMatchObject({ status: 302, to: 'https://example.org/after' })
      await waitFor(async () => (await lag()) > 5, { deadlineMs: 30_000 })
      for (const code of codes)
        expect(await asked(code)).toMatchObject({ status: 302, to: 'https://example.org/after' })
    } finally {
      await handThere.query('select pg_wal_replay_resume()')
    }
    await waitFor(async () => (await lag()) < 2, { deadlineMs: 30_000 })
    for (const code of codes) expect(await asked(code)).toMatchObject({ status: 302, to: 'https://example.org/after' })
  })

  test('figures are read there', async () => {
    const code = name('figures')
    expect((await server.api('POST', '/links', { url: 'https://example.org/', code })).status).toBe(201)
    const [link] = await hand.query<{ id: number }>('select id from links where code = $1', [code])
    await hand.query(`insert into clicks (link_id, hour, clicks) values ($1, date_trunc('hour', now()), 7)`, [link?.id])
    await caughtUp()
    // What the standby has, and the primary has not any more.
    await handThere.query('select pg_wal_replay_pause()')
    try {
      await hand.query('delete from clicks where link_id = $1', [link?.id])
      expect((await server.api('GET', `/links/${code}/clicks`)).body).toMatchObject({ total: 7 })
    } finally {
      await handThere.query('select pg_wal_replay_resume()')
    }
    await caughtUp()
    expect((await server.api('GET', `/links/${code}/clicks`)).body).toMatchObject({ total: 0 })
  })

  test('one that hangs costs one deadline, and the primary is asked', async () => {
    const codes = Array.from({ length: 40 }, (_, n) => name(`hung${n}`))
    for (const code of codes) await insert(code)
    await whileStopped([standby.pid, ...(await backends(handThere, 'quicklink-near%'))], async () => {
      const answers = []
      for (const code of codes) answers.push(await asked(code))
      expect(answers.every(({ status }) => status === 302)).toBe(true)
      expect(answers.filter(({ ms }) => ms > 450).length).toBeLessThan(8)
    })
    await waitFor(async () => (await lag()) < 2, { deadlineMs: 30_000 })
  })

  test('leads on while the primary is away, and counts that', async () => {
    const codes = Array.from({ length: 10 }, (_, n) => name(`alone${n}`))
    for (const code of codes) await insert(code)
    await caughtUp()
    const alone = (): Promise<number> => server.metric('quicklink_replica_alone_total{what="lookup"}')
    const before = await alone()
    await primary.stop()
    try {
      for (const code of codes)
        expect(await asked(code)).toMatchObject({ status: 302, to: 'https://example.org/before' })
      await waitFor(async () => (await lag()) > 5.5, { deadlineMs: 30_000 })
      await new Promise((resolve) => setTimeout(resolve, 1000))
      for (const code of codes) expect(await asked(code)).toMatchObject({ status: 302 })
      expect((await asked(name('nobody'))).status).toBe(404)
      expect(await alone()).toBeGreaterThan(before)
    } finally {
      await primary.restart()
    }
    await waitFor(async () => (await lag()) < 2, { deadlineMs: 30_000 })
  })
})

test('a server that alone cannot reach the primary follows the standby, and hears of changes there', async () => {
  const { proxy, url } = await proxied(primary.url)
  const env = { DATABASE_URL: url, DATABASE_READ_URL: standby.url, REDIS_URL: await freshRedis() }
  const server = await startServer(env)
  // Another one, which can.
  await startServer({ DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url })
  const leads = async (): Promise<string | null> =>
    (await fetch(`${server.url}/cut`, { redirect: 'manual' })).headers.get('location')
  await insert('cut')
  await waitFor(async () => (await leads()) === 'https://example.org/before')
  await proxy.blackHole()
  const followed = (): Promise<number> => server.metric('quicklink_replica_alone_total{what="pass"}')
  await waitFor(async () => (await followed()) > 2, { deadlineMs: 30_000 })
  // A copy that nobody vouched for in time is looked up once more, and vouched for from then on.
  await waitFor(async () => (await leads()) !== null && (await server.metric('quicklink_vouched_copies')) === 1)
  await hand.query(`update links set url = 'https://example.org/after' where code = 'cut'`)
  await waitFor(async () => (await leads()) === 'https://example.org/after', { deadlineMs: 5000 })
  const alone = await followed()
  await proxy.pass()
  await waitFor(
    async () => (await server.metric('quicklink_breaker_state{dependency="postgres",state="closed"}')) === 1,
  )
  await hand.query(`update links set url = 'https://example.org/healed' where code = 'cut'`)
  await waitFor(async () => (await leads()) === 'https://example.org/healed', { deadlineMs: 5000 })
  expect(alone).toBeGreaterThan(2)
})

test('when the primary is gone and the standby is promoted, no redirect fails, and what is changed there is seen', async () => {
  const [lost, heir] = await (async () => {
    const old = await startPostgresServer()
    return [old, await startStandbyOf(old)]
  })()
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-test-url-'))
  const file = join(dir, 'url')
  writeFileSync(file, lost.url)
  const own = { DATABASE_URL_FILE: file, DATABASE_READ_URL: heir.url, REDIS_URL: await freshRedis() }
  const server = await startServer({ ...own, DB_TIMEOUT_MS: '500' })
  const made = await server.api('POST', '/links', { url: 'https://example.org/before', code: 'kept' })
  expect(made.status).toBe(201)
  const there = handInPsql(Object.assign(new URL(superuserOf(heir)), { pathname: '/quicklink' }).href)
  await waitFor(async () => (await there.query(`select from links where code = 'kept'`)).length === 1)
  const lead = async (): Promise<string | null> => {
    const { status, headers } = await fetch(`${server.url}/kept`, { redirect: 'manual' })
    expect(status).toBe(302)
    return headers.get('location')
  }
  expect(await lead()).toBe('https://example.org/before')
  await lost.kill()
  for (let n = 0; n < 20; n++) expect(await lead()).toBe('https://example.org/before')
  await there.query('select pg_promote()')
  writeFileSync(file, heir.url)
  // Its passes ask the new primary, which is another timeline.
  await waitFor(
    async () => {
      expect(await lead()).toBe('https://example.org/before')
      return (await server.metric('quicklink_breaker_state{dependency="postgres",state="closed"}')) === 1 &&
        (await server.api('PATCH', '/links/kept', { url: 'https://example.org/after' })).status === 200
    },
    { deadlineMs: 30_000 },
  ) // prettier-ignore
  await waitFor(async () => (await lead()) === 'https://example.org/after', { deadlineMs: 5000 })
  await there.query(`update links set url = 'https://example.org/by-hand' where code = 'kept'`)
  await waitFor(async () => (await lead()) === 'https://example.org/by-hand', { deadlineMs: 5000 })
  rmSync(dir, { recursive: true })
})
