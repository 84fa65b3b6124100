// Members: people of a tenant, with a role. Who comes by an invitation has it from an admin; who comes by an identity provider, from
// its groups.
import { covers, route, type Caller, type Role, type Route } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import type { MakeLink } from '../sessions/links.ts'
import { newId } from '../sessions/token.ts'
import { createAttempts } from '../tenants/attempts.ts'
import { readTenant } from '../tenants/store.ts'
import * as operations from './operations.ts'
import type { MemberShown } from './operations.ts'
import {
  deleteMember,
  insertMember,
  listMembers,
  lockMember,
  patchMember,
  readMember,
  type MemberRow,
  type NewMember,
} from './store.ts'

interface MembersDeps {
  readonly sql: Postgres
  readonly makeLink: MakeLink
  readonly onTooMany: () => void
}

const invitationMinutes = limits.invitationDays * 24 * 60

export function memberRoutes({ sql, makeLink, onTooMany }: MembersDeps): Route[] {
  const changes = createAttempts(() => performance.now(), onTooMany, {
    most: limits.memberChangesPerMinute,
    detail: 'Your tenant has changed its members too often within a minute: try again later.',
  })
  /** Each leaves an entry in the audit log. */
  const count = ({ isOwner, tenant }: Caller): void => {
    if (!isOwner) changes.begin(tenant)
  }
  return routesOf({ sql, makeLink, count })
}

interface RoutesDeps extends Omit<MembersDeps, 'onTooMany'> {
  readonly count: (caller: Caller) => void
}

const routesOf = ({ sql, makeLink, count }: RoutesDeps): Route[] => [
  route(operations.createMember, async ({ caller, by, body: { name, role, tenant: of } }) => {
    const tenant = tenantOf(caller, of)
    mayGive(role, caller)
    count(caller)
    const id = newId('member')
    const body = await sql.transaction(async (sql) => {
      const row = await inserted(sql, { id, tenant, name, role })
      const invitation = await makeLink(sql, { kind: 'member', id }, invitationMinutes, caller)
      note(sql, by, { tenant, kind: 'member', target: id, changes: changesOf({ after: { name, role } }) })
      return { ...present(row), invitation }
    })
    return { body, headers: { Location: `/api/v1/members/${id}` } }
  }),
  route(operations.listMembers, async ({ caller, query }) => ({
    body: { items: (await listMembers(sql, tenantOf(caller, query.tenant))).map(present) },
  })),
  route(operations.readMember, async ({ caller, params: { id } }) => {
    const row = await readMember(sql, id, scopeOf(caller))
    if (!row) throw noMember(id)
    return { body: present(row) }
  }),
  route(operations.changeMember, async ({ caller, by, params: { id }, body: patch }) => {
    count(caller)
    const row = await sql.transaction(async (sql) => {
      const was = await locked(sql, id, caller)
      if (patch.role !== undefined) mayGive(patch.role, caller)
      if (was.issuer !== null) throw ofProvider()
      const is = await patchMember(sql, id, patch)
      const changes = changesOf({ before: present(was), after: present(is) })
      note(sql, by, { tenant: is.tenant, kind: 'member', target: id, changes })
      return is
    })
    return { body: present(row) }
  }),
  route(operations.deleteMember, async ({ caller, by, params: { id } }) => {
    count(caller)
    await sql.transaction(async (sql) => {
      const { tenant, name, role } = await locked(sql, id, caller)
      await deleteMember(sql, id)
      note(sql, by, { tenant, kind: 'member', target: id, changes: changesOf({ before: { name, role } }) })
    })
    return undefined
  }),
  route(operations.inviteMember, async ({ caller, by, params: { id } }) => {
    count(caller)
    const body = await sql.transaction(async (sql) => {
      const { tenant, issuer } = await locked(sql, id, caller)
      if (issuer !== null) throw ofProvider()
      const link = await makeLink(sql, { kind: 'member', id }, invitationMinutes, caller)
      note(sql, by, { tenant, kind: 'member', target: id })
      return link
    })
    return { body }
  }),
]

async function inserted(sql: Sql, member: NewMember): Promise<MemberRow> {
  const row = await insertMember(sql, member)
  if (row) return row
  const { tenant } = member
  if (!(await readTenant(sql, tenant))) throw new QuickLinkError('not_found', `There is no tenant ${tenant}.`)
  throw new QuickLinkError('conflict', `The tenant ${tenant} has ${limits.membersPerTenant} members: remove some.`)
}

/** The member, if the caller may do something about it. */
async function locked(sql: Sql, id: string, caller: Caller): Promise<MemberRow> {
  const row = await lockMember(sql, id, scopeOf(caller))
  if (!row) throw noMember(id)
  mayGive(row.role, caller)
  return row
}

/** An admin is told of another tenant's member what it would be told if there were none. */
const scopeOf = (caller: Caller): string | null => (caller.isOwner ? null : caller.tenant)

function tenantOf(caller: Caller, tenant: string | undefined): string {
  if (tenant === undefined || tenant === caller.tenant || caller.isOwner) return tenant ?? caller.tenant
  throw new QuickLinkError('forbidden', "Only the owner may manage another tenant's members.")
}

/** Nobody gives more than he has, nor takes away from those above him. */
function mayGive(role: Role, caller: Caller): void {
  if (covers(caller.role, role)) return
  throw new QuickLinkError(
    'forbidden',
    `You have the role ${caller.role}, and cannot manage members with the role ${role}.`,
  )
}

const ofProvider = (): QuickLinkError =>
  new QuickLinkError(
    'conflict',
    'This member comes from the identity provider: change its name and groups there, or OIDC_ROLES here.',
  )

const noMember = (id: string): QuickLinkError => new QuickLinkError('not_found', `There is no member ${id}.`)

const present = (row: MemberRow): MemberShown => ({
  id: row.id,
  tenant: row.tenant,
  name: row.name,
  role: row.role,
  by: row.issuer === null ? 'invitation' : 'oidc',
  state: row.signedInAt === null ? 'invited' : 'joined',
  createdAt: row.createdAt.toISOString(),
  signedInAt: row.signedInAt?.toISOString() ?? null,
})
