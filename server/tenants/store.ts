// The SQL of tenants and their keys.
import type { Sql } from '../connections/postgres.ts'
import type { Role } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { TierName } from './tiers.ts'

export interface TenantRow {
  readonly id: string
  readonly name: string
  readonly tier: TierName
  readonly linkQuota: number | null
  /** Whether anybody may see where its links lead without following them. */
  readonly preview: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns =
  'id, name, tier, link_quota as "linkQuota", preview, created_at as "createdAt", updated_at as "updatedAt"'

export type NewTenant = Pick<TenantRow, 'id' | 'name' | 'tier' | 'linkQuota' | 'preview'>

/** undefined: the id is taken, perhaps by a tenant that was deleted and whose links are not purged yet. */
export async function insertTenant(sql: Sql, tenant: NewTenant): Promise<TenantRow | undefined> {
  const [row] = await sql.query<TenantRow>(
    `insert into tenants (id, name, tier, link_quota, preview) values ($1, $2, $3, $4, $5) on conflict (id) do nothing
     returning ${columns}`,
    [tenant.id, tenant.name, tenant.tier, tenant.linkQuota, tenant.preview],
  )
  return row
}

export async function readTenant(sql: Sql, id: string): Promise<TenantRow | undefined> {
  const [row] = await sql.query<TenantRow>(
    `select ${columns} from tenants where id = $1 and deleted_at is null`,
    [id],
    'tenant-by-id',
  )
  return row
}

/** In a transaction: as it is until this transaction changes it. */
export async function lockTenant(sql: Sql, id: string): Promise<TenantRow | undefined> {
  const [row] = await sql.query<TenantRow>(
    `select ${columns} from tenants where id = $1 and deleted_at is null for no key update`,
    [id],
  )
  return row
}

export const listTenants = (sql: Sql, after: string, limit: number): Promise<TenantRow[]> =>
  sql.query(`select ${columns} from tenants where id > $1 and deleted_at is null order by id limit $2`, [after, limit])

export interface TenantPatch {
  readonly name?: string | undefined
  readonly tier?: TierName | undefined
  readonly linkQuota?: number | null | undefined
  readonly preview?: boolean | undefined
}

export async function patchTenant(sql: Sql, id: string, patch: TenantPatch): Promise<TenantRow | undefined> {
  const [row] = await sql.query<TenantRow>(
    // Without a limit nobody counts its links, and what adds to them has nothing to raise.
    `update tenants set name = coalesce($2, name), tier = coalesce($3, tier), links_at_most = null,
       link_quota = case when $5 then $4 else link_quota end,
       preview = coalesce($6, preview), updated_at = now()
     where id = $1 and deleted_at is null returning ${columns}`,
    [
      id,
      patch.name ?? null,
      patch.tier ?? null,
      patch.linkQuota ?? null,
      patch.linkQuota !== undefined,
      patch.preview ?? null,
    ],
  )
  return row
}

export type Deletion = 'deleted' | 'has_links' | 'unknown'

/**
 * In a transaction. A tenant with a link that may still redirect stays. Otherwise its keys are revoked, and what expired
 * is deleted with it. The row itself goes with its last link: until those are purged, their codes belong to nobody else,
 * and whoever gets the same id must not find them.
 */
export async function deleteTenant(sql: Sql, id: string): Promise<Deletion> {
  // Waits for creates under way, and lets none begin: each of them holds the row, shared.
  const [tenant] = await sql.query('select 1 from tenants where id = $1 and deleted_at is null for update', [id])
  if (!tenant) return 'unknown'
  const [live] = await sql.query(
    `select 1 from links where tenant = $1 and deleted_at is null
       and (expires_at is null or expires_at > now() or expired_url is not null) limit 1`,
    [id],
  )
  if (live) return 'has_links'
  await sql.query('update links set deleted_at = now() where tenant = $1 and deleted_at is null', [id])
  await sql.query('update api_keys set revoked_at = coalesce(revoked_at, now()) where tenant = $1', [id])
  await sql.query('delete from members where tenant = $1', [id])
  await sql.query('update tenants set deleted_at = now() where id = $1', [id])
  await removeDeleted(sql, id)
  return 'deleted'
}

/** Deleted tenants of whom no link is left: this one, or all. */
export async function removeDeleted(sql: Sql, id: string | null = null): Promise<void> {
  const gone = await sql.query<{ id: string }>(
    `select id from tenants t where deleted_at is not null and ($1::text is null or id = $1)
       and not exists (select from links where links.tenant = t.id) limit 100 for update`,
    [id],
  )
  if (gone.length === 0) return
  const ids = gone.map((tenant) => tenant.id)
  for (const table of ['api_keys', 'idempotency_keys', 'tags']) {
    await sql.query(`delete from ${table} where tenant = any ($1)`, [ids])
  }
  await sql.query('delete from tenants where id = any ($1)', [ids])
}

export interface KeyRow {
  readonly id: string
  readonly name: string
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly createdAt: Date
  /** null: none was given. */
  readonly role: Role | null
}

const keyColumns = 'id, name, role, expires_at as "expiresAt", revoked_at as "revokedAt", created_at as "createdAt"'

export type NewKey = Pick<KeyRow, 'id' | 'name' | 'expiresAt' | 'role'> & {
  readonly tenant: string
  readonly hash: Buffer
}

/** undefined: there is no such tenant, or it has as many keys as a tenant may have. */
export async function insertKey(sql: Sql, key: NewKey): Promise<KeyRow | undefined> {
  const [row] = await sql.query<KeyRow>(
    `insert into api_keys (id, tenant, name, key_hash, expires_at, role)
     select $1, t.id, $3, $4, $5, $6 from tenants t where t.id = $2 and t.deleted_at is null
       and (select count(*) from api_keys k where k.tenant = t.id) < ${limits.keysPerTenant} for key share of t
     returning ${keyColumns}`,
    [key.id, key.tenant, key.name, key.hash, key.expiresAt, key.role],
  )
  return row
}

export const listKeys = (sql: Sql, tenant: string): Promise<KeyRow[]> =>
  sql.query(
    `select ${keyColumns} from api_keys where tenant = $1 order by created_at desc, id limit ${limits.keysPerTenant}`,
    [tenant],
  )

export async function readKey(sql: Sql, tenant: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await sql.query<KeyRow>(`select ${keyColumns} from api_keys where tenant = $1 and id = $2`, [
    tenant,
    id,
  ])
  return row
}

/** Again is fine: it stays revoked since the first time. */
export async function revokeKey(sql: Sql, tenant: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await sql.query<KeyRow>(
    `update api_keys set revoked_at = coalesce(revoked_at, now()) where tenant = $1 and id = $2 returning ${keyColumns}`,
    [tenant, id],
  )
  return row
}
