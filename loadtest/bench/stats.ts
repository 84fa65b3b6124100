// What statistics of a year cost: 100,000 links with 10 million visits, all questions about one link, a tag and a tenant, and what one second of
// visits costs to keep. In milliseconds of Postgres, of the way there and of the work on what it answers.
//   npm run -s bench:stats        LINKS=10000 VISITS=1000000 for less; LINKS=2 VISITS=1300000 for the busiest link alone
// The year is written as rows in the form that the fold leaves: hours of the last 90 days, days of all. What is folded afterwards is
// folded as a server does it.
// Long because it makes the year that it asks about.
import { limits } from '../../server/limits.ts'
import type { Sql } from '../../server/connections/postgres.ts'
import { upkeep } from '../../server/links/upkeep.ts'
import {
  dimensions,
  merged,
  pack as packed,
  type Cell,
  type HourOfVisits,
  type LinkVisits,
} from '../../server/visits/batch.ts'
import { add, cellsOf, cut, pack } from '../../server/visits/cells.ts'
import { foldVisits } from '../../server/visits/fold.ts'
import { encode } from '../../server/visits/hyperloglog.ts'
import { usualTerms } from '../../server/visits/keep.ts'
import { additions, figures, subjectOf, type More } from '../../server/visits/rows.ts'
import { askStats, units, type Question } from '../../server/visits/stats.ts'
import { cpuSeconds } from '../measure/cpu.ts'
import { quantile } from '../measure/stats.ts'
import { timed } from './beside.ts'
import { openStand } from './stand.ts'

const links = Number(process.env['LINKS'] ?? 100_000)
const visits = Number(process.env['VISITS'] ?? 10_000_000)
const days = 365
const hoursDays = 90
const rounds = 11
const [hourMs, dayMs] = [3_600_000, 86_400_000]
const bounds = { link: 50, tag: 300, tenant: 300 }
/** Seconds that a busy server folds at once. */
const secondsAtOnce = 5

/** The same numbers in every run (mulberry32). */
let seed = 18
function random(): number {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}
/** Of `n`, the first ones most often: the k-th as often as 1/k. */
const zipf = (n: number): number => Math.min(n - 1, Math.floor((n + 1) ** random()) - 1)

const several = (name: string, n: number) => (): string => `${name} ${zipf(n)}`
/** What a visit says: about six of eleven things. */
const says: readonly [number, number, () => string][] = [
  [0, 0.6, () => `www${zipf(2000)}.some-site.example`],
  [1, 0.15, several('source', 30)],
  [2, 0.15, several('medium', 8)],
  [3, 0.1, several('campaign', 200)],
  [4, 0.95, () => ['US', 'DE', 'FR', 'GB', 'IN', 'BR', 'JP', 'NL', 'ES', 'IT', ...countries][zipf(150)] ?? 'US'],
  [5, 0.98, several('Browser', 40)],
  [6, 0.98, several('System', 8)],
  [7, 0.98, () => ['mobile', 'desktop', 'tablet', 'other'][zipf(4)] ?? 'other'],
  [
    8,
    0.95,
    () => ['en', 'de', 'fr', 'es', 'pt', 'ja', 'zh', 'it', 'nl', 'pl', 'ru', 'sv', 'tr', 'ko', 'ar'][zipf(15)] ?? 'en',
  ],
  [10, 0.05, () => `rule ${1 + zipf(3)}`],
]
const countries = Array.from({ length: 140 }, (_, n) => String.fromCharCode(65 + (n % 26), 65 + Math.floor(n / 6)))

const tenantOf = (link: number): string => (link % 2 === 0 ? 'large' : `team-${link % 40}`)
const tagOf = (link: number): number => 1 + (link % 50)

await using stand = await openStand()
const { sql } = stand
await stand.migrate()
const today = Math.floor(Date.now() / dayMs) * dayMs
await prepare(sql)
const beganMs = performance.now()
await loadYear(sql, today)
await sql.query('vacuum analyze')
console.log(
  `${links.toLocaleString('en')} links with ${visits.toLocaleString('en')} visits of a year, as rows in the form of the fold, in ${((performance.now() - beganMs) / 1000).toFixed(0)} s`,
)
const addedMs = performance.now()
const { visitSums } = await upkeep(sql, (task, error) => console.error(task, error))
await sql.query('vacuum analyze visit_sums')
console.log(
  `the upkeep looked at ${visitSums.toLocaleString('en')} rows of days for sums of months, in ${((performance.now() - addedMs) / 1000).toFixed(0)} s with all else that it does`,
)
await sizes(sql)
await questions(sql, today)
await seconds(sql)

async function prepare(sql: Sql): Promise<void> {
  await sql.query(`select ql_visit_partitions(now() - interval '400 days', now() + interval '28 days')`)
  await sql.query(
    `insert into tenants (id, name, tier) select id, id, 'unlimited' from unnest(array['large'] || array(select 'team-' || n from generate_series(1, 39, 2) as n)) as id`,
  )
  await sql.query(
    `insert into tags (tenant, key, name) select 'large', 'tag-' || n, 'Tag ' || n from generate_series(1, 50) as n`,
  )
  for (let first = 0; first < links; first += 50_000) {
    await sql.query(
      `with made as (
         insert into links (code, url, tenant) select 'stats-' || n, 'https://example.org/', case when n % 2 = 0 then 'large' else 'team-' || n % 40 end
         from generate_series($1::bigint, $2::bigint) as n order by n returning id, created_at, substr(code, 7)::bigint as n
       ) insert into link_tags (tag_id, link_id, created_at) select 1 + n % 50, id, created_at from made`,
      [first, Math.min(links, first + 50_000) - 1],
    )
  }
}

/** Days that people visit. */
async function loadYear(sql: Sql, today: number): Promise<void> {
  const [first] = await sql.query<{ id: number }>('select min(id) as id from links')
  for (let ago = days; ago >= 1; ago--) {
    const dayAt = today - ago * dayMs
    const [byDay, byHour] = [additions(), additions()]
    const people = new Map<string, number>()
    for (let n = Math.round(visits / days); n > 0; n--) {
      const link = zipf(links)
      const isPerson = random() < 0.9
      const said: Cell[] = [[9, isPerson ? 'person' : 'bot', 1, isPerson ? 1 : 0]]
      for (const [dimension, share, value] of says)
        if (random() < share) said.push([dimension, value(), 1, isPerson ? 1 : 0])
      const hourAt = dayAt + Math.floor(random() * 24) * hourMs
      for (const subject of [
        subjectOf.link(first!.id + link),
        subjectOf.tag(tagOf(link)),
        subjectOf.tenant(tenantOf(link)),
      ]) {
        for (const row of [byDay.of(subject, dayAt), ...(ago <= hoursDays ? [byHour.of(subject, hourAt)] : [])]) {
          row.total++
          row.detailed++
          row.people += isPerson ? 1 : 0
          for (const [dimension, value, total, more] of said)
            add((row.cells[dimension] ??= cellsOf()), value, total, more)
        }
        if (isPerson) people.set(subject, (people.get(subject) ?? 0) + 1)
      }
    }
    await insert(sql, 'visit_days', byDay.sorted)
    await insert(sql, 'visit_hours', byHour.sorted)
    const names = [...people.keys()].sort()
    const registers = names.map((name) =>
      ago > 14
        ? null
        : Buffer.from(encode(Array.from({ length: people.get(name)! }, () => (Math.floor(random() * 4096) << 6) | 3))),
    )
    await sql.query(`insert into visit_visitors select unnest($1::text[]), $2, unnest($3::integer[]), false, unnest($4::bytea[])`, [names, new Date(dayAt), names.map((name) => people.get(name)), registers]) // prettier-ignore
  }
}

async function insert(sql: Sql, table: string, rows: readonly More[]): Promise<void> {
  for (let from = 0; from < rows.length; from += 5000) {
    const some = rows.slice(from, from + 5000)
    await sql.query(
      `insert into ${table} (subject, at, ${figures.join(', ')}, ${dimensions.join(', ')})
       select * from unnest($1::text[], $2::timestamptz[], ${figures.map((_, n) => `$${n + 3}::bigint[]`).join(', ')}, ${dimensions.map((_, n) => `$${n + 7}::bytea[]`).join(', ')})`,
      [
        some.map(({ subject }) => subject),
        some.map(({ atMs }) => new Date(atMs)),
        ...figures.map((name) => some.map((row) => row[name])),
        ...dimensions.map((_, dimension) =>
          some.map(({ cells }) => (cells[dimension] ? pack(cut(cells[dimension], limits.visitValues)) : null)),
        ),
      ],
    )
  }
}

async function sizes(sql: Sql): Promise<void> {
  console.log('\n| table | rows | MB, with its indexes | bytes a row |\n|---|---|---|---|')
  for (const table of ['visit_hours', 'visit_days', 'visit_visitors', 'visit_sums']) {
    const [size] = await sql.query<{ bytes: number; rows: number }>(
      `select coalesce((select sum(pg_total_relation_size(relid))::bigint from pg_partition_tree('${table}')), pg_total_relation_size('${table}')) as bytes, (select count(*) from ${table}) as rows`,
    )
    console.log(
      `| ${table} | ${size!.rows.toLocaleString('en')} | ${(size!.bytes / 1e6).toFixed(0)} | ${(size!.bytes / size!.rows).toFixed(0)} |`,
    )
  }
  const [active] = await sql.query<{
    months: number
    hours: number
    days: number
    visits: number
    values: number
    texts: number
  }>(
    `select (select count(*) from (select distinct subject, date_trunc('month', at) from visit_days where subject like 'l/%') as m) as months,
       (select sum(pg_column_size(h.*))::bigint from visit_hours as h where subject like 'l/%') as hours,
       (select sum(pg_column_size(d.*))::bigint from visit_days as d where subject like 'l/%') as days,
       (select sum(total)::bigint from visit_days where subject like 'l/%') as visits`,
  )
  const { months, visits: counted } = active!
  const bytes = await sql.query<{ table: string; bytes: number }>(
    `select inhparent::regclass::text as table, sum(pg_total_relation_size(inhrelid))::bigint as bytes from pg_inherits where inhparent in ('visit_hours'::regclass, 'visit_days'::regclass, 'visit_visitors'::regclass) group by 1`,
  )
  const of = (table: string): number => bytes.find((row) => row.table === table)?.bytes ?? 0
  const hourMonths = months * (hoursDays / days)
  console.log(
    `\n${months.toLocaleString('en')} months of links with ${(counted / months).toFixed(1)} visits each: ${((of('visit_days') + of('visit_visitors')) / months).toFixed(0)} bytes of days and visitors a month, ` +
      `and ${(of('visit_hours') / hourMonths).toFixed(0)} of hours for 90 days`,
  )
}

async function questions(sql: Sql, today: number): Promise<void> {
  const [first] = await sql.query<{ id: number }>('select min(id) as id from links')
  const subjects: [name: string, subject: string, bound: number][] = [
    ['the link with the most visits', subjectOf.link(first!.id), bounds.link],
    ['the 100th link', subjectOf.link(first!.id + 99), bounds.link],
    ['the link in the middle', subjectOf.link(first!.id + Math.floor(links / 2)), bounds.link],
    ['a tag', subjectOf.tag(1), bounds.tag],
    ['the tenant with half of all links', subjectOf.tenant('large'), bounds.tenant],
  ]
  const ago = (n: number): Date => new Date(today - n * dayMs)
  const times: [name: string, question: Pick<Question, 'from' | 'to' | 'by' | 'timeZone'>][] = [
    ['30 days by the day', { from: ago(30), to: new Date(), by: 'day', timeZone: 'Europe/Berlin' }],
    ['90 days by the hour', { from: ago(89), to: new Date(), by: 'hour', timeZone: 'UTC' }],
    ...units
      .slice(1)
      .map((by): [string, (typeof times)[0][1]] => [
        `the year by the ${by}`,
        { from: ago(365), to: new Date(), by, timeZone: 'America/New_York' },
      ]),
    [
      'a week within',
      { from: new Date(today - 40.3 * dayMs), to: new Date(today - 33.4 * dayMs), by: 'hour', timeZone: 'UTC' },
    ],
  ]
  const slow: string[] = []
  console.log(
    `\n| whose | time | median, ms | maximum, ms | its CPU, Postgres and here, ms | its dimension |\n|---|---|---|---|---|---|`,
  )
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000 + cpuSeconds(stand.postgres.pid) * 1000
  }
  for (const [whose, subject, bound] of subjects) {
    for (const [time, question] of times) {
      let worst = { median: 0, most: 0, cpu: 0, dimension: '' }
      for (const dimension of dimensions) {
        const beforeMs = cpuMs()
        const ms = await timed(rounds, (n) =>
          askStats(sql, usualTerms, { ...question, subject, dimension, people: n % 2 === 0 }),
        )
        const median = quantile(ms, 0.5)
        if (median > worst.median)
          worst = { median, most: Math.max(...ms), cpu: (cpuMs() - beforeMs) / rounds, dimension }
      }
      if (worst.median > bound) slow.push(`${whose}, ${time}`)
      console.log(
        `| ${whose} | ${time} | ${worst.median.toFixed(1)} | ${worst.most.toFixed(0)} | ${worst.cpu.toFixed(0)} | ${worst.dimension} |`,
      )
    }
  }
  console.log(
    slow.length === 0
      ? `\nthe slowest dimension of every question, median of ${rounds}: a link within ${bounds.link} ms, tags and tenants within ${bounds.tenant} ms`
      : `\nnot within ${bounds.link} ms for a link and ${bounds.tenant} ms for others: ${slow.join('; ')}`,
  )
}

/** Seconds with 2,000 visits that were looked at, as one worker sends them. */
async function seconds(sql: Sql): Promise<void> {
  const [first] = await sql.query<{ id: number }>('select min(id) as id from links')
  const fold = foldVisits('UTC')
  const hour = Math.floor(Date.now() / hourMs) * hourMs
  const second = (linkOf: (n: number) => number): HourOfVisits[] => {
    const byLink = new Map<number, Map<string, Cell>>()
    const clicks = new Map<number, number>()
    for (let n = 0; n < 2000; n++) {
      const link = first!.id + linkOf(n)
      const cells = byLink.get(link) ?? new Map<string, Cell>()
      byLink.set(link, cells)
      clicks.set(link, (clicks.get(link) ?? 0) + 1)
      const said: [number, string][] = [[9, 'person']]
      for (const [dimension, share, value] of says) if (random() < share) said.push([dimension, value()])
      for (const [dimension, value] of said) {
        const [, , before] = cells.get(`${dimension} ${value}`) ?? [0, '', 0]
        cells.set(`${dimension} ${value}`, [dimension, value, before + 1, before + 1])
      }
    }
    const all = Array.from(byLink, ([linkId, cells]): LinkVisits => {
      const total = clicks.get(linkId)!
      const visitors = encode(Array.from({ length: total }, () => (Math.floor(random() * 4096) << 6) | 3))
      return {
        linkId,
        total,
        people: total,
        withheld: 0,
        detailed: total,
        atLeast: false,
        visitors,
        cells: [...cells.values()],
      }
    })
    return [{ hourMs: hour, links: all }]
  }
  const kinds: [name: string, linkOf: (n: number) => number][] = [
    ['of one link', () => 0],
    ['of links as they are popular', () => zipf(links)],
    ['of 2,000 links', (n) => (n * 7) % links],
  ]
  console.log(
    '\n| 2,000 visits a second | folded together | links in all | median, ms | Postgres, µs of CPU a visit | this process, µs of CPU a visit |\n|---|---|---|---|---|---|',
  )
  for (const [name, linkOf] of kinds) {
    const some = Array.from({ length: 25 }, () => second(linkOf))
    for (const together of [1, secondsAtOnce]) {
      const parts = Array.from({ length: 25 / together }, (_, n) => some.slice(n * together, (n + 1) * together).flat())
      const send = async (part: readonly HourOfVisits[]): Promise<number> => {
        const hours = await merged(part.map(({ hourMs, links }) => ({ hourMs, visits: packed(links) })))
        await stand.sql.transaction((own) => fold(own, hours))
        return hours.reduce((sum, { links }) => sum + links.length, 0)
      }
      // Its rows are there, as they are in any second of an hour but the first.
      const rows = await send(some.flat())
      const postgres = cpuSeconds(stand.postgres.pid)
      const own = process.cpuUsage()
      const ms = await timed(parts.length, (n) => send(parts[n]!))
      const perVisit = 1e6 / (2000 * some.length)
      const { user, system } = process.cpuUsage(own)
      console.log(
        `| ${name} | ${together} s | ${rows.toLocaleString('en')} | ${quantile(ms, 0.5).toFixed(0)} | ${((cpuSeconds(stand.postgres.pid) - postgres) * perVisit).toFixed(1)} | ${(((user + system) / 1e6) * perVisit).toFixed(1)} |`,
      )
    }
  }
}
