// Who followed a link, a tag or all of a tenant: a few sums, a bar for each day, and the values of one dimension.
import { Option, type Command } from 'commander'
import { Complaint, tableOf } from './output.ts'
import { sessionOf } from './session.ts'

const units = ['hour', 'day', 'week', 'month'] as const
const dimensions = ['referrer', 'utm_source', 'utm_medium', 'utm_campaign', 'country', 'browser', 'os', 'device', 'language', 'bot', 'target'] as const // prettier-ignore

interface Wanted {
  readonly tag?: string
  readonly domain?: string
  readonly tenant?: string
  readonly by?: (typeof units)[number]
  readonly dimension?: (typeof dimensions)[number]
  readonly people?: true
  readonly from?: string
  readonly to?: string
  readonly tz?: string
  readonly csv?: true
}

interface Count {
  readonly total: number
  readonly people: number
}

interface Stats extends Count {
  readonly from: string
  readonly to: string
  readonly by: string
  readonly tz: string
  readonly dimension: string
  readonly visitors?: number | undefined
  readonly dailyVisitors?: number | undefined
  readonly atLeast: boolean
  readonly sampled: boolean
  readonly withheld: number
  readonly series: readonly (Count & { readonly at: string })[]
  readonly top: readonly (Count & { readonly value: string; readonly error: number })[]
  readonly other: Count
  readonly unknown: Count
  readonly before: Count
  readonly notes: readonly string[]
}

const shownValues = 15
const barWidth = 40

export function addStats(program: Command): void {
  program
    .command('stats [code]')
    .description('who followed a link; without one, all links of a tenant')
    .option('--tag <name>', 'of the links of a tag')
    .option('--domain <host>', 'of the link of this domain; else of the default one')
    .option('--tenant <id>', 'of one tenant, for the owner')
    .addOption(new Option('--by <unit>', 'how long a bar is').choices(units))
    .addOption(new Option('--dimension <name>', 'whose values are told').choices(dimensions))
    .option('--people', 'values by people, without bots')
    .option('--from <time>', 'like 2030-01-31T12:00:00Z; else 30 days before the end')
    .option('--to <time>', 'else now')
    .option('--tz <zone>', 'whose days they are, like Europe/Berlin; else UTC')
    .option('--csv', 'a table for spreadsheets')
    .action(async (code: string | undefined, { tag, domain, tenant, csv, ...asked }: Wanted, command: Command) => {
      if (code !== undefined && tag !== undefined) throw new Complaint('Name a link or a tag, not both.', 2)
      const { api, say } = sessionOf(command)
      // What the server is asked for is its own to judge: it says `true`, not true, in a query.
      const query = { ...asked, ...(asked.people ? { people: true } : {}) }
      const whose = { ...query, ...(tenant === undefined ? {} : { tenant }) }
      const form = csv ? ({ headers: { Accept: 'text/csv' }, parseAs: 'text' } as const) : {}
      const answer: unknown = await say.answer<unknown>(
        code !== undefined
          ? api.GET('/links/{code}/stats', { params: { path: { code }, query: { ...query, ...(domain === undefined ? {} : { domain }) } }, ...form })
          : tag !== undefined
            ? api.GET('/tags/{tag}/stats', { params: { path: { tag }, query: whose }, ...form })
            : api.GET('/stats', { params: { query: whose }, ...form }),
      )
      if (csv) process.stdout.write(String(answer))
      else say.made(answer as Stats, told(answer as Stats))
    }) // prettier-ignore
}

function told(stats: Stats): string {
  const { total, people, withheld, before, visitors, dailyVisitors, atLeast, sampled, series, notes } = stats
  if (total + before.total === 0)
    return ['Nobody has followed it in this time, nor in as long before.', ...notes].join('\n')
  const least = atLeast ? 'at least ' : ''
  const sums = [
    `${total} visits, ${people} of people${withheld > 0 ? ` (${withheld} of them withheld)` : ''}; ${before.total} in the time before`,
    visitors === undefined ? `${least}${dailyVisitors ?? 0} visitors, counted anew each day` : `${least}${visitors} visitors`,
  ] // prettier-ignore
  const most = Math.max(1, ...series.map((bucket) => bucket.total))
  const isHourly = stats.by === 'hour'
  const bars = series.map(({ at, total, people }) => ({
    [stats.by]: timeIn(at, stats.tz, isHourly),
    total,
    people,
    '': bar(total / most),
  }))
  const values = tableOf(valuesOf(stats), [stats.dimension, 'total', 'people', ...(sampled ? ['±'] : []), ''])
  return [sums.join('\n'), tableOf(bars, [stats.by, 'total', 'people', '']), values, ...notes].join('\n\n')
}

function valuesOf({ top, other, unknown, withheld, dimension, total }: Stats) {
  const rest = top.slice(shownValues).reduce((sum, value) => add(sum, value), other)
  const rows = [
    ...top.slice(0, shownValues).map(({ value, error, ...count }) => ({ name: value, ...count, error: String(error) })),
    { name: '(other)', ...rest, error: '' },
    { name: '(unknown)', ...unknown, error: '' },
    { name: '(withheld)', total: withheld, people: withheld, error: '' },
  ].filter((row, n) => row.total > 0 || n < Math.min(top.length, shownValues))
  return rows.map(({ name, error, ...count }) => ({
    ...{ [dimension]: name, ...count, '±': error },
    '': bar(count.total / Math.max(1, total)),
  }))
}

const add = (a: Count, b: Count): Count => ({ total: a.total + b.total, people: a.people + b.people })
const bar = (share: number): string => '█'.repeat(Math.round(share * barWidth)) || (share > 0 ? '▏' : '')

/** As the clock there shows it. */
function timeIn(at: string, timeZone: string, isHourly: boolean): string {
  const form = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', ...(isHourly ? { timeStyle: 'short' } : {}) })
  return form.format(new Date(at))
} // prettier-ignore
