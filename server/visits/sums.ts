// The days of a month that is over, added up by the upkeep, for subjects whose values are many. A question about a year reads these in place of the days. A
// row holds as long as its days have the total that they had then: who writes visits knows nothing of it, and what comes late makes it void.
import { limits } from '../limits.ts'
import type { Step } from '../clicks/history.ts'
import type { Sql } from '../connections/postgres.ts'
import { dimensions, type Dimension } from './batch.ts'
import { cut, pack, unpack, type Cells } from './cells.ts'
import { linesOf, type Terms } from './keep.ts'

/** Of a row, as Postgres keeps it. */
const bytes = dimensions.map((name) => `coalesce(pg_column_size(${name}), 0)`).join(' + ')

/** Some rows of a month further. The newest month first. */
export const addUpMonths =
  (terms: Terms) =>
  async (sql: Sql, size: number): Promise<Step> => {
    const [month] = await sql.query<{ at: Date; ends: Date; subject: string }>(
      `select month.at, month.ends, coalesce(made.subject, '') as subject
       from (
         select local at time zone 'UTC' as at, (local + interval '1 month') at time zone 'UTC' as ends
         from generate_series(date_trunc('month', ${linesOf(terms, '$1').days} at time zone 'UTC'), ql_now() at time zone 'UTC', interval '1 month') as local
       ) as month left join visit_sums_made as made on made.at = month.at
       where month.ends < ql_now() - interval '1 day' and made.is_done is not true order by month.at desc limit 1`,
      [terms.visitsTz],
    )
    if (!month) return { rows: 0, more: false }
    // All days of one subject at least.
    const most = Math.max(size, limits.visitSumRows)
    const days = await sql.query<{ subject: string; bytes: number }>(
      `select subject, (${bytes})::integer as bytes from visit_days where at >= $1 and at < $2 and subject > $3 order by subject, visit_days.at limit $4`,
      [month.at, month.ends, month.subject, most],
    )
    const isDone = days.length < most
    const all = new Map<string, number>()
    for (const day of days) all.set(day.subject, (all.get(day.subject) ?? 0) + day.bytes)
    // Of the last one there may be more days.
    if (!isDone) all.delete(days.at(-1)!.subject)
    for (const [subject, size] of all) if (size >= limits.visitSumBytes) await addUp(sql, subject, month.at, month.ends)
    await sql.query(
      `insert into visit_sums_made values ($1, $2, $3) on conflict (at) do update set subject = excluded.subject, is_done = excluded.is_done`,
      [month.at, [...all.keys()].at(-1) ?? month.subject, isDone],
    )
    return { rows: days.length, more: true }
  }

async function addUp(sql: Sql, subject: string, at: Date, ends: Date): Promise<void> {
  const days = await sql.query<Record<Dimension, Buffer | null> & { total: number }>(
    `select total, ${dimensions.join(', ')} from visit_days where subject = $1 and at >= $2 and at < $3`,
    [subject, at, ends],
  )
  const sums = dimensions.map((name) => {
    const cells: Cells = new Map()
    for (const day of days) unpack(day[name], cells)
    return cells.size === 0 ? null : pack(cut(cells, limits.visitSumValues))
  })
  const total = days.reduce((sum, day) => sum + day.total, 0)
  await sql.query(
    `insert into visit_sums (subject, at, ends, total, ${dimensions.join(', ')})
     values ($1, $2, $3, $4, ${dimensions.map((_, n) => `$${n + 5}`).join(', ')}) on conflict do nothing`,
    [subject, at, ends, total, ...sums],
  )
}

/** Of months whose days are gone, or go. */
export const removeOldSums =
  (terms: Terms) =>
  async (sql: Sql, size: number): Promise<Step> => {
    const gone = await sql.query(
      `delete from visit_sums as row using (
         select subject, at from visit_sums where at < (select ${linesOf(terms, '$1').days}) limit $2
       ) as old where row.subject = old.subject and row.at = old.at returning 1`,
      [terms.visitsTz, size],
    )
    return { rows: gone.length, more: gone.length === size }
  }

export interface MonthSum {
  readonly at: Date
  readonly ends: Date
  readonly cells: string | null
}

/** Whole months of the time that still hold, in their order. */
export const sumsOf = (sql: Sql, column: Dimension, subject: string, from: Date, to: Date): Promise<MonthSum[]> =>
  sql.query<MonthSum>(
    `select at, ends, encode(${column}, 'base64') as cells from visit_sums as sums
     where subject = $1 and at >= $2 and ends <= $3
       and total = (select sum(total) from visit_days as day where day.subject = $1 and day.at >= sums.at and day.at < sums.ends)
     order by at`,
    [subject, from, to],
  )
