// Searching: by parts of a code or URL where pg_trgm is there, by their beginnings where not; and what one tenant's searches
// may take from others.
import { beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { buildIndexes } from '../connections/indexes.ts'
import type { Postgres } from '../connections/postgres.ts'
import { openSql } from '../../embedded/sql.ts'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { adminUrlOf, freshDatabase, waitFor } from '../../testing/services.ts'
import { chooseIndexes } from './upkeep.ts'

const build = (url: string): Promise<string[]> => buildIndexes({ url, connectMs: 2000, buildMs: 30_000 }, chooseIndexes)
const found = async (app: TestApp, q: string): Promise<string[]> => {
  const { items } = (await app.api('GET', `/links?q=${encodeURIComponent(q)}`)).body
  return (items as { code: string }[]).map(({ code }) => code).sort()
}
const links = [
  ['Sale-24', 'https://www.shop.example/Winter/Sale'],
  ['papers', 'http://docs.example/shop/Manual'],
] as const

describe('with pg_trgm', () => {
  let app: TestApp
  let hand: Postgres
  let databaseUrl: string
  beforeAll(async () => {
    databaseUrl = await freshDatabase()
    app = await startTestApp({ databaseUrl })
    hand = openSql(adminUrlOf(databaseUrl))
    for (const [code, url] of links) await app.create(url, { code })
    await hand.query(`insert into links (code, url) select 'many-' || n, 'https://example.org/' || md5(n::text) from generate_series(1, 20000) as n`) // prettier-ignore
    return () => hand.close()
  })

  test('indexes are built once, and anew where one was begun and not finished', async () => {
    expect(await build(databaseUrl)).toContain('links_by_part')
    expect(await build(databaseUrl)).toEqual([])
    await hand.query(`update pg_index set indisvalid = false where indexrelid = 'links_by_part'::regclass`)
    expect(await build(databaseUrl)).toEqual(['links_by_part'])
  })

  test('q is a part of the code or the URL, without regard to case', async () => {
    expect(await found(app, 'ALE')).toEqual(['Sale-24'])
    expect(await found(app, 'shop')).toEqual(['Sale-24', 'papers'])
    expect(await found(app, 'r/s')).toEqual(['Sale-24'])
    expect(await found(app, 'nothing')).toEqual([])
  })

  test('it is found by the index among very many', async () => {
    await hand.query('vacuum analyze links')
    const plan = await hand.query(
      `explain select * from links where deleted_at is null
         and lower(code || E'\\n' || left(url, ${limits.searchedChars}) collate "C") like '%winter%' order by id desc limit 21`,
    )
    expect(JSON.stringify(plan)).toContain('links_by_part')
    expect(await found(app, 'winter')).toEqual(['Sale-24'])
  })

  test("one tenant's worst searches, four at a time, are one at a time, each within its deadline, and others' calls go on", async () => {
    const [attacker, honest] = [await newTenant(app, 'attacker'), await newTenant(app, 'honest')]
    await hand.query(
      `insert into links (code, url, tenant) select 'a-' || n, 'https://a.example/' || repeat('a', 8000), 'attacker' from generate_series(1, 1000) as n`,
    )
    await hand.query(`insert into links (code, url, tenant) values ('honest-1', 'https://example.org/', 'honest')`)
    const worst = `/links?q=${'a'.repeat(199)}b`
    const life = { over: false, most: 0 }
    const statuses = new Set<number>()
    const attack = async (): Promise<void> => {
      while (!life.over) statuses.add((await attacker.api('GET', worst)).status)
    }
    const attacks = Array.from({ length: 4 }, attack)
    const watch = (async () => {
      while (!life.over) {
        const [row] = await hand.query<{ n: number }>(
          `select count(*) as n from pg_stat_activity where datname = current_database() and state = 'active'
             and query like '%from links where%like%' and pid <> pg_backend_pid()`,
        )
        life.most = Math.max(life.most, row?.n ?? 0)
      }
    })()
    for (let n = 0; n < 30; n++) {
      for (const path of ['/links/honest-1', '/links', '/links?q=example'])
        expect((await honest.api('GET', path)).status).toBe(200)
    }
    life.over = true
    await Promise.all([...attacks, watch])
    expect(life.most).toBeLessThanOrEqual(2)
    expect(statuses).toContain(429)
    for (const status of statuses) expect([200, 429, 503]).toContain(status)
  })

  test('a search that takes too long is told so; while another process searches for the tenant, it waits', async () => {
    const slow = await newTenant(app, 'slow')
    const [held, letGo] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const elsewhere = hand.transaction(async (sql) => {
      await sql.query(`select pg_advisory_xact_lock(7105005, hashtext('slow'))`)
      held.resolve(undefined)
      await letGo.promise
    })
    await held.promise
    const busy = await slow.api('GET', '/links?q=a')
    expect(busy).toMatchObject({ status: 429, body: { code: 'rate_limited' }, headers: { 'retry-after': '1' } })
    letGo.resolve(undefined)
    await elsewhere
    expect((await slow.api('GET', '/links?q=a')).status).toBe(200)

    const lock = hand.transaction(async (sql) => {
      await sql.query('lock table links in access exclusive mode')
      await waitFor(async () => {
        const late = await slow.api('GET', '/links?q=a')
        expect(late).toMatchObject({ status: 503, body: { code: 'unavailable' } })
        expect(late.body['detail']).toContain('takes too long')
        const ofAll = await app.api('GET', `/links?url=${encodeURIComponent('https://example.org/')}`)
        expect(ofAll).toMatchObject({ status: 503, body: { code: 'unavailable' } })
        expect(ofAll.body['detail']).toContain('say whose by tenant')
        return true
      })
    })
    await lock
  })
})

test('where pg_trgm is forbidden, codes and URLs are found by their beginning, the scheme and www. aside, by an index', async () => {
  const databaseUrl = await freshDatabase()
  const app = await startTestApp({ databaseUrl })
  const admin = openSql(adminUrlOf(databaseUrl))
  const name = new URL(databaseUrl).pathname.slice(1)
  // The owner of a database may add what is trusted.
  await admin.query(`alter database ${name} owner to postgres`)
  await admin.query('grant usage, create on schema public to quicklink')
  for (const [code, url] of links) await app.create(url, { code })
  await admin.query(`insert into links (code, url) select 'many-' || n, 'https://example.org/' || md5(n::text) from generate_series(1, 20000) as n`) // prettier-ignore
  expect(await build(databaseUrl)).toEqual(expect.arrayContaining(['links_by_host', 'links_by_slug']))
  expect(await found(app, 'sale')).toEqual(['Sale-24'])
  await admin.query(`insert into links (code, url) values ('go.second.example/Autumn', 'https://example.org/')`)
  expect(await found(app, 'autumn')).toEqual(['Autumn'])
  expect(await found(app, 'SHOP.example/w')).toEqual(['Sale-24'])
  expect(await found(app, 'https://www.shop')).toEqual(['Sale-24'])
  expect(await found(app, 'manual')).toEqual([])
  await admin.query('analyze links')
  const plan = await admin.query(
    `explain select * from links where deleted_at is null and lower(substr(code, strpos(code, '/') + 1)) like 'sale%'`,
  )
  expect(JSON.stringify(plan)).toContain('links_by_slug')
  await admin.close()
})
