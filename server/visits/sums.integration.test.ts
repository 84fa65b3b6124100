// Sums of months say what their days say, whatever comes late, and go with them.
import { beforeAll, expect, it } from 'vitest'
import { freshDatabase, migrated } from '../../testing/services.ts'
import type { Postgres } from '../connections/postgres.ts'
import { upkeep } from '../links/upkeep.ts'
import { add, cellsOf } from './cells.ts'
import { usualTerms } from './keep.ts'
import { addTo, additions, levels, makeRoom } from './rows.ts'
import { askStats, type Question } from './stats.ts'

const dayMs = 86_400_000
const now = Date.UTC(2030, 4, 17, 13, 30)
const first = Date.UTC(2029, 5, 1)

let db: Postgres
const setNow = (ms: number): Promise<unknown> =>
  db.query(
    `create or replace function ql_now() returns timestamptz language sql volatile as $$ select timestamptz '${new Date(ms).toISOString()}' $$`,
  )
const keepUp = () => upkeep(db, (task, error) => expect.fail(`${task}: ${String(error)}`), usualTerms)

/** A day's visits, all in its first hour, as the fold writes them. */
async function come(subject: string, atMs: number, values: readonly string[]): Promise<void> {
  const days = additions()
  const day = days.of(subject, atMs)
  const cells = (day.cells[0] = cellsOf())
  for (const value of values) add(cells, value, 1, 1)
  day.total = day.people = day.detailed = values.length
  await db.transaction(async (sql) => {
    for (const level of ['hour', 'day'] as const) {
      await makeRoom(sql, levels[level], days.sorted)
      await addTo(sql, level, days.sorted)
    }
  })
}
const site = (n: number): string => `a-site-with-a-longer-name-${n}.example`
const ask = async (subject: string) => {
  const question: Question = { subject, from: new Date(first), to: new Date(now), by: 'month', timeZone: 'UTC', dimension: 'referrer', people: false } // prettier-ignore
  const { total, top, other, unknown } = await askStats(db, usualTerms, question)
  return { total, top, other, unknown }
}
const sums = (subject: string) =>
  db.query<{ at: Date }>('select at from visit_sums where subject = $1 order by at', [subject])

beforeAll(async () => {
  db = await migrated(await freshDatabase())
  await setNow(now)
  await db.query(`select ql_visit_partitions('2029-06-01Z', '2030-06-01Z')`)
  for (let atMs = first, n = 0; atMs < now - dayMs; atMs += dayMs, n++) {
    const values = Array.from({ length: 150 }, (_, m) => site((n * 7 + m) % 400))
    await come('l/1', atMs, values)
    if (n % 10 === 0) await come('l/2', atMs, values.slice(0, 3))
  }
})

it('answers are the same with the sums of months, and with what comes late to one; small rows have none', async () => {
  const before = [await ask('l/1'), await ask('l/2')]
  await keepUp()
  expect((await sums('l/1')).map(({ at }) => at.toISOString().slice(0, 7))).toEqual(['2029-06', '2029-07', '2029-08', '2029-09', '2029-10', '2029-11', '2029-12', '2030-01', '2030-02', '2030-03', '2030-04']) // prettier-ignore
  expect(await sums('l/2')).toEqual([])
  expect([await ask('l/1'), await ask('l/2')]).toEqual(before)
  // They are what is read: without its sum, a month is read by its days.
  await db.query(`update visit_sums set referrer = null where subject = 'l/1' and at = '2029-09-01Z'`)
  expect((await ask('l/1')).unknown.total).toBe(30 * 150)
  await db.query(`delete from visit_sums where subject = 'l/1' and at = '2029-09-01Z'`)
  expect(await ask('l/1')).toEqual(before[0])
  await come(
    'l/1',
    Date.UTC(2030, 2, 5),
    Array.from({ length: 4000 }, () => 'late.example'),
  )
  const { total, top } = await ask('l/1')
  expect(total).toBe(before[0]!.total + 4000)
  expect(top[0]).toMatchObject({ value: 'late.example', total: 4000 })
})

it('sums of a month whose days have gone into months go, and so do those of a link that is gone', async () => {
  await setNow(Date.UTC(2031, 6, 20))
  await keepUp()
  expect((await sums('l/1')).map(({ at }) => at.toISOString().slice(0, 7))[0]).toBe('2029-07')
  await db.query(`insert into dead_visits values ('l/1')`)
  await keepUp()
  expect(await sums('l/1')).toEqual([])
})
