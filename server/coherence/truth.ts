// What is asked of Postgres about codes: what they are now, and which of them changed since a snapshot.
import { absent, type Code, type Known } from '../link.ts'
import type { Sql } from '../connections/postgres.ts'
import { limits } from '../limits.ts'
import { compareSnapshots, type Cursor } from './cursor.ts'
import type { AsOf } from './news.ts'
import { leadIn } from './stored-rules.ts'

export interface Change {
  readonly code: Code
  readonly known: Known
  /** The transactions that changed it. */
  readonly xids: readonly string[]
  /** How long ago it was written, when Postgres answered. */
  readonly ageS: number
}

export interface Changes {
  /** Where a cursor stands that has applied them. */
  readonly next: Cursor
  /** Each code once, however often it changed: as it is now. */
  readonly changes: readonly Change[]
  /** In their place, when there are too many to look each of them up: these have changed. */
  readonly forget: readonly Code[]
  /** The cursor knows of transactions that this database has not begun yet: it has been restored. */
  readonly ahead?: boolean
  /** Which list of domains is the current one. */
  readonly domains?: string
}

export interface Truth {
  /** In the order of the codes; a code that nobody has is absent with version 0. */
  read(codes: readonly Code[]): Promise<Known[]>
  /** At most so many of what became visible since; without a cursor, no changes: only where the truth stands now. */
  changesSince(cursor: Cursor | null): Promise<Changes>
}

interface LinkRow {
  code: string | null
  live: boolean
  id: number
  url: string
  rules: unknown
  hasPassword: boolean
  permanent: boolean
  starts: number | null
  expires: number | null
  ended: string | null
  forwards: boolean
  hits: number | null
  version: number
}

const columns = `l.code, l.enabled and l.deleted_at is null as live, l.id, l.url, l.rules, l.has_password as "hasPassword", l.permanent,
  ceil(extract(epoch from l.starts_at))::bigint as starts, floor(extract(epoch from l.expires_at))::bigint as expires,
  l.expired_url as ended, l.forward_query as forwards, l.monthly_hits as hits, l.version`

const toKnown = (row: LinkRow): Known =>
  row.live
    ? {
        code: row.code as Code,
        id: row.id,
        ...leadIn(row),
        permanent: row.permanent,
        startsAtS: row.starts,
        expiresAtS: row.expires,
        expiredUrl: row.ended,
        forwardQuery: row.forwards,
        monthlyHits: row.hits,
        version: row.version,
      }
    : absent(row.version)

const lastId = '9223372036854775807'

// "Since" is exact: rows of transactions that the cursor's snapshot did not see and this statement's does, in whatever
// order they began and committed. Which those are is worked out from the two snapshots alone, as spans of the outbox's
// primary key, each one index probe: what a transaction wrote that ended between them, and all after the first one's
// end, save what still runs. A filter by pg_visible_in_snapshot would be shorter, and read the outbox again and again:
// from its beginning, or from the oldest transaction that somebody left open.
const changesSql = (now: string): string => `
with now as materialized (${now}),
edges as (
  select pg_snapshot_xmax($1::pg_snapshot) as xid, 0::bigint as id
  union all
  select xid, ${lastId} from now, pg_snapshot_xip(now.target) as xid where xid >= pg_snapshot_xmax($1)
),
spans as (
  select xid as from_xid, 0::bigint as from_id, xid as to_xid, ${lastId} as to_id
  from now, pg_snapshot_xip($1) as xid where pg_visible_in_snapshot(xid, now.target)
  union all
  select xid, id, lead(xid, 1, pg_snapshot_xmax(now.target)) over (order by xid, id), 0 from now, edges
),
found as (
  select o.* from spans s, lateral (
    select o.xid, o.id, o.code, o.version, o.at from outbox o
    where (o.xid, o.id) > (greatest(s.from_xid, $3::xid8),
                           case when (s.from_xid, s.from_id) < ($3, $4::bigint) then $4 else s.from_id end)
      and (o.xid, o.id) < (s.to_xid, s.to_id)
    order by o.xid, o.id limit ${limits.passBulk}
  ) o order by o.xid, o.id limit ${limits.passBulk}
),
-- Several changes of one link are one look-up. The oldest of them says how long ago the news is.
changed as (select code, max(version) as version, min(at) as at, array_agg(xid::text) as xids from found group by code),
many as (select count(*) > ${limits.passChunk} as so from changed)
select now.snapshot::text, pg_snapshot_xmax($1) > pg_snapshot_xmax(now.snapshot) as ahead, now.identity, now.version, now.domains,
  now.at::float8 as at,
  coalesce(changes.rows, '[]') as rows, coalesce(forget.codes, '[]') as codes,
  (select count(*) = ${limits.passBulk} from found) as more,
  (select json_build_array(xid::text, id) from found order by xid desc, id desc limit 1) as last
from now, (
  select json_agg(c) as rows from (
    select o.code as changed, o.version as drawn, o.xids, extract(epoch from clock_timestamp() - o.at) as age, ${columns}
    from many, changed o left join links l on l.code = o.code where not many.so
  ) c
) changes, (
  select json_agg(o.code) as codes from many, changed o where many.so
) forget`

const domains = `(select epoch || '/' || domains_version from ql_meta) as domains`

const onPrimary = `
  select pg_current_snapshot() as snapshot, coalesce($2::pg_snapshot, pg_current_snapshot()) as target,
         ql_identity() || '/' || ql_announcing() as identity, (select last_value from link_version_seq) as version,
         ${domains}, floor(extract(epoch from clock_timestamp())) as at`

// A standby's own snapshot leaves out what runs on the primary, and a sequence stands ahead there: what the heartbeat says was true.
const onStandby = `
  select snapshot, coalesce($2::pg_snapshot, snapshot) as target, identity, version, ${domains}, extract(epoch from at) as at
  from ql_beat where only_row`

const primarySql = changesSql(onPrimary)
const standbySql = changesSql(onStandby)

type ChangeRow = LinkRow & { changed: string; drawn: number; xids: string[]; age: number }

interface ChangesRow {
  snapshot: string
  ahead: boolean | null
  identity: string | null
  version: number
  domains: string
  at: number
  rows: ChangeRow[]
  codes: Code[]
  more: boolean
  last: [xid: string, id: number] | null
}

export function createTruth(read: Sql, passes: Sql): Truth {
  return {
    async read(codes) {
      const rows = await read.query<LinkRow>(
        `select ${columns} from links l where l.code = any($1)`,
        [codes],
        'ql-read-links',
      )
      return inOrder(codes, rows)
    },
    changesSince: changes(passes, primarySql, 'ql-changes-since'),
  }
}

/** A standby's heartbeat, as it has arrived there. */
export interface Beat {
  readonly n: number
  /** By the primary's clock, in seconds. */
  readonly atS: number
  /** False: this server takes writes. */
  readonly isStandby: boolean
}

/** What is asked of a standby. */
export interface NearTruth {
  read(codes: readonly Code[]): Promise<{ readonly knowns: readonly Known[]; readonly asOf: AsOf }>
  /** Up to the heartbeat. `atS` in what it answers is that of the heartbeat. */
  changesSince: Truth['changesSince']
  beat(): Promise<Beat>
}

const beatColumns = `b.n, extract(epoch from b.at)::float8 as "atS", pg_is_in_recovery() as "isStandby"`

export function createNearTruth(read: Sql, passes: Sql): NearTruth {
  return {
    async read(codes) {
      // One statement is one state of one server, whoever else stands behind this address.
      const rows = await read.query<LinkRow & AsOf>(
        `select b.identity, b.snapshot::text, ${columns} from ql_beat b left join links l on l.code = any($1) where b.only_row`,
        [codes],
        'ql-read-links-near',
      )
      const [{ identity, snapshot } = noBeat] = rows
      if (!identity || !snapshot) throw new Error('the standby has no heartbeat')
      return { knowns: inOrder(codes, rows), asOf: { identity, snapshot } }
    },
    changesSince: changes(passes, standbySql, 'ql-changes-since-near', true),
    async beat() {
      const [beat] = await passes.query<Beat>(
        `select ${beatColumns} from ql_beat b where b.only_row`,
        [],
        'ql-beat-near',
      )
      if (!beat) throw new Error('ql_beat is empty')
      return beat
    },
  }
}

const noBeat = { identity: null, snapshot: null }

function inOrder(codes: readonly Code[], rows: readonly LinkRow[]): Known[] {
  const byCode = new Map(rows.map((row) => [row.code, row.code === null ? absent(0) : toKnown(row)]))
  return codes.map((code) => byCode.get(code) ?? absent(0))
}

const changes =
  (passes: Sql, sql: string, name: string, isStandby = false): Truth['changesSince'] =>
  async (cursor) => {
    const [row] = await passes.query<ChangesRow>(
      sql,
      [cursor?.snapshot ?? null, cursor?.to ?? null, cursor?.after?.[0] ?? '0', cursor?.after?.[1] ?? 0],
      name,
    )
    if (!row) throw new Error('ql_meta is empty')
    const { identity, version, domains, at: atS, rows, codes: forget, last } = row
    // No pass succeeds, so no Redis is trusted, until they are on again; then it is another identity.
    if (identity === null) throw new Error('a trigger of links is switched off: changes are not announced')
    // What a standby has not got yet is not there, which says nothing. (A primary that stands before it has gone back, and that is found by its version.)
    if (isStandby && cursor?.to !== undefined && compareSnapshots(row.snapshot, cursor.to) < 0)
      throw new Error('the standby has not come so far')
    const target = cursor?.to ?? row.snapshot
    const next: Cursor =
      row.more && cursor !== null && last !== null
        ? { identity, version, snapshot: cursor.snapshot, to: target, after: last, atS }
        : { identity, version, snapshot: target, atS }
    return { next, changes: rows.map(toChange), forget, ahead: row.ahead === true, domains }
  }

// A row that is gone was deleted by hand; its outbox row carries the last version it had.
const toChange = (row: ChangeRow): Change => ({
  code: row.changed as Code,
  known: row.code === null ? absent(row.drawn) : toKnown(row),
  xids: row.xids,
  ageS: row.age,
})
