// The SQL of domains.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Domain, DomainList } from './known.ts'

export interface DomainRow extends Domain {
  /** Who may make links there, besides the owner. */
  readonly tenants: readonly string[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

const columns = `d.host, d.root_url as "rootUrl", d.not_found_url as "notFoundUrl", d.removed_at is not null as "isRemoved",
  d.created_at as "createdAt", d.updated_at as "updatedAt",
  array(select t.tenant from domain_tenants t where t.host = d.host order by t.tenant) as tenants`

/** All of them, those that were removed too, and which list it is. */
export async function readDomainList(sql: Sql): Promise<DomainList> {
  const [row] = await sql.query<DomainList>(
    `select epoch || '/' || domains_version as version, coalesce((
       select json_agg(json_build_object('host', host, 'rootUrl', root_url, 'notFoundUrl', not_found_url,
                                         'isRemoved', removed_at is not null) order by host) from domains
     ), '[]') as domains from ql_meta`,
    [],
    'ql-domains',
  )
  if (!row) throw new Error('ql_meta is empty')
  return row
}

export const listDomains = (sql: Sql): Promise<DomainRow[]> =>
  sql.query(`select ${columns} from domains d where d.removed_at is null order by d.host`)

export async function readDomain(sql: Sql, host: string): Promise<DomainRow | undefined> {
  const [row] = await sql.query<DomainRow>(
    `select ${columns} from domains d where d.host = $1 and d.removed_at is null`,
    [host],
  )
  return row
}

/** In a transaction: as it is until this transaction changes it. */
export async function lockDomain(sql: Sql, host: string): Promise<DomainRow | undefined> {
  await sql.query('select from domains where host = $1 for no key update', [host])
  return readDomain(sql, host)
}

export type DomainGiven = Pick<DomainRow, 'host' | 'rootUrl' | 'notFoundUrl' | 'tenants'>

/** In a transaction. A host that was removed may come back; whatever was made of it is new. */
export async function insertDomain(sql: Sql, given: DomainGiven): Promise<'made' | 'taken' | 'full'> {
  // One at a time, so that there are never more than there may be.
  await sql.query('lock table domains in share row exclusive mode')
  const [counted] = await sql.query<{ n: number }>('select count(*) as n from domains where host <> $1', [given.host])
  if ((counted?.n ?? 0) >= limits.domains) return 'full'
  const made = await sql.query(
    `insert into domains as d (host, root_url, not_found_url) values ($1, $2, $3)
     on conflict (host) do update set root_url = excluded.root_url, not_found_url = excluded.not_found_url,
       created_at = now(), updated_at = now(), removed_at = null
       where d.removed_at is not null
     returning 1`,
    [given.host, given.rootUrl, given.notFoundUrl],
  )
  if (made.length === 0) return 'taken'
  await setTenants(sql, given.host, given.tenants)
  return 'made'
}

export type DomainPatch = { readonly [K in Exclude<keyof DomainGiven, 'host'>]?: DomainGiven[K] | undefined }

/** In a transaction. False: there is no such domain. */
export async function patchDomain(sql: Sql, host: string, patch: DomainPatch): Promise<boolean> {
  const { rootUrl, notFoundUrl, tenants } = patch
  const changed = await sql.query(
    `update domains set root_url = case when $2 then $3 else root_url end,
       not_found_url = case when $4 then $5 else not_found_url end, updated_at = now()
     where host = $1 and removed_at is null returning 1`,
    [host, rootUrl !== undefined, rootUrl ?? null, notFoundUrl !== undefined, notFoundUrl ?? null],
  )
  if (changed.length === 0) return false
  if (tenants) await setTenants(sql, host, tenants)
  return true
}

/** A tenant that is being deleted, or is gone, is none. */
export class NoSuchTenant extends Error {
  override readonly name = 'NoSuchTenant'
}

async function setTenants(sql: Sql, host: string, tenants: readonly string[]): Promise<void> {
  await sql.query('delete from domain_tenants where host = $1 and tenant <> all ($2)', [host, tenants])
  const known = await sql.query(
    'select id from tenants where id = any ($1) and deleted_at is null order by id for key share',
    [tenants],
  )
  if (known.length < new Set(tenants).size) throw new NoSuchTenant()
  await sql.query(
    'insert into domain_tenants (host, tenant) select distinct $1, id from unnest($2::text[]) as id on conflict do nothing',
    [host, tenants],
  )
}

/** In a transaction. */
export async function removeDomain(sql: Sql, host: string): Promise<'removed' | 'has_links' | 'unknown'> {
  // Waits for creates under way, and lets none begin: each of them holds the row, shared.
  const [domain] = await sql.query('select 1 from domains where host = $1 and removed_at is null for update', [host])
  if (!domain) return 'unknown'
  // `0` is what follows the slash: all codes that begin with the host, by the primary key.
  const [link] = await sql.query(
    `select 1 from links where code >= $1 || '/' and code < $1 || '0' and deleted_at is null limit 1`,
    [host],
  )
  if (link) return 'has_links'
  await sql.query('delete from domain_tenants where host = $1', [host])
  await sql.query(
    'update domains set root_url = null, not_found_url = null, removed_at = now(), updated_at = now() where host = $1',
    [host],
  )
  return 'removed'
}

/** In the transaction that makes a link there: it holds off the removal of the domain. */
export async function mayUseDomain(sql: Sql, host: string, tenant: string): Promise<boolean> {
  const [domain] = await sql.query(
    `select 1 from domains d where d.host = $1 and d.removed_at is null
       and ($2 = 'owner' or exists (select from domain_tenants t where t.host = d.host and t.tenant = $2))
     for key share`,
    [host, tenant],
  )
  return domain !== undefined
}
