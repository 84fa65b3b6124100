// What Postgres knows of hits. `granted` is raised before anything of it can be spent, and never past the limit.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Month } from './database-clock.ts'

/** An advance is what Redis divides among processes; a bundle is what one process spends. */
export type Step = 'advance' | 'bundle'

export interface Grant extends Granted {
  readonly month: Month
  /** Unix milliseconds, when it was granted. */
  readonly atMs: number
  /** 0: nothing was granted. */
  readonly units: number
}

export interface Granted {
  /** Everything granted so far, units of this grant included. */
  readonly granted: number
  /** As the link's row says it; null: no limit (any more). */
  readonly limit: number | null
  /** False: the link was deleted, or its code is another link's by now. */
  readonly exists: boolean
}

// The limit is read here, not taken from whoever asks: a changed one binds with the next grant. The first row of a month
// begins with what was already served in it, when the link had no limit.
// $3: granted so far, as the asker believes; if it is more by now, somebody else has just asked, and Redis has it.
const grantSql = `
with now as materialized (select ql_now() as at),
this as (
  select at, starts, (starts + interval '1 month') at time zone 'UTC' as ends
  from now, date_trunc('month', at at time zone 'UTC') as starts
),
link as (
  select id, monthly_hits as most,
         case $2 when 'advance' then advance else greatest(1, least(100, advance / 32)) end as step
  from links, greatest(1, least(1000, monthly_hits / 10)) as advance
  where id = $1 and deleted_at is null
),
before as (
  select coalesce(sum(c.clicks), 0)::bigint as served from this, clicks c
  where c.link_id = $1 and c.hour >= this.starts at time zone 'UTC'
    and not exists (select from hits h where h.link_id = $1 and h.month = this.starts::date)
),
granting as (
  insert into hits as h (link_id, month, granted, most, last_grant, granted_at)
  select id, starts::date, served + least(step, most - served), most, least(step, most - served), at
  from link, this, before where served < most
  on conflict (link_id, month) do update set
    granted = h.granted + least(excluded.last_grant, excluded.most - h.granted),
    last_grant = least(excluded.last_grant, excluded.most - h.granted),
    most = excluded.most, granted_at = excluded.granted_at
  where h.granted < excluded.most and ($3::bigint is null or h.granted = $3)
  returning h.granted, h.last_grant
)
select extract(epoch from at)::float8 * 1000 as "atMs", extract(epoch from ends)::float8 * 1000 as "endsMs",
  to_char(starts, 'YYYY-MM') as month, link.most as "limit", link.id is not null as "exists",
  coalesce(granting.last_grant, 0) as units,
  coalesce(granting.granted, (select h.granted from hits h where h.link_id = $1 and h.month = starts::date), served)
    as granted
from this cross join before left join link on true left join granting on true`

type GrantRow = Omit<Grant, 'month'> & { month: string; endsMs: number }

export async function grantHits(sql: Sql, linkId: number, step: Step, seen: number | null): Promise<Grant> {
  const [row] = await sql.query<GrantRow>(grantSql, [linkId, step, seen], 'ql-grant-hits')
  if (!row) throw new Error('Postgres granted nothing and refused nothing')
  const { month, endsMs, ...grant } = row
  return { ...grant, month: { name: month, endsMs } }
}

/** What the next grant would go by: nothing is granted. */
export async function readGranted(sql: Sql, linkId: number): Promise<Granted> {
  const [row] = await sql.query<{ limit: number | null; granted: number }>(
    `with this as (select date_trunc('month', ql_now() at time zone 'UTC') as starts)
     select l.monthly_hits as "limit", coalesce(h.granted,
       (select sum(c.clicks) from clicks c where c.link_id = l.id and c.hour >= starts at time zone 'UTC'), 0)::bigint
       as granted
     from this cross join links l left join hits h on h.link_id = l.id and h.month = starts::date
     where l.id = $1 and l.deleted_at is null`,
    [linkId],
    'ql-read-granted',
  )
  return row ? { ...row, exists: true } : { limit: null, granted: 0, exists: false }
}

/** For hits that nobody can spend any more. To be sent once: whether it arrived or not, they are forgotten. */
export const returnHits = (sql: Sql, linkId: number, month: string, units: number): Promise<unknown> =>
  sql.query(
    'update hits set granted = granted - $3 where link_id = $1 and month = $2::date and granted >= $3',
    [linkId, `${month}-01`, units],
    'ql-return-hits',
  )

export async function databaseTimeMs(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ at: number }>(
    'select extract(epoch from ql_now())::float8 * 1000 as at',
    [],
    'ql-now',
  )
  if (!row) throw new Error('Postgres does not know the time')
  return row.at
}

export interface HitsRow {
  readonly month: string
  readonly endsMs: number
  readonly used: number
  readonly granted: number
  /** Milliseconds since the last grant and the last click; what is under way has arrived after a while of quiet. */
  readonly quietMs: number | null
}

export async function readHits(sql: Sql, linkId: number): Promise<HitsRow> {
  const [row] = await sql.query<HitsRow>(
    `with now as materialized (select ql_now() as at),
     this as (
       select at, starts, (starts + interval '1 month') at time zone 'UTC' as ends
       from now, date_trunc('month', at at time zone 'UTC') as starts
     )
     select to_char(starts, 'YYYY-MM') as month, extract(epoch from ends)::float8 * 1000 as "endsMs",
       (select coalesce(sum(c.clicks), 0)::bigint from clicks c
        where c.link_id = $1 and c.hour >= starts at time zone 'UTC' and c.hour < ends) as used,
       coalesce(h.granted, 0) as granted, extract(epoch from at - h.granted_at)::float8 * 1000 as "quietMs"
     from this left join hits h on h.link_id = $1 and h.month = starts::date`,
    [linkId],
  )
  if (!row) throw new Error('Postgres does not know the month')
  return row
}

/** As a redirect asks: through its breaker and within its deadline. */
export interface AskPostgres {
  grant(linkId: number, step: Step, seen: number | null): Promise<Grant>
  granted(linkId: number): Promise<Granted>
  giveBack(linkId: number, month: string, units: number): Promise<void>
}

export function askPostgres(sql: Sql, breaker: Pick<Breaker, 'run'>, timeoutMs: number): AskPostgres {
  const ask = <T>(work: () => Promise<T>): Promise<T> => breaker.run(() => withDeadline(work(), timeoutMs, 'Postgres'))
  return {
    grant: (linkId, step, seen) => ask(() => grantHits(sql, linkId, step, seen)),
    granted: (linkId) => ask(() => readGranted(sql, linkId)),
    async giveBack(linkId, month, units) {
      await ask(() => returnHits(sql, linkId, month, units))
    },
  }
}
