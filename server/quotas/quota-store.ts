// What Postgres knows of a tenant's quota. It always decides, in the transaction of the insert, while the tenant's row is
// locked, so that two creates of one tenant cannot both take the last place. The rows are counted where it matters: while the
// tenant certainly has fewer than its limit (`links_at_most`, which triggers raise), they are not.
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { TierName } from '../tenants/tiers.ts'

export interface QuotaTerms {
  readonly tier: TierName
  readonly linkQuota: number | null
  /** Of the last sync; null: there was none yet. */
  readonly generation: string | null
  /** It has no more than these; null: nobody has counted them. */
  readonly linksAtMost: number | null
}

const terms = 'tier, link_quota as "linkQuota", quota_generation as generation, links_at_most as "linksAtMost"'

/**
 * `exclusive`: until this transaction ends, no other create of the tenant passes here. Otherwise the tenant merely cannot
 * be deleted meanwhile. undefined: there is no such tenant any more.
 */
export async function lockTenant(sql: Sql, tenant: string, exclusive: boolean): Promise<QuotaTerms | undefined> {
  const [row] = await sql.query<QuotaTerms>(
    `select ${terms} from tenants where id = $1 and deleted_at is null
     for ${exclusive ? 'no key update' : 'key share'}`,
    [tenant],
  )
  return row
}

/** Whose link is about to be deleted: no sync of that tenant passes here until this transaction ends. */
export async function lockTenantOf(
  sql: Sql,
  code: Code,
  scope: string | null,
): Promise<(QuotaTerms & { id: string }) | undefined> {
  const [row] = await sql.query<QuotaTerms & { id: string }>(
    `select id, ${terms} from tenants where id = (
       select tenant from links where code = $1 and deleted_at is null and ($2::text is null or tenant = $2)
     ) for share`,
    [code, scope],
  )
  return row
}

/** The same of many links, in the order of their tenants. */
export const lockTenantsOf = (
  sql: Sql,
  codes: readonly Code[],
  scope: string | null,
): Promise<(QuotaTerms & { id: string })[]> =>
  sql.query(
    `select id, ${terms} from tenants where id in (
       select tenant from links where code = any ($1) and deleted_at is null and ($2::text is null or tenant = $2)
     ) order by id for share`,
    [codes, scope],
  )

/** Locked until this transaction ends, and of a generation that nobody has seen. undefined: there is no such tenant. */
export async function beginGeneration(sql: Sql, tenant: string): Promise<QuotaTerms | undefined> {
  const [row] = await sql.query<QuotaTerms>(
    `update tenants set quota_generation = gen_random_uuid() where id = $1 and deleted_at is null returning ${terms}`,
    [tenant],
  )
  return row
}

/** What is deleted does not count, what has expired does until it is purged. */
export async function countLinks(sql: Sql, tenant: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    'select count(*) from links where tenant = $1 and deleted_at is null',
    [tenant],
  )
  return row?.count ?? 0
}

/** For who only wants to know whether that is below the limit: as many at least, and exactly as many where it is not. */
export async function countTowards(sql: Sql, tenant: string, limit: number): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    `select case when links_at_most < $2 then links_at_most
       else (select count(*) from links where tenant = $1 and deleted_at is null) end as count
     from tenants where id = $1`,
    [tenant, limit],
  )
  return row?.count ?? 0
}

/**
 * Counts where the room that was known of is used up, or `limit` is null; else undefined. Of a tenant whose row is locked, before
 * anything is added. A statement of its own sees every commit.
 */
export async function recount(sql: Sql, tenant: string, limit: number | null): Promise<number | undefined> {
  const [row] = await sql.query<{ count: number }>(
    `update tenants set links_at_most = (select count(*) from links where tenant = $1 and deleted_at is null)
     where id = $1 and (links_at_most < $2) is not true returning links_at_most as count`,
    [tenant, limit],
  )
  return row?.count
}

/** A create of this code takes the place of one of the tenant's own that expired and still counts. */
export async function takesOver(sql: Sql, tenant: string, code: Code | undefined): Promise<boolean> {
  if (code === undefined) return false
  const rows = await sql.query('select from links where code = $1 and tenant = $2 and deleted_at is null', [
    code,
    tenant,
  ])
  return rows.length > 0
}

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
