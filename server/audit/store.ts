// The SQL of the audit log. An entry is written in the transaction of its change, so that there is neither without the other.
import type { By } from '../api/operation.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Changes } from './changes.ts'

export const kinds = ['link', 'tag', 'domain', 'tenant', 'key', 'member', 'session', 'import'] as const
type Kind = (typeof kinds)[number]

export const doers = ['owner', 'key', 'member'] as const

export interface Noted {
  /** In whose log. */
  readonly tenant: string
  readonly kind: Kind
  /** As it is known inside: of a link its code with its domain. */
  readonly target: string
  readonly changes?: Changes | null | undefined
}

/**
 * In the transaction of the change. Nobody waits for it but the commit: asked for last, it goes with that, and costs no wait of
 * its own.
 */
export function note(sql: Sql, { action, address, caller }: By, { tenant, kind, target, changes }: Noted): void {
  const { isOwner, kind: by, id, name, tenant: of, sessionId } = caller
  const noted = sql.query(
    `insert into audit (tenant, action, kind, target, by_kind, by_id, by_name, by_tenant, session_id, address, changes)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[tenant, action, kind, target, isOwner ? 'owner' : by, id, name, of, sessionId ?? null],
      ...[address === '' ? null : address, changes ? JSON.stringify(changes) : null],
    ],
    'audit-note',
  )
  // The transaction waits for its statements, and fails with this one.
  noted.catch(() => undefined)
}

export interface Entry extends Required<Noted> {
  /** Its place in the list. */
  readonly n: number
  readonly id: string
  readonly at: Date
  readonly action: string
  readonly byKind: (typeof doers)[number]
  readonly byId: string
  readonly byName: string
  readonly byTenant: string
  readonly sessionId: string | null
  readonly address: string | null
}

export interface Asked {
  /** null: of all. */
  readonly tenant: string | null
  /** A link. */
  readonly code: string | undefined
  /** Others are told nothing of domains; nor, where a tenant has come back under the name of another one, of that. */
  readonly byOwner: boolean
}

/** The newest first, from behind the entry `after`. Of a link that has, or has had, a password, nothing says where it leads, or led. */
export const listEntries = (sql: Sql, asked: Asked, after: number | undefined, limit: number): Promise<Entry[]> =>
  sql.query(
    `with page as (
       select n, id, at, tenant, action, kind, target, by_kind as "byKind", by_id as "byId", by_name as "byName",
         by_tenant as "byTenant", session_id as "sessionId", address, changes
       from audit where n < $1 ${asked.tenant === null ? 'and $2::text is null' : 'and tenant = $2'}
         ${asked.code === undefined ? 'and $3::text is null' : `and kind = 'link' and target = $3`}
         ${asked.byOwner ? '' : `and kind <> 'domain' and at >= (select created_at from tenants where tenants.id = $2)`}
       order by n desc limit $4
     ), guarded as (
       select distinct tenant, target from audit
       where kind = 'link' and target in (select target from page where kind = 'link') and changes ? 'hasPassword'
     )
     select n, id, at, tenant, action, kind, target, "byKind", "byId", "byName", "byTenant", "sessionId", address,
       case when kind = 'link' and (tenant, target) in (select tenant, target from guarded)
       then changes - '{url,rules}'::text[] else changes end as changes
     from page order by n desc`,
    [after ?? Number.MAX_SAFE_INTEGER, asked.tenant, asked.code ?? null, limit],
  )
