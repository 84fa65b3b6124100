// What Postgres knows of a tenant's quota. It always decides: the rows are counted in the transaction of the insert,
// while the tenant's row is locked, so that two creates of one tenant cannot both take the last place.
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { TierName } from '../tenants/tiers.ts'

export interface QuotaTerms {
  readonly tier: TierName
  readonly linkQuota: number | null
  /** Of the last sync; null: there was none yet. */
  readonly generation: string | null
}

const terms = 'tier, link_quota as "linkQuota", quota_generation as generation'

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

/** Locked until this transaction ends, and of a generation that nobody has seen. undefined: there is no such tenant. */
export async function beginGeneration(sql: Sql, tenant: string): Promise<QuotaTerms | undefined> {
  const [row] = await sql.query<QuotaTerms>(
    `update tenants set quota_generation = gen_random_uuid() where id = $1 and deleted_at is null returning ${terms}`,
    [tenant],
  )
  return row
}

/** What is deleted does not count, what has expired does until it is purged. A statement of its own sees every commit. */
export async function countLinks(sql: Sql, tenant: string): Promise<number> {
  const [row] = await sql.query<{ count: number }>(
    'select count(*) from links where tenant = $1 and deleted_at is null',
    [tenant],
  )
  return row?.count ?? 0
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
