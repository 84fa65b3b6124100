// The clicks of a link over time: by the hour while they are young, by the day and by the month when they are old, so that
// a link's rows stay a few thousand however long it lives.
//
// Age alone decides how finely clicks are told, so an answer is the same before and after they are folded, and folding may
// stop and go on at any row. Late clicks of a folded hour make a row of that hour again, which the next fold takes. Totals
// are the sum of the rows (migration 0004), and so they stay as they are.
import { limits } from '../limits.ts'
import type { IndexSpec } from '../connections/indexes.ts'
import type { Sql } from '../connections/postgres.ts'

const hourInUtc = `hour at time zone 'UTC'`
/** Days that are over for so long. Not now(): a test can be at the end of a month. */
const dayLine = `date_trunc('day', ql_now() - make_interval(days => ${limits.clickHoursDays}), 'UTC')`
const monthLine = `date_trunc('month', ql_now() - make_interval(months => ${limits.clickDaysMonths}), 'UTC')`

/** What is to be folded stands in an index of its own: rows that are not yet the first of their day, or of their month. */
const folds = {
  day: { rows: `date_trunc('day', ${hourInUtc}) <> ${hourInUtc}`, line: dayLine },
  month: {
    rows: `date_trunc('day', ${hourInUtc}) = ${hourInUtc} and date_trunc('month', ${hourInUtc}) <> ${hourInUtc}`,
    line: monthLine,
  },
} as const

export const clickIndexes: readonly IndexSpec[] = [
  { name: 'clicks_to_fold_into_days', definition: `on clicks (hour) where ${folds.day.rows}` },
  { name: 'clicks_to_fold_into_months', definition: `on clicks (hour) where ${folds.month.rows}` },
]

export interface ClicksQuery {
  readonly linkId: number
  readonly from: Date
  readonly to: Date
  readonly by: 'hour' | 'day'
}

/**
 * Buckets without a click are left out. The bucket that `from` falls into counts whole. What is told by the day or by the
 * month only is one bucket, at its first hour.
 */
export const readClicks = (sql: Sql, query: ClicksQuery): Promise<{ at: Date; clicks: number }[]> =>
  sql.query(
    `with lines as materialized (select ${dayLine} as day, ${monthLine} as month),
     asked as materialized (
       select date_trunc(case when $2 < month then 'month' when $2 < day then 'day' else $4 end, $2::timestamptz, 'UTC') as first
       from lines
     ),
     told as (
       select hour, clicks, hour < day as is_old,
         date_trunc(case when hour < month then 'month' when hour < day then 'day' else $4 end, hour, 'UTC') as at
       from lines, clicks
       where link_id = $1 and hour >= (select first from asked) and hour < $3::timestamptz + interval '1 month'
     )
     select at, sum(clicks)::bigint as clicks from told
     where case when is_old then at else hour end < $3
     group by at order by at`,
    [query.linkId, query.from, query.to, query.by],
  )

/** How many rows were worked off, and whether there may be more. */
export interface Step {
  readonly rows: number
  readonly more: boolean
}

/**
 * In the order of whoever counts: rows of clicks first, then totals by their ids. Rows that somebody is writing are left
 * for the next time.
 */
const fold =
  (unit: keyof typeof folds) =>
  async (sql: Sql, size: number): Promise<Step> => {
    const old = await sql.query<ClickKey>(
      `select link_id as "linkId", hour from clicks
       where ${folds[unit].rows} and hour < (select ${folds[unit].line}) order by hour limit $1 for update skip locked`,
      [size],
    )
    await lockTotals(sql, old)
    await sql.query(
      `with gone as (${deletion} returning clicks.link_id, clicks.hour, clicks.clicks)
       insert into clicks select link_id, date_trunc($3, hour, 'UTC') as first, sum(clicks) from gone group by 1, 2 order by 1, 2
       on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`,
      [...columnsOf(old), unit],
    )
    return { rows: old.length, more: old.length === size }
  }
export const foldIntoDays = fold('day')
export const foldIntoMonths = fold('month')

/** Links that are gone, a few at a time; each leaves the list when none of its clicks is left. */
export async function removeDeadClicks(sql: Sql, size: number): Promise<Step> {
  const dead = await sql.query<{ id: number }>('select id from dead_links order by id limit 100 for update skip locked')
  const ids = dead.map(({ id }) => id)
  const rows = await sql.query<ClickKey>(
    'select link_id as "linkId", hour from clicks where link_id = any ($1) limit $2 for update skip locked',
    [ids, size],
  )
  await lockTotals(sql, dead.map(({ id }) => ({ linkId: id }))) // prettier-ignore
  await sql.query(deletion, columnsOf(rows))
  // Clicks that arrive from now on find no total, and bring their link back into the list.
  const done = await sql.query(
    `with over as (
       delete from dead_links where id = any ($1) and not exists (select from clicks where link_id = id) returning id
     ), forgotten as (
       delete from click_totals using over where link_id = id
     )
     select id from over`,
    [ids],
  )
  return { rows: rows.length, more: rows.length + done.length > 0 }
}

interface ClickKey {
  readonly linkId: number
  readonly hour: Date
}

const deletion = `delete from clicks using unnest($1::bigint[], $2::timestamptz[]) as old (link_id, hour)
  where clicks.link_id = old.link_id and clicks.hour = old.hour`

const columnsOf = (keys: readonly ClickKey[]): [number[], Date[]] => [
  keys.map(({ linkId }) => linkId),
  keys.map(({ hour }) => hour),
]

const lockTotals = (sql: Sql, keys: readonly { readonly linkId: number }[]): Promise<unknown> =>
  sql.query('select from click_totals where link_id = any ($1) order by link_id for update', [
    [...new Set(keys.map(({ linkId }) => linkId))],
  ])
