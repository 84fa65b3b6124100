// Title, note and tags as their rows show it: a change of them alone is none of the link's, and they go with it.
import { expect, test } from 'vitest'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { clickOrder } from './click-order.ts'
import { upkeep } from './upkeep.ts'

const url = 'https://example.com/'
const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
const db = handInPsql(databaseUrl)
const create = (more: object): Promise<ApiAnswer> => app.api('POST', '/links', { url, ...more })
const idOf = async (code: string): Promise<number> =>
  (await db.query<{ id: number }>('select id from links where code = $1', [code]))[0]?.id ?? NaN
const rowsOf = async (id: number): Promise<number[]> => {
  const [counted] = await db.query<{ details: number; tags: number }>(
    `select (select count(*) from link_details where link_id = $1) as details,
       (select count(*) from link_tags where link_id = $1) as tags`,
    [id],
  )
  return [counted?.details ?? NaN, counted?.tags ?? NaN]
}
const said = { title: 'T', note: 'N', tags: ['a', 'b'] }

test('a change of title, note or tags alone writes no row of links: no version, and nothing into the outbox', async () => {
  const { body } = await create({ code: 'quiet' })
  // The row itself: an update would move it.
  const state = () => db.query(`select ctid, xmin::text, version, updated_at from links where code = 'quiet'`)
  const outbox = () => db.query('select from outbox')
  const before = [await state(), (await outbox()).length]
  for (const change of [{ title: 'x' }, { note: 'y' }, { tags: ['z'] }, { title: null, note: null, tags: [] }]) {
    expect(await app.api('PATCH', '/links/quiet', change)).toMatchObject({
      status: 200,
      body: { version: body['version'] },
    })
  }
  expect((await app.api('PATCH', '/tags/z', { name: 'zz' })).status).toBe(200)
  expect((await app.api('DELETE', '/tags/zz')).status).toBe(204)
  expect([await state(), (await outbox()).length]).toEqual(before)
  expect((await app.api('PATCH', '/links/quiet', { title: 'x', enabled: false })).body['version']).toBeGreaterThan(
    body['version'] as number,
  )
  expect(await outbox()).toHaveLength(Number(before[1]) + 1)
})

test('updatedAt is the later of both, whoever changes the link', async () => {
  await create({ code: 'later' })
  const updatedAt = async (): Promise<number> =>
    Date.parse(String((await app.api('GET', '/links/later')).body['updatedAt']))
  const made = await updatedAt()
  const retitled = Date.parse(String((await app.api('PATCH', '/links/later', { title: 'x' })).body['updatedAt']))
  expect(retitled).toBeGreaterThan(made)
  await db.query(`update links set enabled = false where code = 'later'`)
  expect(await updatedAt()).toBeGreaterThan(retitled)
})

test('a tag of a thousand links and more is renamed in one row, merged and deleted in steps', async () => {
  const n = 2 * limits.tagStep + 7
  await create({ code: 'first-of-many', tags: ['many', 'others'] })
  await db.query(
    `with made as (insert into links (code, url) select 'many-' || n, $1 from generate_series(1, $2::integer) as n returning id, created_at)
     insert into link_tags (tag_id, link_id, created_at) select tags.id, made.id, created_at from made, tags where key = 'many'`,
    [url, n],
  )
  const tags = async (): Promise<unknown> => (await app.api('GET', '/tags')).body['items']
  const rows = () => db.query('select xmin::text, tag_id, link_id from link_tags order by link_id, tag_id')
  const before = await rows()
  expect((await app.api('PATCH', '/tags/many', { name: 'Very many' })).body).toEqual({ tag: 'Very many', links: n + 1 })
  expect(await rows()).toEqual(before)
  expect((await app.api('PATCH', `/tags/very%20many`, { name: 'others' })).body).toEqual({
    tag: 'others',
    links: n + 1,
  })
  expect(await tags()).toContainEqual({ tag: 'others', links: n + 1 })
  expect((await app.api('DELETE', '/tags/others')).status).toBe(204)
  expect(await rows()).toHaveLength(before.length - n - 2)
  expect(await tags()).not.toContainEqual(expect.objectContaining({ tag: 'others' }))
})

test('a code that is created again inherits nothing, and nothing of the first is left', async () => {
  await create({ code: 'again', ...said })
  const first = await idOf('again')
  expect(await rowsOf(first)).toEqual([1, 2])
  await app.api('DELETE', '/links/again')
  expect(await rowsOf(first)).toEqual([0, 0])
  expect((await create({ code: 'again' })).body).toMatchObject({ title: null, note: null, tags: [], revision: 0 })
  await app.api('PATCH', '/links/again', said)
  await db.query(`update links set expires_at = now() - interval '1 minute' where code = 'again'`)
  const second = await idOf('again')
  expect(await rowsOf(second)).toEqual([1, 2])
  expect((await create({ code: 'again', tags: ['b'] })).body).toMatchObject({ title: null, note: null, tags: ['b'] })
  expect([await rowsOf(second), await rowsOf(await idOf('again'))]).toEqual([
    [0, 0],
    [1, 1],
  ])
})

test('details go with a link that is purged, removed or truncated by hand', async () => {
  await create({ code: 'purged', ...said })
  await create({ code: 'by-hand', ...said })
  const [purged, byHand] = [await idOf('purged'), await idOf('by-hand')]
  await db.query(`update links set expires_at = now() - make_interval(days => $1) where code = 'purged'`, [
    limits.purgeAfterDays + 1,
  ])
  await upkeep(db, (_, error) => {
    throw error
  })
  await db.query(`delete from links where code = 'by-hand'`)
  for (const id of [purged, byHand]) expect(await rowsOf(id)).toEqual([0, 0])
})

test('a link that was written without details, as by a server of the version before, has them when they are given', async () => {
  await db.query(`insert into links (code, url) values ('older', $1)`, [url])
  expect((await app.api('GET', '/links/older')).body).toMatchObject({
    title: null,
    tags: [],
    createdBy: null,
    revision: 0,
  })
  expect((await app.api('PATCH', '/links/older', said)).body).toMatchObject({ ...said, revision: 1 })
})

test('a tenant has no more tags than it may; those that it has go on', async () => {
  const { api, id } = await newTenant(app, 'collector')
  await db.query(
    `insert into tags (tenant, key, name) select $1, 't' || n, 'T' || n from generate_series(1, $2::integer) as n`,
    [id, limits.tagsPerTenant - 1],
  )
  const post = (...tags: string[]) => api('POST', '/links', { url, tags })
  expect((await post('t1', 'new')).status).toBe(201)
  const refused = await post('t1', 'newer')
  expect([refused.status, refused.body['field']]).toEqual([409, 'tags'])
  expect((await api('GET', '/links')).body['items']).toHaveLength(1)
  const { body } = await post('NEW', 't2')
  expect(body['tags']).toEqual(['new', 'T2'])
  expect((await api('PATCH', `/links/${String(body['code'])}`, { tags: ['newer'] })).status).toBe(409)
  expect((await api('GET', `/links/${String(body['code'])}`)).body).toEqual(body)
})

test('lists are sorted by clicks as they were counted last: each round tells what has changed, a part at a time', async () => {
  const { api } = await newTenant(app, 'counted')
  for (const code of ['few', 'none', 'most']) await api('POST', '/links', { url, code })
  const click = (code: string, n: number) =>
    db.query(`insert into clicks select id, date_trunc('hour', now()), $2 from links where code = $1
      on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`, [code, n]) // prettier-ignore
  const order = async (): Promise<unknown> =>
    ((await api('GET', '/links?sort=clicks')).body['items'] as { code: string }[]).map(({ code }) => code)
  await click('few', 2)
  await click('most', 9)
  expect(await order()).toEqual(['most', 'none', 'few'])
  const round = clickOrder({ orderStep: 1, orderMs: 60_000 })
  expect(await round(db)).toMatchObject({ moved: 2, isWhole: true })
  expect(await order()).toEqual(['most', 'few', 'none'])
  expect(await round(db)).toMatchObject({ moved: 0 })
  await click('few', 10)
  const inParts = clickOrder({ orderStep: 1, orderMs: 0 })
  const parts = [await inParts(db), await inParts(db), await inParts(db)]
  expect(parts.map(({ moved }) => moved).reduce((a, b) => a + b)).toBe(1)
  expect(parts[0]).toMatchObject({ isWhole: false })
  expect(await order()).toEqual(['few', 'most', 'none'])
})

test('a create or a change whose tags Postgres does not get to in time is 503, and its process lives', async () => {
  await create({ code: 'waits' })
  const unheard: unknown[] = []
  const hear = (error: unknown): void => void unheard.push(error)
  process.on('unhandledRejection', hear)
  await db.transaction(async (sql) => {
    // As a rename or the removal of a tag holds it.
    await sql.query(`select pg_advisory_xact_lock(7105006, hashtext('owner'))`)
    const both = await Promise.all([create({ tags: ['late'] }), app.api('PATCH', '/links/waits', { tags: ['late'] })])
    process.off('unhandledRejection', hear)
    expect(unheard).toEqual([])
    expect(both.map(({ status }) => status)).toEqual([503, 503])
  })
})
