// What Postgres knows of a tenant's quota. It always decides: the rows are counted in the transaction of the insert,
// while the tenant's row is locked, so that two creates of one tenant cannot both take the last place.
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { TierName } from '../limits/tiers.ts'

export interface Terms {
  readonly tier: TierName
  readonly linkQuota: number | null
}

/**
 * `exclusive`: until this transaction ends, no other create of the tenant passes here. Otherwise the tenant merely cannot
 * be deleted meanwhile. undefined: there is no such tenant any more.
 */
export async function lockTenant(sql: Sql, tenant: string, exclusive: boolean): Promise<Terms | undefined> {
  const [row] = await sql.query<Terms>(
    `select tier, link_quota as "linkQuota" from tenants where id = $1 and deleted_at is null
     for ${exclusive ? 'no key update' : 'key share'}`,
    [tenant],
  )
  return row
}

/** A create of this code takes the place of a link that expired and still counts. Its row stays locked. */
export async function takesOver(sql: Sql, tenant: string, code: Code): Promise<boolean> {
  const [row] = await sql.query(
    'select 1 from links where code = $1 and tenant = $2 and deleted_at is null for update',
    [code, tenant],
  )
  return row !== undefined
}

const counted = `select count(*) from links where tenant = $1 and deleted_at is null`

/** What is deleted does not count, what has expired does until it is purged. A statement of its own sees every commit. */
export async function countLinks(sql: Sql, tenant: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(counted, [tenant])
  return row?.count ?? 0
}

export const recordOp = (sql: Sql, tenant: string, entry: string): Promise<unknown> =>
  sql.query('insert into quota_ops (id, tenant) values ($1, $2)', [entry, tenant])

export async function countAndRecord(sql: Sql, tenant: string, entry: string | undefined): Promise<number> {
  if (entry === undefined) return countLinks(sql, tenant)
  const [row] = await sql.query<{ count: number }>(
    `with op as (insert into quota_ops (id, tenant) values ($2, $1)) ${counted}`,
    [tenant, entry],
  )
  return row?.count ?? 0
}

export interface Snapshot extends Terms {
  readonly rows: number
  /** Entries whose effect is in `rows`. */
  readonly contained: readonly string[]
  /** Deletes among them that are so young that Redis may not have been told yet. */
  readonly young: readonly string[]
}

/** All in one statement, which sees one moment, however long its transaction has lived. undefined: no such tenant. */
export async function readSnapshot(
  sql: Sql,
  tenant: string,
  window: { readonly opsS: number; readonly youngS: number },
): Promise<Snapshot | undefined> {
  const [row] = await sql.query<Snapshot>(
    `select t.tier, t.link_quota as "linkQuota",
       (${counted}) as rows,
       array(select id from quota_ops where tenant = $1 and at > statement_timestamp() - make_interval(secs => $2)) as contained,
       array(select id from quota_ops where tenant = $1 and at > statement_timestamp() - make_interval(secs => $3)
             and id like '-%') as young
     from tenants t where t.id = $1 and t.deleted_at is null`,
    [tenant, window.opsS, window.youngS],
  )
  return row
}

export const pruneOps = (sql: Sql, olderThanS: number): Promise<unknown> =>
  sql.query('delete from quota_ops where at < now() - make_interval(secs => $1)', [olderThanS])

/** A page of those who have a quota, in the order of their ids. */
export async function tenantIds(
  sql: Sql,
  after: string,
  limit: number,
  tiersWithout: readonly TierName[],
): Promise<string[]> {
  const rows = await sql.query<{ id: string }>(
    `select id from tenants
     where id > $1 and deleted_at is null and (link_quota is not null or not tier = any ($3)) order by id limit $2`,
    [after, limit, tiersWithout],
  )
  return rows.map(({ id }) => id)
}
