// How long visits are kept, in small steps of the upkeep: hours, then days, then months. Every hour is in its day already when it comes, so hours
// that are old are dropped by the partition; days that are old become a part of their month first.
import { settings, type Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Step } from '../clicks/history.ts'
import type { Sql } from '../connections/postgres.ts'
import { dimensions } from './batch.ts'
import { cellsOf, unpack } from './cells.ts'
import { estimate } from './hyperloglog.ts'
import { addTo, additions, figures, makeRoom, type Figures } from './rows.ts'

export type Terms = Pick<Config, 'visitsTz' | 'visitsHoursDays' | 'visitsDaysMonths' | 'visitsMonthsYears'>

/** Where nobody has set them. */
export const usualTerms: Terms = {
  visitsTz: settings.visitsTz.fallback ?? 'UTC',
  visitsHoursDays: Number(settings.visitsHoursDays.fallback),
  visitsDaysMonths: Number(settings.visitsDaysMonths.fallback),
  visitsMonthsYears: Number(settings.visitsMonthsYears.fallback),
}

/** From when on there are hours, and days, as SQL: at the beginning of a day, and of a month, in the time zone that is its argument. */
export const linesOf = ({ visitsHoursDays, visitsDaysMonths }: Terms, zone: string) => ({
  hours: `ql_full_hour(date_trunc('day', ql_now() - make_interval(days => ${visitsHoursDays}), ${zone}))`,
  days: `ql_full_hour(date_trunc('month', ql_now() - make_interval(months => ${visitsDaysMonths}), ${zone}))`,
})

/** Does not wait long for those who write, who would wait behind it. */
const patiently = (sql: Sql): Promise<unknown> => sql.query(`set local lock_timeout = '${limits.visitLockMs}ms'`)

/** Those to come, and those of figures that may still arrive: this machine, or its database, may have been away. */
async function makePartitions(sql: Sql): Promise<Step> {
  await patiently(sql)
  const [made] = await sql.query<{ rows: number }>(
    `select ql_visit_partitions(ql_now() - make_interval(days => $2), ql_now() + make_interval(days => $1)) as rows`,
    [limits.visitPartitionsDays, limits.visitsLateDays + 1],
  )
  return { rows: made?.rows ?? 0, more: false }
}

/** One at a time: days only when all of them have gone into their months. */
const dropPartitions =
  (terms: Terms) =>
  async (sql: Sql): Promise<Step> => {
    await patiently(sql)
    const lines = linesOf(terms, '$1')
    const [old] = await sql.query<{ name: string; parent: string }>(
      `with parts as (
         select part.relname as name, parent.relname as parent,
           (regexp_match(pg_get_expr(part.relpartbound, part.oid), $$TO \\('([^']+)'\\)$$))[1]::timestamptz as ends
         from pg_inherits join pg_class as part on part.oid = inhrelid join pg_class as parent on parent.oid = inhparent
         where parent.relname in ('visit_hours', 'visit_days', 'visit_visitors', 'visit_months') and part.relkind = 'r'
       )
       select name, parent from parts where case parent
         when 'visit_hours' then ends <= ${lines.hours}
         when 'visit_months' then $2 > 0 and ends <= ql_now() - make_interval(years => $2)
         else ends <= ${lines.days} end
       order by parent = 'visit_days', name limit 1`,
      [terms.visitsTz, terms.visitsMonthsYears],
    )
    if (!old) return { rows: 0, more: false }
    const [gone] = await sql.query<{ dropped: boolean }>('select ql_drop_visit_partition($1) as dropped', [old.name])
    return gone?.dropped === true ? { rows: 1, more: true } : { rows: 0, more: false }
  }

type KeptDay = Figures & { subject: string; at: Date; month: Date } & Record<(typeof dimensions)[number], Buffer | null>

/** Days that are old, into their months. */
const foldVisitDays =
  (terms: Terms) =>
  async (sql: Sql, size: number): Promise<Step> => {
    await patiently(sql)
    // As many as are written at once: each may have 500 values of every dimension.
    const most = Math.min(size, limits.visitRows)
    const old = await sql.query<KeptDay>(
      `select *, ql_full_hour(date_trunc('month', at, $1)) as month from visit_days
       where at < (select ${linesOf(terms, '$1').days}) limit $2 for update skip locked`,
      [terms.visitsTz, most],
    )
    if (old.length === 0) return { rows: 0, more: false }
    const made = await sql.query<{ made: boolean }>(
      `select ql_visit_partition('visit_months', at) as made from (select distinct unnest($1::timestamptz[]) as at) as months`,
      [old.map(({ month }) => month)],
    )
    // Who writes waits for a new partition until this transaction ends.
    if (made.some((one) => one.made)) return { rows: 0, more: true }
    const months = additions()
    for (const day of old) {
      const month = months.of(day.subject, day.month.getTime())
      for (const figure of figures) month[figure] += day[figure]
      dimensions.forEach((name, dimension) => {
        if (day[name] !== null) unpack(day[name], (month.cells[dimension] ??= cellsOf()))
      })
    }
    const rows = months.sorted
    await makeRoom(sql, 'visit_months', rows)
    await addTo(sql, 'month', rows)
    await sql.query(
      `delete from visit_days using unnest($1::text[], $2::timestamptz[]) as old (subject, at)
       where visit_days.subject = old.subject and visit_days.at = old.at`,
      [old.map(({ subject }) => subject), old.map(({ at }) => at)],
    )
    return { rows: old.length, more: old.length === most }
  }

/** Days that nobody comes to any more keep the number of their visitors only. */
async function closeVisitors(sql: Sql, size: number): Promise<Step> {
  const open = await sql.query<{ subject: string; at: Date; registers: Buffer }>(
    `select subject, at, registers from visit_visitors
     where registers is not null and at < ql_now() - make_interval(days => $1) limit $2 for update skip locked`,
    [limits.visitsLateDays, size],
  )
  await sql.query(
    `update visit_visitors as row set visitors = greatest(row.visitors, more.visitors), registers = null
     from unnest($1::text[], $2::timestamptz[], $3::integer[]) as more (subject, at, visitors)
     where row.subject = more.subject and row.at = more.at`,
    [open.map(({ subject }) => subject), open.map(({ at }) => at), open.map(({ registers }) => estimate(registers))],
  )
  return { rows: open.length, more: open.length === size }
}

/** Links, tags and tenants that are gone, a few at a time. */
async function removeDeadVisits(sql: Sql, size: number): Promise<Step> {
  const dead = await sql.query<{ subject: string }>(
    'select subject from dead_visits order by subject limit 100 for update skip locked',
  )
  const names = dead.map(({ subject }) => subject)
  let removed = 0
  for (const table of ['visit_hours', 'visit_days', 'visit_months', 'visit_visitors', 'visit_sums']) {
    if (removed >= size) break
    const gone = await sql.query(
      `delete from ${table} as row using (
         select subject, at from ${table} where subject = any ($1) limit $2 for update skip locked
       ) as old where row.subject = old.subject and row.at = old.at returning 1`,
      [names, size - removed],
    )
    removed += gone.length
  }
  if (removed >= size) return { rows: removed, more: true }
  await sql.query('delete from dead_visits where subject = any ($1)', [names])
  return { rows: removed, more: names.length === 100 }
}

/** Of the upkeep, in this order. */
export const visitTasks = (terms: Terms) => ({
  visitPartitions: makePartitions,
  deadVisits: removeDeadVisits,
  visitDays: foldVisitDays(terms),
  visitsOld: dropPartitions(terms),
  visitRegisters: closeVisitors,
})
