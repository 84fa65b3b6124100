// For the owner: tenants and their keys. A key is shown once, when it is made; Postgres has its hash.
import { randomBytes } from 'node:crypto'
import { Router } from 'express'
import { z } from 'zod'
import {
  jsonBody,
  methodNotAllowed,
  mustBe,
  ownerOnly,
  pageOf,
  parseBody,
  parseQuery,
  sendJson,
  sendNothing,
} from '../api/http.ts'
import { limits } from '../config.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import { isTierName, tierNames } from './tiers.ts'
import { futureTime } from '../links/input.ts'
import { generateKey, hashKey } from './keys.ts'
import {
  deleteTenant,
  insertKey,
  insertTenant,
  listKeys,
  listTenants,
  patchTenant,
  readTenant,
  revokeKey,
  type KeyRow,
  type TenantRow,
} from './store.ts'

export interface TenantsApiDeps {
  readonly sql: Postgres
  /** A tenant's terms have changed, or it is gone. Must not reject. */
  readonly onChanged: (tenant: string) => Promise<void>
}

const ownerTenant = 'owner'
/** The key that OWNER_KEY or the first start has set. */
const ownerKeyId = 'owner'
const idForm = 'must have 1 to 64 of the characters 0-9, A-Z, a-z, ., _ and -, and begin with a letter or digit'
const idGrammar = /^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/
const nameForm = 'must have 1 to 200 characters'
const largestInteger = 2 ** 31 - 1
const quotaForm = `a whole number from 0 to ${largestInteger}, or null`

const id = z.string(mustBe('text')).regex(idGrammar, idForm)
const name = z
  .string(mustBe('text'))
  .min(1, nameForm)
  .max(200, nameForm)
  .regex(/^\P{C}*$/u, 'must not contain control characters')
const tier = z.enum(tierNames, mustBe(`one of: ${tierNames.join(', ')}`))
const linkQuota = z.int(mustBe(quotaForm)).min(0, `must be ${quotaForm}`).max(largestInteger, `must be ${quotaForm}`).nullable() // prettier-ignore

const createSchema = z.strictObject({ id, name, tier, linkQuota: linkQuota.optional() }, mustBe('a JSON object'))
const patchSchema = z
  .strictObject(
    { name: name.optional(), tier: tier.optional(), linkQuota: linkQuota.optional() },
    mustBe('a JSON object'),
  )
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
const keySchema = z.strictObject({ name, expiresAt: futureTime.nullable().optional() }, mustBe('a JSON object'))

const listSchema = z.strictObject(pageOf(limits.pageMax))

export function tenantsRouter({ sql, onChanged }: TenantsApiDeps): Router {
  const router = Router({ caseSensitive: true })
  router.use('/tenants', ownerOnly)
  router
    .route('/tenants')
    .post(...jsonBody, async (request, response) => {
      const body = parseBody(createSchema, request)
      const row = await insertTenant(sql, { ...body, linkQuota: body.linkQuota ?? null })
      if (!row) {
        throw new QuickLinkError('conflict', `The id ${body.id} is taken, or was until lately: choose another one.`, {
          members: { field: 'id' },
        })
      }
      await onChanged(row.id)
      sendJson(response, 201, present(row), { Location: `/api/v1/tenants/${row.id}` })
    })
    .get(async (request, response) => {
      const { limit, cursor } = parseQuery(listSchema, request)
      const rows = await listTenants(sql, cursor === undefined ? '' : fromCursor(cursor), limit + 1)
      const page = rows.slice(0, limit)
      const nextCursor = rows.length > limit ? toCursor(page.at(-1)?.id ?? '') : null
      sendJson(response, 200, { items: page.map(present), nextCursor })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))
  router
    .route('/tenants/:id')
    .get(async ({ params }, response) => sendJson(response, 200, present(await existing(sql, params.id))))
    .patch(...jsonBody, async (request, response) => {
      const { id } = request.params
      const body = parseBody(patchSchema, request)
      if (id === ownerTenant && (body.tier ?? 'unlimited') !== 'unlimited') {
        throw new QuickLinkError('conflict', "The owner's tenant stays unlimited.", { members: { field: 'tier' } })
      }
      const row = await patchTenant(sql, id, body)
      if (!row) throw noTenant(id)
      await onChanged(id)
      sendJson(response, 200, present(row))
    })
    .delete(async ({ params: { id } }, response) => {
      if (id === ownerTenant) throw new QuickLinkError('conflict', "The owner's tenant cannot be deleted.")
      const deletion = await sql.transaction((sql) => deleteTenant(sql, id))
      if (deletion === 'unknown') throw noTenant(id)
      if (deletion === 'has_links') {
        throw new QuickLinkError('conflict', `The tenant ${id} has links: delete them first.`)
      }
      await onChanged(id)
      sendNothing(response)
    })
    .all(methodNotAllowed('GET', 'HEAD', 'PATCH', 'DELETE'))
  router
    .route('/tenants/:id/keys')
    .post(...jsonBody, async (request, response) => {
      const tenant = request.params.id
      const { name, expiresAt = null } = parseBody(keySchema, request)
      const key = generateKey()
      const id = `key_${randomBytes(9).toString('base64url')}`
      const row = await insertKey(sql, { id, tenant, name, hash: hashKey(key), expiresAt })
      if (!row) throw noTenant(tenant)
      sendJson(response, 201, { ...presentKey(row), key }, { Location: `/api/v1/tenants/${tenant}/keys/${id}` })
    })
    .get(async ({ params }, response) => {
      const { id } = await existing(sql, params.id)
      sendJson(response, 200, { items: (await listKeys(sql, id, limits.keysListed)).map(presentKey) })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))
  router
    .route('/tenants/:id/keys/:keyId')
    .delete(async ({ params: { id, keyId } }, response) => {
      if (id === ownerTenant && keyId === ownerKeyId) {
        const how = 'This key cannot be revoked: to replace it, start QuickLink with a new OWNER_KEY.'
        throw new QuickLinkError('conflict', how)
      }
      if (!(await revokeKey(sql, id, keyId))) {
        throw new QuickLinkError('not_found', `There is no key ${keyId} of a tenant ${id}.`)
      }
      sendNothing(response)
    })
    .all(methodNotAllowed('DELETE'))
  return router
}

const toCursor = (last: string): string => Buffer.from(`tenant:${last}`).toString('base64url')

function fromCursor(cursor: string): string {
  const last = /^tenant:(.+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1]
  if (last === undefined || !idGrammar.test(last)) {
    throw invalid('cursor', 'cursor must be the nextCursor of an earlier page.')
  }
  return last
}

async function existing(sql: Sql, id: string): Promise<TenantRow> {
  const row = await readTenant(sql, id)
  if (!row) throw noTenant(id)
  return row
}

const noTenant = (id: string): QuickLinkError =>
  new QuickLinkError('not_found', idGrammar.test(id) ? `There is no tenant ${id}.` : 'There is no such tenant.')

const present = (row: TenantRow): object => ({
  id: row.id,
  name: row.name,
  tier: isTierName(row.tier) ? row.tier : 'standard',
  linkQuota: row.linkQuota,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

const presentKey = (row: KeyRow) => ({
  id: row.id,
  name: row.name,
  expiresAt: row.expiresAt?.toISOString() ?? null,
  revokedAt: row.revokedAt?.toISOString() ?? null,
  createdAt: row.createdAt.toISOString(),
})
