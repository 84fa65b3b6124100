// Answers about visits. What is old is told by the day, what is very old by the month, each at its beginning in VISITS_TZ: age alone decides, so
// an answer is the same before and after the upkeep has been there. Whole days are read as days, what is left of the time by the hour.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { otherValue, type Dimension } from './batch.ts'
import { cut, unpack, type Cells, type Count } from './cells.ts'
import { estimate } from './hyperloglog.ts'
import { linesOf, type Terms } from './keep.ts'
import { figures, type Figures } from './rows.ts'
import { sumsOf } from './sums.ts'

export const units = ['hour', 'day', 'week', 'month'] as const
export type Unit = (typeof units)[number]

export interface Question {
  readonly subject: string
  readonly from: Date
  readonly to: Date
  readonly by: Unit
  /** Of the series. Of what is kept it is VISITS_TZ. */
  readonly timeZone: string
  readonly dimension: Dimension
  /** The top is that of the people's values. */
  readonly people: boolean
}

/** The times of a question, as rows have them. */
interface Span {
  /** Of the time, and of that before it: as far back as the row goes that it falls into. */
  readonly from: Date
  readonly before: Date
  /** From when on there are hours, and days. */
  readonly hours: Date
  readonly days: Date
  /** The whole days in it. */
  readonly firstDay: Date
  readonly lastDay: Date
}

const dayOf = (at: string, zone: string): string => `ql_full_hour(date_trunc('day', ${at}, ${zone}))`
const nextDayOf = (at: string, zone: string): string =>
  `ql_full_hour((date_trunc('day', ${at} at time zone ${zone}) + interval '1 day') at time zone ${zone})`

function spanOf(sql: Sql, terms: Terms, { from, to }: Question): Promise<Span> {
  const lines = linesOf(terms, '$3')
  const beginning = (at: string): string =>
    `case when ${at} < days then ql_full_hour(date_trunc('month', ${at}, $3)) when ${at} < hours then ${dayOf(at, '$3')}
       else date_trunc('hour', ${at}, 'UTC') end`
  return sql
    .query<Span>(
      `with lines as materialized (select ${lines.hours} as hours, ${lines.days} as days),
       asked as materialized (
         select *, ${beginning('$1::timestamptz')} as "from", ${beginning('($1::timestamptz - ($2::timestamptz - $1::timestamptz))')} as before from lines
       )
       select *, case when "from" < hours or "from" = ${dayOf('"from"', '$3')} then "from" else ${nextDayOf('"from"', '$3')} end as "firstDay",
         case when $2 <= hours then $2 else ${dayOf('$2::timestamptz', '$3')} end as "lastDay"
       from asked`,
      [from, to, terms.visitsTz],
    )
    .then(([span]) => span as Span)
}

const hourMs = 3_600_000

const none = (): Figures => ({ total: 0, people: 0, withheld: 0, detailed: 0 })

/** Of a subject from a time on, each row once: hours where there are hours, else days, else months, also those that will be folded soon. */
const rowsFrom = (columns: string): string => `
  select at, ${columns} from visit_hours where subject = $1 and at >= greatest($2::timestamptz, $4::timestamptz) and at < $3
  union all select at, ${columns} from visit_days where subject = $1 and at >= $2 and at < least($3::timestamptz, $4::timestamptz)
  union all select at, ${columns} from visit_months where subject = $1 and at >= $2 and at < $3`

interface Bucket {
  readonly at: Date
  readonly total: number
  readonly people: number
}

async function seriesOf(
  sql: Sql,
  question: Question,
  span: Span,
): Promise<{ series: Bucket[]; sums: Figures; isShifted: boolean }> {
  const sums = figures.map((name) => `coalesce(sum(${name}), 0)::bigint as ${name}`).join(', ')
  const bucket = (at: string): string => `date_trunc($5, ${at}, $6)`
  // An hour is the same everywhere.
  const zone = question.by === 'hour' ? 'UTC' : question.timeZone
  const step = { hour: '1 hour', day: '6 hours', week: '1 day', month: '1 day' }[question.by]
  const rows = await sql.query<Figures & { bucket: Date }>(
    `with told as materialized (${rowsFrom(figures.join(', '))}),
     counted as (select ${bucket('at')} as bucket, ${sums} from told group by 1),
     buckets as (
       select ${bucket('at')} as bucket from generate_series($2::timestamptz, $3::timestamptz - interval '1 microsecond', interval '${step}') as at
       union select ${bucket(`$3::timestamptz - interval '1 microsecond'`)}
     )
     select bucket, ${figures.map((name) => `coalesce(${name}, 0) as ${name}`).join(', ')}
     from buckets left join counted using (bucket) order by 1`,
    [question.subject, span.from, question.to, span.hours, question.by, zone],
  )
  const all = none()
  for (const row of rows) for (const figure of figures) all[figure] += row[figure]
  // As `ql_full_hour` has it, which takes longer for some thousand rows than all the rest.
  const fullHour = (at: Date): Date => new Date(Math.ceil(at.getTime() / hourMs) * hourMs)
  return {
    series: rows.map(({ bucket: at, total, people }) => ({ at: fullHour(at), total, people })),
    sums: all,
    isShifted: rows.some(({ bucket }) => bucket.getTime() % hourMs !== 0),
  }
}

async function sumsBefore(sql: Sql, { subject }: Question, span: Span): Promise<Count> {
  const [row] = await sql.query<Count>(
    `select coalesce(sum(total), 0)::bigint as total, coalesce(sum(people), 0)::bigint as people from (${rowsFrom('total, people')}) as told`,
    [subject, span.before, span.from, span.hours],
  )
  return row ?? { total: 0, people: 0 }
}

/** Some rows at a time, in their order. Postgres has the next ones ready while these are added up. */
async function* cellsIn(
  sql: Sql,
  column: Dimension,
  table: string,
  subject: string,
  from: Date,
  to: Date,
): AsyncGenerator<readonly Buffer[]> {
  // Two thirds of what it would be as Postgres writes bytes.
  const text = `select at, encode(${column}, 'base64') as cells from ${table} where subject = $1 and at > $2 and at >= $3 and at < $4 order by at limit ${limits.statsRows}`
  const read = (after: Date) => sql.query<{ at: Date; cells: string | null }>(text, [subject, after, from, to])
  for (let next = read(new Date(from.getTime() - 1)); ;) {
    const rows = await next
    const last = rows.length < limits.statsRows ? undefined : rows.at(-1)
    if (last) next = read(last.at)
    yield rows.flatMap(({ cells }) => (cells === null ? [] : Buffer.from(cells, 'base64')))
    if (!last) return
  }
}

async function valuesOf(
  sql: Sql,
  { subject, dimension, to }: Question,
  { from, hours, firstDay, lastDay }: Span,
): Promise<Cells> {
  const latest = (...dates: Date[]): Date => new Date(Math.max(...dates.map(Number)))
  const earliest = (...dates: Date[]): Date => new Date(Math.min(...dates.map(Number)))
  const days = { from: firstDay, to: latest(firstDay, lastDay) }
  const months = await sumsOf(sql, dimension, subject, days.from, days.to)
  const parts: [table: string, from: Date, to: Date][] = [
    ['visit_months', from, to],
    // What no month has.
    ...[...months, undefined].map((month, n): [string, Date, Date] => [
      'visit_days',
      months[n - 1]?.ends ?? days.from,
      month?.at ?? days.to,
    ]),
    ['visit_hours', latest(from, hours), earliest(days.from, to)],
    ['visit_hours', latest(days.to, hours), to],
  ]
  let cells: Cells = new Map()
  const add = (rows: readonly Buffer[]): void => {
    for (const row of rows) unpack(row, cells)
    cells = cut(cells, limits.statsValues)
  }
  add(months.flatMap((month) => (month.cells === null ? [] : Buffer.from(month.cells, 'base64'))))
  for (const [table, first, end] of parts) {
    if (first >= end) continue
    for await (const some of cellsIn(sql, dimension, table, subject, first, end)) add(some)
  }
  return cells
}

async function visitorsOf(sql: Sql, subject: string, from: Date, to: Date) {
  const rows = await sql.query<{ visitors: number; atLeast: boolean; registers: Buffer | null }>(
    `select visitors, at_least as "atLeast", registers from visit_visitors
     where subject = $1 and at >= date_trunc('day', $2::timestamptz, 'UTC') and at < $3`,
    [subject, from, to],
  )
  return {
    visitors: rows.reduce(
      (sum, { visitors, registers }) => sum + Math.max(visitors, registers ? estimate(registers) : 0),
      0,
    ),
    atLeast: rows.some(({ atLeast }) => atLeast),
  }
}

/** Of a share that was estimated from some of many: 95 of 100 such figures are not further off. */
function errorOf(count: number, { total, detailed }: Figures): number {
  if (detailed === 0 || detailed >= total) return 0
  const share = Math.min(1, count / total)
  const spared = (total - detailed) / Math.max(1, total - 1)
  return Math.ceil(1.96 * total * Math.sqrt(((share * (1 - share)) / detailed) * spared))
}

export interface Value extends Count {
  readonly value: string
  readonly error: number
}

/** What is known of a subject. */
export async function askStats(sql: Sql, terms: Terms, question: Question) {
  const span = await spanOf(sql, terms, question)
  const { series, sums, isShifted } = await seriesOf(sql, question, span)
  const cells = await valuesOf(sql, question, span)
  const visitors = await visitorsOf(sql, question.subject, span.from, question.to)
  const other = { total: 0, people: 0 }
  const unknown = { total: sums.total - sums.withheld, people: sums.people - sums.withheld }
  for (const { total, people } of cells.values()) {
    unknown.total -= total
    unknown.people -= people
  }
  const by = question.people ? 'people' : 'total'
  const values = [...cells]
    .filter(([value]) => value !== otherValue)
    .sort(([a, m], [b, n]) => n[by] - m[by] || (a < b ? -1 : 1))
  const top = values
    .slice(0, limits.statsTop)
    .map(([value, count]): Value => ({ value, ...count, error: errorOf(count.total, sums) }))
  for (const [, { total, people }] of [
    ...values.slice(limits.statsTop),
    ...[...cells].filter(([value]) => value === otherValue),
  ]) {
    other.total += total
    other.people += people
  }
  return {
    ...sums,
    visitors: visitors.visitors,
    atLeast: visitors.atLeast || sums.detailed < sums.total,
    series,
    top,
    other,
    unknown,
    from: span.from,
    before: { from: span.before, ...(await sumsBefore(sql, question, span)) },
    isShifted,
    /** In days or months of another time zone than the one that was asked for. */
    isCoarse: span.from < span.hours && question.timeZone !== terms.visitsTz,
    isOld: span.from < span.hours,
  }
}

export type Stats = Awaited<ReturnType<typeof askStats>>
