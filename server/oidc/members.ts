// Who comes by an identity provider is a member under the provider's own number of him, never under an e-mail address, which may be
// given to another person. Tenant, role and name are what they are at each sign-in.
import type { Caller, Origin, Role } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { callerOf } from '../sessions/store.ts'
import { newId } from '../sessions/token.ts'
import { readTenant } from '../tenants/store.ts'
import type { Place } from './roles.ts'

export interface Person {
  readonly issuer: string
  readonly subject: string
  readonly name: string
}

interface Row {
  readonly id: string
  readonly tenant: string
  readonly name: string
  readonly role: Role
}

const known = (row: Row): Caller => callerOf({ kind: 'member', ...row })

/** In a transaction. */
export async function admit(
  sql: Sql,
  { issuer, subject, name }: Person,
  place: Place,
  origin: Origin,
): Promise<Caller> {
  const [was] = await sql.query<Row>(
    'select id, tenant, name, role from members where issuer = $1 and subject = $2 for update',
    [issuer, subject],
  )
  const [is] = await sql.query<Row>(
    `insert into members (id, tenant, name, role, issuer, subject)
     select $1, t.id, $3, $4, $5, $6 from tenants t where t.id = $2 and t.deleted_at is null
       and ($7 or (select count(*) from members m where m.tenant = t.id) < ${limits.membersPerTenant}) for key share of t
     on conflict (issuer, subject) do update set tenant = excluded.tenant, name = excluded.name, role = excluded.role
     returning id, tenant, name, role`,
    [newId('member'), place.tenant, name, place.role, issuer, subject, was?.tenant === place.tenant],
  )
  if (is === undefined) throw await noRoom(sql, place.tenant)
  // To a tenant that he has not been in, he is new.
  const changes = changesOf({ ...(was?.tenant === is.tenant ? { before: shown(was) } : {}), after: shown(is) })
  if (was !== undefined && was.tenant !== is.tenant)
    note(sql, { ...origin, caller: known(is) }, { tenant: was.tenant, kind: 'member', target: was.id, changes: changesOf({ before: shown(was) }) }) // prettier-ignore
  if (Object.keys(changes).length > 0)
    note(sql, { ...origin, caller: known(is) }, { tenant: is.tenant, kind: 'member', target: is.id, changes })
  return known(is)
}

/** In a transaction. Who has no group any more is no member any more, and the sessions that are open end. */
export async function dismiss(sql: Sql, { issuer, subject }: Person, origin: Origin): Promise<void> {
  const [was] = await sql.query<Row>(
    'delete from members where issuer = $1 and subject = $2 returning id, tenant, name, role',
    [issuer, subject],
  )
  if (was === undefined) return
  const changes = changesOf({ before: shown(was) })
  note(sql, { ...origin, caller: known(was) }, { tenant: was.tenant, kind: 'member', target: was.id, changes })
}

const shown = ({ name, role }: Row) => ({ name, role })

/** The place that a group leads to cannot take anybody. */
export class NoRoom extends QuickLinkError {}

async function noRoom(sql: Sql, tenant: string): Promise<NoRoom> {
  if (!(await readTenant(sql, tenant)))
    return new NoRoom('forbidden', `OIDC_ROLES sends you to the tenant ${tenant}, which is not there: tell whoever runs this server.`) // prettier-ignore
  return new NoRoom('conflict', `The tenant ${tenant} has ${limits.membersPerTenant} members: an admin has to remove some.`) // prettier-ignore
}
