// The API of links: pages, filters and clicks.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildIndexes } from '../connections/indexes.ts'
import { freshDatabase } from '../../testing/services.ts'
import { codesOf, expectProblem, ownerKey, startApi, type Answer, type Api } from './api.stub.ts'
import { chooseIndexes } from './upkeep.ts'

let api: Api

beforeAll(async () => {
  const databaseUrl = await freshDatabase()
  api = await startApi({ databaseUrl })
  // As the primary process does after the start.
  await buildIndexes({ url: databaseUrl, connectMs: 2000, buildMs: 20_000 }, chooseIndexes)
  await api.addTenant('acme')
})
afterAll(() => api.close())

const target = 'https://example.com/some/page'

describe('GET /links', () => {
  test('pages newest first, each link once, whatever is created in between', async () => {
    const key = await api.addTenant('pages')
    const codes: string[] = []
    for (let i = 0; i < 7; i++) codes.unshift((await api.create({ url: `${target}?${i}` }, { key })).body.code)
    await api.call('DELETE', `/links/${codes[3]}`, { key })
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Answer = await api.call('GET', `/links?limit=2${cursor && `&cursor=${cursor}`}`, { key })
      expect(page.status).toBe(200)
      expect(page.body.items.length).toBeLessThanOrEqual(2)
      seen.push(...codesOf(page))
      cursor = page.body.nextCursor
      expect(cursor ?? '').toMatch(/^[0-9A-Za-z_-]*$/)
      await api.create({ url: target }, { key })
    }
    expect(seen).toEqual(codes.filter((code) => code !== codes[3]))
  })

  test('a cursor says nothing of how many links there are, and is 400 in any list but its own', async () => {
    const [mine, theirs] = [await api.addTenant('sealed'), await api.addTenant('sealed-too')]
    for (const key of [mine, mine, mine, theirs]) await api.create({ url: target }, { key })
    const cursor = (await api.call('GET', '/links?limit=1', { key: mine })).body.nextCursor as string
    const [row] = await api.db.query<{ id: number }>('select max(id) - 1 as id from links')
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain(String(row?.id))
    expect((await api.call('GET', `/links?cursor=${cursor}`, { key: mine })).status).toBe(200)
    // What another tenant, or the owner over all tenants, was told is no place in this list.
    expectProblem(await api.call('GET', `/links?cursor=${cursor}`, { key: theirs }), 400, 'invalid', 'cursor')
    expectProblem(await api.call('GET', `/links?cursor=${cursor}`), 400, 'invalid', 'cursor')
    // The owner may leaf through the tenant's own list.
    expect((await api.call('GET', `/links?tenant=sealed&cursor=${cursor}`)).body.items).toHaveLength(2)
  })

  test('filters by text, without wildcards, by state and, for the owner, by tenant', async () => {
    const key = await api.addTenant('filters')
    await api.create({ url: 'https://example.com/100%25_sure', code: 'Sure_Thing' }, { key })
    await api.create({ url: 'https://example.com/other', code: 'off-1', enabled: false }, { key })
    const found = async (query: string, as = key): Promise<string[]> =>
      codesOf(await api.call('GET', `/links?${query}`, { key: as }))
    expect(await found('q=sure')).toEqual(['Sure_Thing'])
    expect(await found('q=100%2525_')).toEqual(['Sure_Thing'])
    expect(await found('q=e_T')).toEqual(['Sure_Thing'])
    expect(await found('q=s_r')).toEqual([])
    expect(await found('q=%25')).toEqual(['Sure_Thing'])
    expect(await found('q=%5C')).toEqual([])
    expect(await found('q=')).toEqual(['off-1', 'Sure_Thing'])
    expect(await found('enabled=false')).toEqual(['off-1'])
    expect(await found('enabled=true')).toEqual(['Sure_Thing'])
    expect(await found('tenant=filters', ownerKey)).toEqual(['off-1', 'Sure_Thing'])
    expect(await found('tenant=nobody', ownerKey)).toEqual([])
    expect(await found('tenant=filters')).toEqual(['off-1', 'Sure_Thing'])
    expectProblem(await api.call('GET', '/links?tenant=acme', { key }), 403, 'forbidden')
  })

  test.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=5&limit=6'],
    ['cursor', 'cursor=abc'],
    ['cursor', 'cursor=aWQ6LTE'],
    ['enabled', 'enabled=maybe'],
    ['q', `q=${'x'.repeat(201)}`],
    ['q', 'q=%00'],
    ['tenant', 'tenant=%00'],
    ['page', 'page=2'],
  ])('400 naming %s: %s', async (field, query) => {
    expectProblem(await api.call('GET', `/links?${query}`), 400, 'invalid', field)
  })
})

describe('GET /links/{code}/clicks', () => {
  test('200: by day and by hour, in UTC; the total is the sum of the buckets', async () => {
    await api.create({ url: target, code: 'clicked' })
    await api.db.query(
      `insert into clicks select id, hour::timestamptz, n from links,
         (values ('2030-01-01T22:00Z', 1), ('2030-01-01T23:00Z', 2), ('2030-01-02T00:00Z', 4)) as v (hour, n)
       where code = 'clicked'`,
    )
    const range = 'from=2030-01-01T00:00:00Z&to=2030-01-03T00:00:00Z'
    expect((await api.call('GET', `/links/clicked/clicks?${range}`)).body).toEqual({
      total: 7,
      buckets: [
        { at: '2030-01-01T00:00:00.000Z', clicks: 3 },
        { at: '2030-01-02T00:00:00.000Z', clicks: 4 },
      ],
    })
    const hours = 'by=hour&from=2030-01-01T23:00:00Z&to=2030-01-02T00:00:00Z'
    expect((await api.call('GET', `/links/clicked/clicks?${hours}`)).body).toEqual({
      total: 2,
      buckets: [{ at: '2030-01-01T23:00:00.000Z', clicks: 2 }],
    })
    expect((await api.call('GET', '/links/clicked')).body.clicks).toBe(7)
  })

  test('200: the last 30 days, if nothing is said', async () => {
    await api.create({ url: target, code: 'clicked-2' })
    await api.db.query(
      `insert into clicks select id, date_trunc('hour', now()) - make_interval(days => age), 1 from links, (values (0), (29), (32)) as v (age)
       where code = 'clicked-2'`,
    )
    expect((await api.call('GET', '/links/clicked-2/clicks')).body.total).toBe(2)
  })

  test.each([
    ['by', 'by=week'],
    ['from', 'from=yesterday'],
    ['to', 'to=2026-13-01T00:00:00Z'],
    ['from', 'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z'],
    ['from', 'by=hour&from=2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z'],
    ['from', 'by=day&from=0001-01-01T00:00:00Z&to=2026-01-01T00:00:00Z'],
  ])('400 naming %s: %s', async (field, query) => {
    await api.create({ url: target, code: 'clicked-3' })
    expectProblem(await api.call('GET', `/links/clicked-3/clicks?${query}`), 400, 'invalid', field)
  })
})
