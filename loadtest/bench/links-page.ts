// What a page of 100 links with years of clicks costs, by the sum of their hours and by their totals; and what a batch of
// clicks costs with the totals kept, in milliseconds of Postgres.
//   npm run bench:links-page
import { listLinks } from '../../server/links/list.ts'
import { quantile } from '../measure/stats.ts'
import { timed } from './beside.ts'
import { openStand } from './stand.ts'

const links = 100
const years = Number(process.env['YEARS'] ?? 3)
const rounds = 15

const sums = `select links.*, (select coalesce(sum(clicks), 0)::bigint from clicks where link_id = links.id) as clicks
  from links where deleted_at is null order by id desc limit ${links}`
const batch = `insert into clicks select id, $1::timestamptz, 1 from links order by id
  on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`

const medianMs = async (work: () => Promise<unknown>): Promise<string> =>
  `${quantile(await timed(rounds, work), 0.5).toFixed(1)} ms`

await using stand = await openStand()
const { sql } = stand
await stand.migrate()
await sql.query(`insert into links (code, url) select 'page-' || n, 'https://example.org/' || n from generate_series(1, ${links}) as n`) // prettier-ignore
// As they are written: by the hour, so that a link's rows lie far apart.
for (let month = 0; month < years * 12; month++) {
  await sql.query(
    `insert into clicks select id, hour, 1 + id % 7 from generate_series(
       timestamptz '2023-01-01Z' + make_interval(months => $1), timestamptz '2023-01-01Z' + make_interval(months => $1 + 1)
         - interval '1 hour', interval '1 hour') as hour, links order by hour, id`,
    [month],
  )
}
await sql.query('vacuum analyze')
const [size] = await sql.query<{ rows: number }>('select count(*) as rows from clicks')
const page = { scope: null, limit: links, after: undefined, sort: 'newest' } as const
const leash = () => Promise.reject(new Error('A page without filters is read at once.'))
console.log(`${links} links, ${years} years, ${size?.rows.toLocaleString('en')} rows of clicks; medians of ${rounds}`)
console.log(`page, by the sum of the hours: ${await medianMs(() => sql.query(sums))}`)
console.log(`page, by the totals:           ${await medianMs(() => listLinks(sql, leash, 'owner', page))}`)
const hour = '2030-01-01T00:00Z'
console.log(`batch of ${links} links, with totals:    ${await medianMs(() => sql.query(batch, [hour]))}`)
await sql.query('alter table clicks disable trigger user')
console.log(`batch of ${links} links, without totals: ${await medianMs(() => sql.query(batch, [hour]))}`)
