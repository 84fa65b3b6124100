// What a page of links costs when there are a million, by each filter and each order, and which indexes it was read by; and what a create
// costs with these indexes and without. In milliseconds of Postgres and of the way there.
//   npm run -s bench:lists        LINKS=100000 for less
import { limits } from '../../server/limits.ts'
import type { Sql } from '../../server/connections/postgres.ts'
import type { Code } from '../../server/link.ts'
import { clickOrder } from '../../server/links/click-order.ts'
import { isPlain, listIndexes, listLinks, type ListQuery } from '../../server/links/list.ts'
import { createLeash } from '../../server/links/search.ts'
import { insertCustom } from '../../server/links/store.ts'
import { listTags } from '../../server/links/tags.ts'
import { quantile } from '../measure/stats.ts'
import { timed } from './beside.ts'
import { openStand } from './stand.ts'

const total = Number(process.env['LINKS'] ?? 1_000_000)
const chunk = 50_000
const rounds = 15
const boundMs = 50

/** Two tenants, 1,000 tags of which the first have most links, 20 keys; one link in 50 is disabled, in 20 has ended, in 200 begins later. */
const load = `with made as (
    insert into links (code, url, tenant, enabled, expires_at, starts_at, created_at)
    select 'bench-' || n, 'https://example.org/' || case when n % 100 = 0 then 'popular' else md5(n::text) end,
      case when n % 10 < 3 then 'acme' else 'owner' end, n % 50 <> 0,
      case when n % 20 = 1 then now() - interval '1 day' when n % 5 = 0 then now() + interval '1 year' end,
      case when n % 200 = 2 then now() + interval '1 month' end,
      now() - (($2::bigint - n) * interval '30 seconds')
    from generate_series($1::bigint, $1::bigint + ${chunk - 1}) as n where n <= $2::bigint
    returning id, code, tenant, created_at, substr(code, 7)::bigint as n
  ), detailed as (
    insert into link_details (link_id, tenant, created_at, updated_at, created_by, title, note)
    select id, tenant, created_at, created_at + (n % 1000) * interval '1 hour', 'key ' || (n / 7) % 20,
      case when n % 3 = 0 then 'Title of ' || md5((n + 7)::text) end, case when n % 10 = 0 then repeat('note ', 20) end from made
  ), tagged as (
    insert into link_tags (tag_id, link_id, created_at)
    select distinct tags.id, made.id, made.created_at from made
      cross join lateral (values (floor(1000 * power(hashtext(n::text)::bigint % 10007 / 10007.0, 4))), (n % 500)) as wanted (t)
      join tags on tags.tenant = made.tenant and tags.key = 'tag-' || abs(wanted.t::integer)
  )
  insert into click_totals select id, (power(abs(hashtext('c' || n)::bigint % 10007) / 10007.0, 8) * 100000)::bigint from made where n % 3 > 0`

interface Plan {
  readonly 'Index Name'?: string
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly Plans?: readonly Plan[]
}
const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)]

await using stand = await openStand()
const { sql } = stand
await stand.migrate()
await sql.query(`insert into tenants (id, name, tier) values ('acme', 'Acme', 'unlimited')`)
await sql.query(
  `insert into tags (tenant, key, name) select t.id, 'tag-' || n, 'Tag-' || n from tenants as t, generate_series(0, 999) as n`,
)
const beganMs = performance.now()
for (let first = 1; first <= total; first += chunk) await sql.query(load, [first, total])
const loadedMs = performance.now()
await stand.index()
const builtMs = performance.now()
const round = clickOrder({ orderStep: 1000, orderMs: 600_000 })
const { moved } = await round(sql)
const orderedMs = performance.now()
await sql.query('vacuum analyze')
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
console.log(
  `${total.toLocaleString('en')} links loaded in ${seconds(loadedMs - beganMs)}, indexes built in ${seconds(builtMs - loadedMs)}, ` +
    `${moved.toLocaleString('en')} places by clicks told in ${seconds(orderedMs - builtMs)}; medians and maxima of ${rounds}`,
)
await pages()
await creates()

async function pages(): Promise<void> {
  let asked: { text: string; values: readonly unknown[] } = { text: '', values: [] }
  const spy = (sql: Sql): Sql => ({
    query(text, values = []) {
      if (text.startsWith('with page')) asked = { text, values }
      return sql.query(text, values)
    },
  })
  const own = createLeash(sql)
  const leash: typeof own = (tenant, tooLong, work) => own(tenant, tooLong, (sql, matchOf) => work(spy(sql), matchOf))
  const half = new Date(Date.now() - total * 15_000)
  const filters: Record<string, Partial<ListQuery>> = {
    '': {},
    'tag (common)': { tag: 'tag-0' },
    'tag (rare)': { tag: 'tag-499' },
    createdBy: { createdBy: 'key 7' },
    'createdBefore (half)': { createdBefore: half },
    'url (common)': { url: 'https://example.org/popular' },
    'url (one)': { url: 'https://example.org/c4ca4238a0b923820dcc509a6f75849b' },
    'enabled=true': { enabled: true },
    'enabled=false': { enabled: false },
    'state=active': { state: 'active' },
    'state=expired': { state: 'expired' },
    'state=scheduled': { state: 'scheduled' },
    'q (rare)': { q: 'c4ca4238a0b9' },
    'q (title)': { q: 'title of c4c' },
    'q (in all)': { q: 'example' },
    'tag, createdBy': { tag: 'tag-0', createdBy: 'key 7' },
  }
  const slow: string[] = []
  console.log(
    '\n| whose | filter | sort | promised | first page, ms | a page far down, ms | indexes |\n|---|---|---|---|---|---|---|',
  )
  for (const scope of [null, 'acme']) {
    for (const [name, filter] of Object.entries(filters)) {
      for (const sort of ['newest', 'oldest', 'updated', 'clicks'] as const) {
        const query: ListQuery = { ...filter, scope, sort, limit: 20, after: undefined }
        const median = async (query: ListQuery): Promise<string> => {
          const ms: number[] = []
          for (let n = 0; n < rounds; n++) {
            const askedMs = performance.now()
            try {
              await listLinks(spy(sql), leash, 'owner', query)
            } catch (error) {
              if (isPlain(query)) slow.push(`${name} ${sort}`)
              return (error as Error).message.slice(0, 24)
            }
            ms.push(performance.now() - askedMs)
          }
          if (isPlain(query) && quantile(ms, 0.5) > boundMs) slow.push(`${name} ${sort}`)
          return `${quantile(ms, 0.5).toFixed(1)} (${Math.max(...ms).toFixed(0)})`
        }
        const first = await median(query)
        const [explained] = await sql.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
          `explain (format json) ${asked.text}`,
          asked.values,
        )
        const used = nodes(explained!['QUERY PLAN'][0].Plan)
        const indexes = new Set(
          used
            .map((node) => node['Index Name'])
            .filter((index) =>
              /^(links_by|links_dis|links_ena|details_by|link_tags_by|link_details_pkey|links_id_key)/.test(
                index ?? '',
              ),
            ),
        )
        const scans = used
          .filter((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] !== 'tags')
          .map((node) => `reads all of ${node['Relation Name']}`)
        const far =
          sort === 'newest' || sort === 'oldest'
            ? await median({ ...query, after: { key: BigInt(half.getTime()) * 1000n, id: 0 } })
            : ''
        console.log(
          `| ${scope ?? 'all'} | ${name} | ${sort} | ${isPlain(query) ? 'yes' : ''} | ${first} | ${far} | ${[...indexes, ...new Set(scans)].join(', ')} |`,
        )
      }
    }
  }
  const tagsMs = performance.now()
  const { items: tags } = await listTags(sql, { tenant: 'owner', limit: limits.pageMax, after: '' })
  console.log(
    `\n${tags.length} tags with ${tags.reduce((sum, { links }) => sum + links, 0).toLocaleString('en')} links: ${(performance.now() - tagsMs).toFixed(0)} ms`,
  )
  console.log(
    slow.length === 0
      ? `every page that is promised: within ${boundMs} ms`
      : `promised, and not within ${boundMs} ms: ${slow.join(', ')}`,
  )
}

async function creates(): Promise<void> {
  const some = async (kind: string, tags: readonly string[]): Promise<void> => {
    const fixed = {
      tenant: 'owner',
      permanent: false,
      enabled: true,
      monthlyHits: null,
      startsAt: null,
      expiresAt: null,
    }
    const more = { expiredUrl: null, forwardQuery: false, title: null, note: null, tags, createdBy: 'bench' }
    const ms = await timed(2000, (i) => {
      const link = { ...fixed, ...more, url: `https://example.org/${kind}/${i}` }
      return insertCustom(sql, link, `${kind.replaceAll(' ', '-')}-${i}` as Code)
    })
    console.log(`a create ${kind}: ${quantile(ms, 0.5).toFixed(2)} ms (p99 ${quantile(ms, 0.99).toFixed(2)})`)
  }
  await sql.query('set synchronous_commit = off')
  await some('with the indexes', [])
  await some('with two tags', ['tag-1', 'tag-2'])
  for (const { name } of listIndexes) await sql.query(`drop index if exists ${name}`)
  await some('without the indexes of lists', [])
}
