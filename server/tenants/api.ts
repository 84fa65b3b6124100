// Tenants and their keys. A key is shown once, when it is made; Postgres has its hash.
import { randomBytes } from 'node:crypto'
import { isTenantId } from '../api/fields.ts'
import { covers, route, type Caller, type Role, type Route } from '../api/operation.ts'
import { changesOf, type Changes } from '../audit/changes.ts'
import { note, type Noted } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import { generateKey, hashKey, hashWithRole, roleWithout } from './keys.ts'
import * as operations from './operations.ts'
import type { KeyShown, TenantShown } from './operations.ts'
import {
  deleteTenant,
  insertKey,
  insertTenant,
  listKeys,
  listTenants,
  lockTenant,
  patchTenant,
  readKey,
  readTenant,
  revokeKey,
  type KeyRow,
  type TenantRow,
} from './store.ts'
import { isTierName } from './tiers.ts'

export interface TenantsApiDeps {
  readonly sql: Postgres
  /** A tenant's terms have changed, or it is gone. Must not reject. */
  readonly onChanged: (tenant: string) => Promise<void>
}

const ownerTenant = 'owner'
/** The key that OWNER_KEY or the first start has set. */
const ownerKeyId = 'owner'

export const tenantRoutes = (deps: TenantsApiDeps): Route[] => [...ofTenants(deps), ...ofKeys(deps)]

const ofTenants = ({ sql, onChanged }: TenantsApiDeps): Route[] => [
  route(operations.createTenant, async ({ by, body }) => {
    const given = { ...body, linkQuota: body.linkQuota ?? null, preview: body.preview ?? false }
    const row = await sql.transaction(async (sql) => {
      const made = await insertTenant(sql, given)
      if (made) note(sql, by, ofTenant(made.id, changesOf({ after: present(made) })))
      return made
    })
    if (!row) {
      throw new QuickLinkError('conflict', `The id ${body.id} is taken, or was until lately: choose another one.`, {
        members: { field: 'id' },
      })
    }
    await onChanged(row.id)
    return { body: present(row), headers: { Location: `/api/v1/tenants/${row.id}` } }
  }),
  route(operations.listAll, async ({ query: { limit, cursor } }) => {
    const rows = await listTenants(sql, cursor === undefined ? '' : fromCursor(cursor), limit + 1)
    const page = rows.slice(0, limit)
    const nextCursor = rows.length > limit ? toCursor(page.at(-1)?.id ?? '') : null
    return { body: { items: page.map(present), nextCursor } }
  }),
  route(operations.read, async ({ params }) => ({ body: present(await existing(sql, params.id)) })),
  route(operations.change, async ({ by, params: { id }, body }) => {
    if (id === ownerTenant && (body.tier ?? 'unlimited') !== 'unlimited') {
      throw new QuickLinkError('conflict', "The owner's tenant stays unlimited.", { members: { field: 'tier' } })
    }
    const row = await sql.transaction(async (sql) => {
      const was = await lockTenant(sql, id)
      const is = await patchTenant(sql, id, body)
      if (was && is) note(sql, by, ofTenant(id, changesOf({ before: present(was), after: present(is) })))
      return is
    })
    if (!row) throw noTenant(id)
    await onChanged(id)
    return { body: present(row) }
  }),
  route(operations.remove, async ({ by, params: { id } }) => {
    if (id === ownerTenant) throw new QuickLinkError('conflict', "The owner's tenant cannot be deleted.")
    const deletion = await sql.transaction(async (sql) => {
      const deletion = await deleteTenant(sql, id)
      if (deletion === 'deleted') note(sql, by, ofTenant(id))
      return deletion
    })
    if (deletion === 'unknown') throw noTenant(id)
    if (deletion === 'has_links') {
      throw new QuickLinkError('conflict', `The tenant ${id} has links: delete them first.`)
    }
    await onChanged(id)
    return undefined
  }),
]

const ofKeys = ({ sql }: TenantsApiDeps): Route[] => [
  route(
    operations.createKey,
    async ({ caller, by, params: { id: tenant }, body: { name, expiresAt = null, role } }) => {
      mayManageKeysOf(tenant, caller)
      if (role === 'owner' && tenant !== ownerTenant) {
        throw new QuickLinkError('conflict', 'The role owner is for keys of the tenant owner.', {
          members: { field: 'role' },
        })
      }
      const usual = roleWithout(tenant)
      mayGive(role ?? usual, caller)
      // What is usual is not written down: servers from before there were roles know those keys, too.
      const given = role === undefined || role === usual ? null : role
      const key = generateKey()
      const id = `key_${randomBytes(9).toString('base64url')}`
      const hash = given === null ? hashKey(key) : hashWithRole(key)
      const row = await sql.transaction(async (sql) => {
        const made = await insertKey(sql, { id, tenant, name, hash, expiresAt, role: given })
        const changes = made && changesOf({ after: presentKey(made, tenant) })
        if (made) note(sql, by, { tenant, kind: 'key', target: id, changes })
        return made
      })
      if (!row) throw tooManyKeys(await existing(sql, tenant))
      return {
        body: { ...presentKey(row, tenant), key },
        headers: { Location: `/api/v1/tenants/${tenant}/keys/${id}` },
      }
    },
  ),
  route(operations.listKeys, async ({ caller, params }) => {
    mayManageKeysOf(params.id, caller)
    const { id } = await existing(sql, params.id)
    return { body: { items: (await listKeys(sql, id)).map((row) => presentKey(row, id)) } }
  }),
  route(operations.readKey, async ({ caller, params: { id, keyId } }) => {
    mayManageKeysOf(id, caller)
    const body = await existingKey(sql, id, keyId)
    // What was deleted is not there; the list says what became of it.
    if (body.revokedAt !== null) throw noKey(id, keyId)
    return { body }
  }),
  route(operations.revokeKey, async ({ caller, by, params: { id, keyId } }) => {
    mayManageKeysOf(id, caller)
    if (id === ownerTenant && keyId === ownerKeyId) {
      const how = 'This key cannot be revoked: to replace it, start QuickLink with a new OWNER_KEY.'
      throw new QuickLinkError('conflict', how)
    }
    const { role } = await existingKey(sql, id, keyId)
    mayGive(role, caller)
    await sql.transaction(async (sql) => {
      const gone = await revokeKey(sql, id, keyId)
      if (!gone) throw noKey(id, keyId)
      note(sql, by, { tenant: id, kind: 'key', target: keyId, changes: changesOf({ before: { name: gone.name } }) })
    })
    return undefined
  }),
]

/** Of itself, in its own log. */
const ofTenant = (id: string, changes?: Changes): Noted => ({ tenant: id, kind: 'tenant', target: id, changes })

const toCursor = (last: string): string => Buffer.from(`tenant:${last}`).toString('base64url')

function fromCursor(cursor: string): string {
  const last = /^tenant:(.+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1]
  if (last === undefined || !isTenantId(last)) {
    throw invalid('cursor', 'cursor must be the nextCursor of an earlier page.')
  }
  return last
}

async function existing(sql: Sql, id: string): Promise<TenantRow> {
  const row = await readTenant(sql, id)
  if (!row) throw noTenant(id)
  return row
}

const noTenant = (id: string): QuickLinkError => new QuickLinkError('not_found', `There is no tenant ${id}.`)

async function existingKey(sql: Sql, tenant: string, id: string): Promise<KeyShown> {
  const row = await readKey(sql, tenant, id)
  if (!row) throw noKey(tenant, id)
  return presentKey(row, tenant)
}

function mayManageKeysOf(tenant: string, caller: Caller): void {
  if (caller.isOwner || caller.tenant === tenant) return
  throw new QuickLinkError('forbidden', "Only the owner may manage another tenant's keys.")
}

/** Nobody gives more than he has, nor takes away from those above him. */
function mayGive(role: Role, caller: Caller): void {
  if (covers(caller.role, role)) return
  throw new QuickLinkError(
    'forbidden',
    `Your key has the role ${caller.role}, and cannot manage keys with the role ${role}.`,
  )
}

const tooManyKeys = ({ id }: TenantRow): QuickLinkError => {
  const bound = `The tenant ${id} has ${limits.keysPerTenant} keys, with those that were revoked lately`
  return new QuickLinkError('conflict', `${bound}: revoke some, and wait ${limits.purgeAfterDays} days.`)
}

const noKey = (tenant: string, id: string): QuickLinkError =>
  new QuickLinkError('not_found', `There is no key ${id} of a tenant ${tenant}.`)

const present = (row: TenantRow): TenantShown => ({
  id: row.id,
  name: row.name,
  tier: isTierName(row.tier) ? row.tier : 'standard',
  linkQuota: row.linkQuota,
  preview: row.preview,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

const presentKey = (row: KeyRow, tenant: string): KeyShown => ({
  id: row.id,
  name: row.name,
  role: row.role ?? roleWithout(tenant),
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
})
