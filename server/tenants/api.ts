// For the owner: tenants and their keys. A key is shown once, when it is made; Postgres has its hash.
import { randomBytes } from 'node:crypto'
import { Router, type Request, type Response } from 'express'
import { z } from 'zod'
import {
  jsonBody,
  methodNotAllowed,
  mustBe,
  ownerOnly,
  parseBody,
  parseQuery,
  sendJson,
  sendNothing,
} from '../api/http.ts'
import { limits } from '../config.ts'
import type { Postgres } from '../connections/postgres.ts'
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

const pageForm = `must be a whole number from 1 to ${limits.pageMax}`
const listSchema = z.strictObject({
  limit: z
    .string(mustBe('given once'))
    .regex(/^\d{1,9}$/, pageForm)
    .transform(Number)
    .refine((n) => n >= 1 && n <= limits.pageMax, pageForm)
    .default(limits.pageMax),
  cursor: z.string(mustBe('given once')).optional(),
})

type TenantRequest = Request<{ id: string }>

export function tenantsRouter(deps: TenantsApiDeps): Router {
  const router = Router({ caseSensitive: true })
  router.use('/tenants', ownerOnly)
  router
    .route('/tenants')
    .post(jsonBody, (request: Request, response: Response) => create(deps, request, response))
    .get((request, response) => list(deps, request, response))
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))
  router
    .route('/tenants/:id')
    .get((request, response) => read(deps, request, response))
    .patch(jsonBody, (request: TenantRequest, response: Response) => patch(deps, request, response))
    .delete((request, response) => remove(deps, request, response))
    .all(methodNotAllowed('GET', 'HEAD', 'PATCH', 'DELETE'))
  router
    .route('/tenants/:id/keys')
    .post(jsonBody, (request: TenantRequest, response: Response) => createKey(deps, request, response))
    .get((request, response) => keys(deps, request, response))
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))
  router
    .route('/tenants/:id/keys/:keyId')
    .delete((request, response) => revoke(deps, request, response))
    .all(methodNotAllowed('DELETE'))
  return router
}

async function create(deps: TenantsApiDeps, request: Request, response: Response): Promise<void> {
  const body = parseBody(createSchema, request)
  const row = await insertTenant(deps.sql, { ...body, linkQuota: body.linkQuota ?? null })
  if (!row) {
    throw new QuickLinkError('conflict', `The id ${body.id} is taken, or was until lately: choose another one.`, {
      members: { field: 'id' },
    })
  }
  await deps.onChanged(row.id)
  sendJson(response, 201, present(row), { Location: `/api/v1/tenants/${row.id}` })
}

async function list(deps: TenantsApiDeps, request: Request, response: Response): Promise<void> {
  const { limit, cursor } = parseQuery(listSchema, request)
  const rows = await listTenants(deps.sql, cursor === undefined ? '' : fromCursor(cursor), limit + 1)
  const page = rows.slice(0, limit)
  sendJson(response, 200, {
    items: page.map(present),
    nextCursor: rows.length > limit ? toCursor(page.at(-1)?.id ?? '') : null,
  })
}

const toCursor = (last: string): string => Buffer.from(`tenant:${last}`).toString('base64url')

function fromCursor(cursor: string): string {
  const last = /^tenant:(.+)$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1]
  if (last === undefined || !idGrammar.test(last)) {
    throw invalid('cursor', 'cursor must be the nextCursor of an earlier page.')
  }
  return last
}

async function read(deps: TenantsApiDeps, request: TenantRequest, response: Response): Promise<void> {
  sendJson(response, 200, present(await existing(deps, request)))
}

async function patch(deps: TenantsApiDeps, request: TenantRequest, response: Response): Promise<void> {
  const body = parseBody(patchSchema, request)
  const tenant = request.params.id
  if (tenant === ownerTenant && (body.tier ?? 'unlimited') !== 'unlimited') {
    throw new QuickLinkError('conflict', "The owner's tenant stays unlimited.", { members: { field: 'tier' } })
  }
  const row = await patchTenant(deps.sql, tenant, body)
  if (!row) throw noTenant(tenant)
  await deps.onChanged(tenant)
  sendJson(response, 200, present(row))
}

async function remove(deps: TenantsApiDeps, request: TenantRequest, response: Response): Promise<void> {
  const tenant = request.params.id
  if (tenant === ownerTenant) throw new QuickLinkError('conflict', "The owner's tenant cannot be deleted.")
  const deletion = await deps.sql.transaction((sql) => deleteTenant(sql, tenant))
  if (deletion === 'unknown') throw noTenant(tenant)
  if (deletion === 'has_links') {
    throw new QuickLinkError('conflict', `The tenant ${tenant} has links: delete them first.`)
  }
  await deps.onChanged(tenant)
  sendNothing(response)
}

async function createKey(deps: TenantsApiDeps, request: TenantRequest, response: Response): Promise<void> {
  const body = parseBody(keySchema, request)
  const tenant = request.params.id
  const key = generateKey()
  const row = await insertKey(deps.sql, {
    id: `key_${randomBytes(9).toString('base64url')}`,
    tenant,
    name: body.name,
    hash: hashKey(key),
    expiresAt: body.expiresAt ?? null,
  })
  if (!row) throw noTenant(tenant)
  const { id, ...rest } = presentKey(row)
  sendJson(response, 201, { id, key, ...rest }, { Location: `/api/v1/tenants/${tenant}/keys/${row.id}` })
}

async function keys(deps: TenantsApiDeps, request: TenantRequest, response: Response): Promise<void> {
  const { id: tenant } = await existing(deps, request)
  const rows = await listKeys(deps.sql, tenant, limits.keysListed)
  sendJson(response, 200, { items: rows.map(presentKey) })
}

async function revoke(deps: TenantsApiDeps, request: Request<{ id: string; keyId: string }>, response: Response) {
  const { id: tenant, keyId } = request.params
  if (tenant === ownerTenant && keyId === ownerKeyId) {
    throw new QuickLinkError(
      'conflict',
      'This key cannot be revoked: to replace it, start QuickLink with a new OWNER_KEY.',
    )
  }
  if (!(await revokeKey(deps.sql, tenant, keyId))) {
    throw new QuickLinkError('not_found', `There is no key ${keyId} of a tenant ${tenant}.`)
  }
  sendNothing(response)
}

async function existing(deps: TenantsApiDeps, request: TenantRequest): Promise<TenantRow> {
  const row = await readTenant(deps.sql, request.params.id)
  if (!row) throw noTenant(request.params.id)
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
