// Folding changes how many rows there are, and nothing that anybody is told.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, migrated } from '../../testing/services.ts'
import { foldIntoDays, foldIntoMonths, readClicks, removeDeadClicks } from './history.ts'

const now = new Date('2030-05-17T13:30:00Z')
const databaseUrl = await freshDatabase()
const db = await migrated(databaseUrl)
await db.query(
  `create or replace function ql_now() returns timestamptz language sql volatile as $$ select timestamptz '${now.toISOString()}' $$`,
)

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** The first hour of a bucket that an hour is told in. */
function bucketOf(at: number, by: 'hour' | 'day'): number {
  const date = new Date(at)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  const agedMs = Date.UTC(2030, 4, 17) - limits.clickHoursDays * dayMs
  if (at < Date.UTC(2028, 4, 1)) return Date.UTC(year, month)
  return at < agedMs || by === 'day' ? Date.UTC(year, month, day) : at
}

type Click = [hour: number, clicks: number]

function told(clicks: readonly Click[], from: number, to: number, by: 'hour' | 'day') {
  const agedMs = Date.UTC(2030, 4, 17) - limits.clickHoursDays * dayMs
  const sums = new Map<number, number>()
  for (const [hour, n] of clicks) {
    const at = bucketOf(hour, by)
    const first = bucketOf(Math.floor(from / hourMs) * hourMs, by)
    if (hour < first || (hour < agedMs ? at : hour) >= to) continue
    sums.set(at, (sums.get(at) ?? 0) + n)
  }
  return [...sums].sort(([a], [b]) => a - b).map(([at, n]) => ({ at: new Date(at), clicks: n }))
}

const hoursAgo = fc.oneof(
  // Around both lines, which is where it goes wrong.
  fc.integer({ min: limits.clickHoursDays * 24 - 72, max: limits.clickHoursDays * 24 + 72 }),
  fc.integer({ min: 24 * 730 - 1000, max: 24 * 730 + 1000 }),
  fc.integer({ min: 0, max: 24 * 1100 }),
)
const hour = hoursAgo.map((ago) => Math.floor(now.getTime() / hourMs) * hourMs - ago * hourMs)
const act = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('count' as const), hour, clicks: fc.integer({ min: 1, max: 9 }) }) }, // prettier-ignore
  fc.record({ act: fc.constantFrom('days' as const, 'months' as const), size: fc.integer({ min: 1, max: 5 }) }),
)
const question = fc.record({ from: hour, to: hour, by: fc.constantFrom('hour' as const, 'day' as const) })

let linkId = 7_000_000

test('clicks per hour, day and month and in all are the same before and after any folding, with clicks in between', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 60 }),
      fc.array(question, { minLength: 4, maxLength: 4 }),
      async (acts, questions) => {
        linkId++
        const clicks: Click[] = []
        const check = async (): Promise<void> => {
          for (const { from, to, by } of questions) {
            expect(await readClicks(db, { linkId, from: new Date(from), to: new Date(to), by })).toEqual(
              told(clicks, from, to, by),
            )
          }
          const [total] = await db.query<{ clicks: number }>('select clicks from click_totals where link_id = $1', [linkId]) // prettier-ignore
          expect(total?.clicks ?? 0).toBe(clicks.reduce((sum, [, n]) => sum + n, 0))
        }
        for (const step of acts) {
          if (step.act === 'count') {
            clicks.push([step.hour, step.clicks])
            await db.query(
              'insert into clicks values ($1, $2, $3) on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks',
              [linkId, new Date(step.hour), step.clicks],
            )
          } else await db.transaction((sql) => (step.act === 'days' ? foldIntoDays : foldIntoMonths)(sql, step.size))
        }
        await check()
        for (const fold of [foldIntoDays, foldIntoMonths]) {
          for (let more = true; more;) more = (await db.transaction((sql) => fold(sql, 7))).more
        }
        await check()
        const rows = await db.query<{ hour: Date }>('select hour from clicks where link_id = $1', [linkId])
        expect(rows.map((row) => row.hour.getTime()).sort()).toEqual([...new Set(clicks.map(([at]) => bucketOf(at, 'hour')))].sort()) // prettier-ignore
      },
    ),
    { numRuns: Number(process.env['QL_FOLD_RUNS'] ?? 25) },
  )
})

test('folding and counting at the same time lose nothing, and do not wait for each other in a circle', async () => {
  const old = '2027-03-04T05:00Z'
  const life = { over: false }
  let counted = 0
  const count = async (): Promise<void> => {
    while (!life.over) {
      await db.query(
        `insert into clicks select 8000000 + n, $1::timestamptz + make_interval(hours => h), 1
         from generate_series(1, 20) as n, generate_series(0, 3) as h order by 1, 2
         on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`,
        [old],
      )
      counted += 80
    }
  }
  const counting = [count(), count()]
  const failed: unknown[] = []
  for (let n = 0; n < 60; n++) {
    await db.transaction((sql) => foldIntoDays(sql, 25)).catch((error: unknown) => failed.push(error))
  }
  life.over = true
  await Promise.all(counting)
  expect(failed).toEqual([])
  for (const sum of ['sum(clicks) from click_totals', 'sum(clicks) from clicks']) {
    expect(await db.query(`select ${sum} where link_id > 8000000`)).toEqual([{ sum: String(counted) }])
  }
})

test('clicks of links that are gone go, a step at a time, and so do those that arrive when they are gone', async () => {
  const left = async (id: number): Promise<unknown[]> =>
    db.query(
      `select 'clicks' from clicks where link_id = $1 union all select 'total' from click_totals where link_id = $1
       union all select 'dead' from dead_links where id = $1`,
      [id],
    )
  const app = await startTestApp({ databaseUrl })
  const code = await app.create('https://example.com/', { code: 'once-more' })
  const [first] = await db.query<{ id: number }>('select id from links where code = $1', [code])
  const id = first!.id
  const clicked = (n: number): Promise<unknown> =>
    db.query(
      `insert into clicks select $1, timestamptz '2030-01-01Z' + make_interval(hours => n), 1 from generate_series(1, $2) as n`,
      [id, n],
    )
  await clicked(30)
  await app.api('DELETE', '/links/once-more')
  await app.create('https://example.com/', { code })
  const [next] = await db.query<{ id: number }>('select id from links where code = $1', [code])
  await db.query(`insert into clicks values ($1, '2030-01-01Z', 5)`, [next!.id])

  const work = async (): Promise<number[]> => {
    const rows: number[] = []
    for (let more = true; more;) {
      const step = await db.transaction((sql) => removeDeadClicks(sql, 10))
      more = step.more
      rows.push(step.rows)
    }
    return rows
  }
  expect(Math.max(...(await work()))).toBe(10)
  expect(await left(id)).toEqual([])
  await clicked(3)
  expect(await left(id)).toHaveLength(5)
  await work()
  expect(await left(id)).toEqual([])
  expect((await app.api('GET', '/links/once-more')).body['clicks']).toBe(5)
})
