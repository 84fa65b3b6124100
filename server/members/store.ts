// The SQL of members. Sessions join them, so that whatever becomes of a member holds for its sessions at once.
import type { Role } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'

export interface MemberRow {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly role: Role
  /** Of the identity provider; null: by invitation. */
  readonly issuer: string | null
  readonly createdAt: Date
  readonly signedInAt: Date | null
}

const columns = `m.id, m.tenant, m.name, m.role, m.issuer, m.created_at as "createdAt", m.signed_in_at as "signedInAt"`

export type NewMember = Pick<MemberRow, 'id' | 'tenant' | 'name' | 'role'>

/** undefined: there is no such tenant, or it has as many members as a tenant may have. */
export async function insertMember(sql: Sql, { id, tenant, name, role }: NewMember): Promise<MemberRow | undefined> {
  const [row] = await sql.query<MemberRow>(
    `insert into members as m (id, tenant, name, role)
     select $1, t.id, $3, $4 from tenants t where t.id = $2 and t.deleted_at is null
       and (select count(*) from members m where m.tenant = t.id) < ${limits.membersPerTenant} for key share of t
     returning ${columns}`,
    [id, tenant, name, role],
  )
  return row
}

export const listMembers = (sql: Sql, tenant: string): Promise<MemberRow[]> =>
  sql.query(
    `select ${columns} from members m where m.tenant = $1 order by m.created_at desc, m.id limit ${limits.membersPerTenant}`,
    [tenant],
  )

/** Of this tenant; null: of any. */
type Scope = string | null

const ofScope = 'm.id = $1 and ($2::text is null or m.tenant = $2)'

export async function readMember(sql: Sql, id: string, scope: Scope): Promise<MemberRow | undefined> {
  const [row] = await sql.query<MemberRow>(`select ${columns} from members m where ${ofScope}`, [id, scope])
  return row
}

/** In a transaction: as it is until this transaction changes it. */
export async function lockMember(sql: Sql, id: string, scope: Scope): Promise<MemberRow | undefined> {
  const [row] = await sql.query<MemberRow>(`select ${columns} from members m where ${ofScope} for update`, [id, scope])
  return row
}

export async function patchMember(
  sql: Sql,
  id: string,
  { name, role }: { readonly name?: string | undefined; readonly role?: Role | undefined },
): Promise<MemberRow> {
  const [row] = await sql.query<MemberRow>(
    `update members m set name = coalesce($2, name), role = coalesce($3, role) where id = $1 returning ${columns}`,
    [id, name ?? null, role ?? null],
  )
  if (!row) throw new Error('a member was locked and is gone')
  return row
}

export const deleteMember = (sql: Sql, id: string): Promise<unknown> =>
  sql.query('delete from members where id = $1', [id])
