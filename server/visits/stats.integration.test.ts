// What is asked of visits is what has come, in every way in which it can be asked.
import { describe, expect, it } from 'vitest'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { created, newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql } from '../../testing/services.ts'
import { upkeep } from '../links/upkeep.ts'
import type { Cell, LinkVisits } from './batch.ts'
import { foldVisits } from './fold.ts'
import { encode } from './hyperloglog.ts'
import { usualTerms, visitTasks } from './keep.ts'
import type { StatsShown } from './operations.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const now = Date.UTC(2030, 4, 17, 13, 30)

const setNow = (ms: number): Promise<unknown> =>
  db.query(
    `create or replace function ql_now() returns timestamptz language sql volatile as $$ select timestamptz '${new Date(ms).toISOString()}' $$`,
  )
const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
const db = handInPsql(databaseUrl)
const acme = await newTenant(app, 'acme')
for (const code of ['spring', 'summer', 'autumn', 'winter', 'empty']) {
  await created(acme.api, '/links', { url: 'https://example.org/', code, tags: code === 'winter' ? [] : ['Seasons'] })
}
await created(app.api, '/links', { url: 'https://example.org/', code: 'owners' })
const rows = await db.query<{ id: number; code: string }>('select id, code from links')
const ids = Object.fromEntries(rows.map(({ id, code }) => [code, id]))
await db.query(`select ql_visit_partitions('2030-01-01Z', '2030-11-01Z')`)
await setNow(now)

const one = (linkId: number, cells: readonly Cell[], more: Partial<LinkVisits> = {}): LinkVisits => {
  const total = cells.filter(([dimension]) => dimension === 9).reduce((sum, cell) => sum + cell[2], 0)
  return {
    linkId,
    total,
    people: total,
    withheld: 0,
    detailed: total,
    atLeast: false,
    visitors: undefined,
    cells,
    ...more,
  }
}
/** As if they had come then: nothing is too late. */
async function come(time: string | number, link: LinkVisits, zone = 'UTC'): Promise<void> {
  const at = typeof time === 'number' ? time : Date.parse(time)
  await setNow(at + hourMs)
  await db.transaction((sql) => foldVisits(zone)(sql, [{ hourMs: at - (at % hourMs), links: [link] }]))
  await setNow(now)
}
const people = (n: number): Cell => [9, 'person', n, n]
const ask = async (path: string, api = acme.api): Promise<StatsShown> => {
  const answer = await api('GET', path)
  expect([answer.status, path, answer.body['detail']]).toEqual([200, path, undefined])
  return answer.body as unknown as StatsShown
}
const filled = ({ series }: StatsShown): [string, number][] =>
  series.filter(({ total }) => total > 0).map(({ at, total }) => [at.slice(0, 16), total])

describe('stats', () => {
  it('of a link, a tag and a tenant tell totals, people, visitors, a series without gaps, values, and the time before', async () => {
    const at = Date.UTC(2030, 4, 17, 11)
    await come(at, one(ids['spring']!, [people(3), [9, 'bot', 1, 0], [0, 'news.example', 2, 2], [4, 'DE', 3, 2]], { people: 3, withheld: 0, visitors: encode([67, 131]) }))
    await come(at + hourMs, one(ids['summer']!, [people(2), [0, 'news.example', 1, 1], [0, 'a.example', 1, 1]], { visitors: encode([67]) }))
    await come(at, one(ids['owners']!, [people(50)]))
    await come(at - 2 * dayMs, one(ids['spring']!, [people(7)]))
    const window = `from=2030-05-17T00:00:00Z&to=2030-05-17T13:00:00Z`
    const link = await ask(`/links/spring/stats?by=hour&${window}`)
    expect(link).toMatchObject({
      ...{ from: '2030-05-17T00:00:00.000Z', total: 4, people: 3, withheld: 0, visitors: 2, atLeast: false, sampled: false, detailed: 4 },
      top: [{ value: 'news.example', total: 2, people: 2, error: 0 }],
      other: { total: 0, people: 0 },
      unknown: { total: 2, people: 1 },
      before: { from: '2030-05-16T11:00:00.000Z', to: '2030-05-17T00:00:00.000Z', total: 0 },
      notes: [],
    }) // prettier-ignore
    expect(link.series).toHaveLength(13)
    expect(filled(link)).toEqual([['2030-05-17T11:00', 4]])
    const tag = await ask(`/tags/seasons/stats?${window}`)
    expect(tag).toMatchObject({ total: 6, people: 5, visitors: 2, top: [{ value: 'news.example', total: 3 }, { value: 'a.example', total: 1 }] })
    const tenant = await ask(`/stats?from=2030-05-14T00:00:00Z&to=2030-05-17T13:00:00Z&dimension=bot`)
    expect(tenant).toMatchObject({ total: 13, people: 12, dailyVisitors: 2, top: [{ value: 'person', total: 12 }, { value: 'bot', total: 1 }] })
    expect(tenant.series.map(({ at, total }) => [at.slice(0, 10), total])).toEqual([['2030-05-14', 0], ['2030-05-15', 7], ['2030-05-16', 0], ['2030-05-17', 6]]) // prettier-ignore
    const before = await ask('/stats?from=2030-05-16T12:00:00Z&to=2030-05-17T13:00:00Z')
    expect(before.before).toMatchObject({ total: 7, people: 7, from: '2030-05-15T11:00:00.000Z' })
    expect(await ask(`/links/empty/stats?${window}`)).toMatchObject({ total: 0, visitors: 0, top: [], unknown: { total: 0 } })
    expect(await ask('/stats?tenant=acme&from=2030-05-14T00:00:00Z&to=2030-05-17T13:00:00Z', app.api)).toMatchObject({ total: 13 })
    expect(await ask('/stats?from=2030-05-14T00:00:00Z&to=2030-05-17T13:00:00Z', app.api)).toMatchObject({ total: 50 })
  }) // prettier-ignore

  it('have the days of a time zone, of 23 and of 25 hours, and say where a zone is shifted by half an hour', async () => {
    const id = ids['autumn']!
    // The clock goes back on 27 October 2030, and forward on 31 March, in Berlin.
    for (const at of ['2030-10-26T22:00Z', '2030-10-27T22:00Z', '2030-10-27T23:00Z', '2030-03-30T23:00Z', '2030-03-31T21:00Z', '2030-03-31T22:00Z']) await come(at, one(id, [people(1)]))
    await setNow(Date.UTC(2030, 10, 1))
    expect(filled(await ask('/links/autumn/stats?tz=Europe/Berlin&from=2030-10-26T00:00:00Z&to=2030-10-29T00:00:00Z'))).toEqual([['2030-10-26T22:00', 2], ['2030-10-27T23:00', 1]])
    await setNow(Date.UTC(2030, 3, 10))
    const spring = await ask('/links/autumn/stats?tz=Europe/Berlin&from=2030-03-29T23:00:00Z&to=2030-04-02T00:00:00Z')
    expect(filled(spring)).toEqual([['2030-03-30T23:00', 2], ['2030-03-31T22:00', 1]])
    expect(spring.series.map(({ at }) => at.slice(5, 16))).toEqual(['03-29T23:00', '03-30T23:00', '03-31T22:00', '04-01T22:00'])
    const india = await ask('/links/autumn/stats?tz=Asia/Kolkata&from=2030-03-30T00:00:00Z&to=2030-04-01T00:00:00Z')
    expect(filled(india)).toEqual([['2030-03-30T19:00', 1], ['2030-03-31T19:00', 2]])
    expect(india.notes).toEqual([expect.stringContaining('Asia/Kolkata is shifted by a part of an hour')])
    expect(filled(await ask('/links/autumn/stats?by=week&tz=Europe/Berlin&from=2030-03-18T00:00:00Z&to=2030-04-02T00:00:00Z'))).toEqual([['2030-03-24T23:00', 2], ['2030-03-31T22:00', 1]])
    await setNow(now)
  }) // prettier-ignore

  it('say where they are estimates, and how good', async () => {
    const at = Date.UTC(2030, 4, 1, 11)
    const id = ids['empty']!
    await come(at, one(id, [[9, 'person', 8000, 8000], [9, 'bot', 2000, 0], [4, 'DE', 5000, 4000]], { people: 8000, detailed: 1000, atLeast: true, visitors: encode([67]) }))
    const stats = await ask('/links/empty/stats?dimension=country&from=2030-05-01T00:00:00Z&to=2030-05-02T00:00:00Z')
    expect(stats).toMatchObject({ total: 10_000, detailed: 1000, sampled: true, atLeast: true, visitors: 1, unknown: { total: 5000, people: 4000 } })
    // 1.96 × √(¼ ÷ 1000 × 0.9) of 10,000.
    expect(stats.top[0]).toEqual({ value: 'DE', total: 5000, people: 4000, error: 295 })
  }) // prettier-ignore

  it('are a table for spreadsheets, whose formulas no stranger writes', async () => {
    const at = Date.UTC(2030, 4, 3, 11)
    await come(at, one(ids['empty']!, [people(3), [0, '=cmd|calc', 2, 2], [0, 'a,"b"', 1, 1]]))
    const path = '/links/empty/stats?from=2030-05-03T00:00:00Z&to=2030-05-04T00:00:00Z'
    const answer = await acme.api('GET', path, undefined, { Accept: 'text/csv' })
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
    expect(answer.text.split('\r\n')).toEqual([
      'row,at,value,total,people,error',
      'total,2030-05-03T00:00:00.000Z,,3,3,0',
      'before,2030-05-02T00:00:00.000Z,,0,0,0',
      'series,2030-05-03T00:00:00.000Z,,3,3,0',
      "top,,'=cmd|calc,2,2,0",
      'top,,"a,""b""",1,1,0',
      'other,,,0,0,0', 'unknown,,,0,0,0', 'withheld,,,0,0,0', '',
    ])
  }) // prettier-ignore

  it('are exported line by line: totals and every value, of a tenant its own, of the owner all', async () => {
    const window = 'from=2030-05-10T00:00:00Z&to=2030-05-12T00:00:00Z'
    const at = Date.UTC(2030, 4, 10, 11)
    await come(at, one(ids['spring']!, [people(3), [0, 'news.example', 2, 1]], { withheld: 1 }))
    await come(at, one(ids['owners']!, [people(2)]))
    const lines = async (query: string, api = acme.api) => {
      const { status, text, headers } = await api('GET', `/visits/export?${window}${query}`)
      expect([status, headers['content-type']]).toEqual([200, 'application/x-ndjson'])
      return text.split('\n').filter(Boolean).map((line) => JSON.parse(line) as Record<string, unknown>)
    }
    const spring = { by: 'hour', at: '2030-05-10T11:00:00.000Z', tenant: 'acme', domain: null, code: 'spring' }
    expect(await lines('&by=hour')).toEqual([
      { ...spring, dimension: '', value: '', total: 3, people: 3, withheld: 1, detailed: 3 },
      { ...spring, dimension: 'referrer', value: 'news.example', total: 2, people: 1 },
      { ...spring, dimension: 'bot', value: 'person', total: 3, people: 3 },
    ])
    const days = await lines('', app.api)
    expect(days.map(({ by, code, tenant }) => `${String(by)} ${String(tenant)} ${String(code)}`).sort()).toEqual([
      ...Array<string>(3).fill('day acme spring'), ...Array<string>(2).fill('day owner owners'),
    ])
    expect(await lines('&tenant=acme', app.api)).toEqual(await lines(''))
    expect((await acme.api('HEAD', '/visits/export')).status).toBe(200)
  }) // prettier-ignore

  it('of a tenant are not those of another that had its id, whose rows may still be here', async () => {
    const window = 'from=2030-05-03T00:00:00Z&to=2030-05-05T00:00:00Z'
    const at = Date.UTC(2030, 4, 3, 11)
    const made = async () => {
      const team = await newTenant(app, 'again')
      await created(team.api, '/links', { url: 'https://example.org/', code: 'again' })
      const [{ id } = { id: NaN }] = await db.query<{ id: number }>(`select id from links where code = 'again'`)
      return { id, told: async () => (await ask(`/stats?${window}`, team.api)).total }
    }
    const gone = async (id: number) => {
      await db.query('delete from links where id = $1', [id])
      expect((await app.api('DELETE', '/tenants/again')).status).toBe(204)
    }
    for (const visits of [5, 7, 9]) {
      const { id, told } = await made()
      expect(await told()).toBe(0)
      await come(at, one(id, [people(visits)]))
      expect(await told()).toBe(visits)
      await gone(id)
    }
    const { id, told } = await made()
    await come(at, one(id, [people(3)]))
    await db.transaction((sql) => visitTasks(usualTerms).deadVisits(sql, 1000))
    expect(await told()).toBe(3)
    const rows = await db.query<{ total: number }>(`select total from visit_days where subject = 't/again' or subject like 't/again#%'`)
    expect(rows).toEqual([{ total: 3 }])
  }) // prettier-ignore

  // Last of those that tell of visits: the upkeep of a later year drops the partitions that they would come into.
  it('are the same by hours, by whole days and after the upkeep, wherever the time begins', async () => {
    const id = ids['winter']!
    const start = Date.UTC(2030, 0, 1)
    for (let n = 0; n < 60; n++)
      await come(start + n * 53 * hourMs, one(id, [people(1 + (n % 3)), [5, `Browser ${n % 4}`, 1, 1]]))
    const asked = async (from: string, to: string) => {
      const { total, people, top, unknown, other, series } = await ask(`/links/winter/stats?dimension=browser&from=${from}&to=${to}`)
      expect(top.reduce((sum, value) => sum + value.total, other.total + unknown.total)).toBe(total)
      expect(series.reduce((sum, bucket) => sum + bucket.total, 0)).toBe(total)
      return [total, people, top.map(({ value, total }) => [value, total])]
    }
    const ranges = [['2030-01-05T00:00:00Z', '2030-05-01T00:00:00Z'], ['2030-03-07T05:00:00Z', '2030-03-09T17:00:00Z'], ['2030-03-07T05:00:00Z', '2030-03-07T09:00:00Z'], ['2030-01-02T10:00:00Z', '2030-03-20T11:30:00Z'], ['2030-02-10T05:00:00Z', '2030-02-20T17:00:00Z']] as const // prettier-ignore
    const before = await Promise.all(ranges.map(([from, to]) => asked(from, to)))
    await upkeep(db, (_, error) => { throw error })
    expect(await Promise.all(ranges.map(([from, to]) => asked(from, to)))).toEqual(before)
    // Every visit between two times, counted by hand: hours that are gone count with their day.
    const all = Array.from({ length: 60 }, (_, n) => ({ at: start + n * 53 * hourMs, total: 1 + (n % 3) }))
    const line = Date.UTC(2030, 4, 17) - 90 * dayMs
    const floor = (at: number): number => (at < line ? at - (at % dayMs) : at)
    expect(before.map(([total]) => total)).toEqual(
      ranges.map(([from, to]) => all.filter(({ at }) => floor(at) >= floor(Date.parse(from)) && floor(at) < Date.parse(to)).reduce((sum, { total }) => sum + total, 0)),
    )
    await setNow(Date.UTC(2033, 0, 15))
    await upkeep(db, (_, error) => { throw error })
    const months = await ask('/links/winter/stats?dimension=browser&by=month&from=2030-01-01T00:00:00Z&to=2030-07-01T00:00:00Z')
    expect(months.total).toBe(all.reduce((sum, { total }) => sum + total, 0))
    expect(months.notes).toEqual(['Hours are kept for 90 days and days for 24 months: what is older stands at the beginning of its day or month.'])
    await setNow(now)
  }) // prettier-ignore

  it.each([
    ['/links/owners/stats', 404, 'There is no link owners.'],
    ['/links/nobody/stats', 404, 'There is no link nobody.'],
    ['/tags/nobody/stats', 404, 'There is no tag nobody.'],
    ['/stats?tenant=owner', 403, "Only the owner may ask for what is another tenant's."],
    ['/visits/export?tenant=owner', 403, "Only the owner may ask for what is another tenant's."],
    ['/visits/export?by=week', 400, 'by must be hour or day.'],
    ['/visits/export?from=2030-01-02T00:00:00Z&to=2030-01-02T00:00:00Z', 400, 'from must be earlier than to.'],
    ['/tags/seasons/stats?tenant=owner', 403, "Only the owner may ask for what is another tenant's."],
    ['/stats?tz=%2B01:00', 400, 'tz must be the name of a time zone, like UTC or Europe/Berlin.'],
    ['/stats?tz=Europe/Nowhere', 400, 'tz must be the name of a time zone, like UTC or Europe/Berlin.'],
    // Node knows it, and Postgres does not.
    ['/stats?tz=US/Pacific-New', 400, 'Postgres does not know the time zone US/Pacific-New.'],
    ['/stats?dimension=address', 400, /^dimension must be one of referrer, /],
    ['/stats?by=minute', 400, 'by must be one of hour, day, week, month.'],
    ['/stats?people=yes', 400, 'people must be true or false.'],
    ['/stats?from=2030-01-02T00:00:00Z&to=2030-01-02T00:00:00Z', 400, 'from must be earlier than to.'],
    ['/stats?by=hour&from=2029-01-02T00:00:00Z&to=2030-01-02T00:00:00Z', 400, 'from and to must not be more than 2200 hours apart.'],
    ['/stats?browser=Firefox', 400, 'browser is not a query parameter of this request: remove it.'],
  ])('refuse %s with %d: %s', async (path, status, detail) => {
    const answer: ApiAnswer = await acme.api('GET', path)
    expect([answer.status, answer.body['detail']]).toEqual([status, typeof detail === 'string' ? detail : expect.stringMatching(detail)])
  }) // prettier-ignore
})
