// What the API offers about tenants and their keys.
import { z } from 'zod'
import {
  allOf,
  count,
  futureTime,
  idOf,
  largestInteger,
  mustBe,
  pageOf,
  pageShown,
  tenantIdGiven,
  tenantNamed,
  tenantShown,
  textOf,
  timeShown,
} from '../api/fields.ts'
import { operationsOf, roles } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { tierNames } from './tiers.ts'

const ofTenants = operationsOf('Tenants')
const ofKeys = operationsOf('Keys')

const quotaForm = `a whole number from 0 to ${largestInteger}, or null`

const name = textOf(1, 200).meta({ description: 'For people.', examples: ['Acme'] })
const tier = z.enum(tierNames, mustBe(`one of: ${tierNames.join(', ')}`)).meta({ description: 'What it may use.' })
const linkQuota = z
  .int(mustBe(quotaForm))
  .min(0, `must be ${quotaForm}`)
  .max(largestInteger, `must be ${quotaForm}`)
  .nullable()
  .meta({ description: "Links that it may have; null: as many as its tier's." })
const preview = z.boolean(mustBe('true or false')).meta({
  description: 'Whether the address of a link with `+` behind it is a page that shows where it leads.',
})

const newTenant = z
  .strictObject(
    { id: tenantIdGiven, name, tier, linkQuota: linkQuota.optional(), preview: preview.optional() },
    mustBe('a JSON object'),
  )
  .meta({ id: 'NewTenant' })
const tenantChange = z
  .strictObject(
    { name: name.optional(), tier: tier.optional(), linkQuota: linkQuota.optional(), preview: preview.optional() },
    mustBe('a JSON object'),
  )
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'TenantChange', minProperties: 1 })
const newKey = z
  .strictObject(
    {
      name,
      expiresAt: futureTime.nullable().optional().meta({ description: 'When it ends, in the future; null: never.' }),
      role: z
        .enum(roles, mustBe(`one of: ${roles.join(', ')}`))
        .optional()
        .meta({
          description:
            'What it may do, at most as much as yours. By default `editor`; of the tenant `owner`: `owner`, which only its keys can be.',
        }),
    },
    mustBe('a JSON object'),
  )
  .meta({ id: 'NewKey' })

const tenant = z
  .object({
    id: tenantShown,
    name: z.string(),
    tier: z.enum(tierNames),
    linkQuota: count.nullable(),
    preview: z.boolean(),
    createdAt: timeShown,
    updatedAt: timeShown,
  })
  .meta({ id: 'Tenant' })
export type TenantShown = z.input<typeof tenant>

const keyFields = {
  id: z.string().meta({ examples: ['key_5Kd2vXgWm1Qz'] }),
  name: z.string(),
  role: z.enum(roles),
  expiresAt: timeShown.nullable(),
  revokedAt: timeShown.nullable(),
  createdAt: timeShown,
}
const key = z.object(keyFields).meta({ id: 'Key' })
const keyOnce = z
  .object({ ...keyFields, key: z.string().meta({ description: 'The key itself, this once.' }) })
  .meta({ id: 'KeyOnce' })
export type KeyShown = z.input<typeof key>

const ofTenant = z.object({ id: tenantNamed })
const ofKey = z.object({
  id: tenantNamed,
  keyId: idOf('key', { description: 'The id of a key, which is not the key.', examples: ['key_5Kd2vXgWm1Qz'] }),
})

export const createTenant = ofTenants('createTenant', 'post', '/tenants', 'owner', {
  summary: 'Make a tenant',
  body: { schema: newTenant, example: { id: 'acme', name: 'Acme', tier: 'standard' } },
  answer: { status: 201, what: 'The tenant.', schema: tenant, headers: ['Location'] },
  problems: ['conflict'],
})

export const listAll = ofTenants('listTenants', 'get', '/tenants', 'owner', {
  summary: 'List tenants',
  about: 'By their ids.',
  query: z.strictObject(pageOf(limits.pageMax)),
  answer: { status: 200, what: 'A page of tenants.', schema: pageShown(tenant).meta({ id: 'TenantPage' }) },
})

export const read = ofTenants('readTenant', 'get', '/tenants/{id}', 'owner', {
  summary: 'Read a tenant',
  params: ofTenant,
  answer: { status: 200, what: 'The tenant.', schema: tenant },
})

export const change = ofTenants('changeTenant', 'patch', '/tenants/{id}', 'owner', {
  summary: 'Change a tenant',
  about: 'A merge patch: what it names is changed, the rest stays.',
  params: ofTenant,
  body: { schema: tenantChange, example: { tier: 'plus' } },
  answer: { status: 200, what: 'The tenant as it is now.', schema: tenant },
  problems: ['conflict'],
})

export const remove = ofTenants('deleteTenant', 'delete', '/tenants/{id}', 'owner', {
  summary: 'Delete a tenant',
  about: 'It must not have a link that may still redirect. Its keys are revoked.',
  params: ofTenant,
  answer: { status: 204, what: 'It is deleted.' },
  problems: ['conflict'],
})

export const createKey = ofKeys('createKey', 'post', '/tenants/{id}/keys', 'admin', {
  summary: 'Make a key',
  about: `An admin makes keys of its own tenant. A tenant has at most ${limits.keysPerTenant}.`,
  params: ofTenant,
  body: { schema: newKey, example: { name: 'their server' } },
  answer: { status: 201, what: 'The key. Nobody can show it again.', schema: keyOnce, headers: ['Location'] },
  problems: ['conflict'],
})

export const listKeys = ofKeys('listKeys', 'get', '/tenants/{id}/keys', 'admin', {
  summary: 'List keys',
  about: `The newest first. Those that ended or were revoked are among them for ${limits.purgeAfterDays} days.`,
  params: ofTenant,
  answer: { status: 200, what: 'The keys.', schema: allOf(key, 'Keys') },
})

export const readKey = ofKeys('readKey', 'get', '/tenants/{id}/keys/{keyId}', 'admin', {
  summary: 'Read a key',
  about: 'What is known of it, not the key itself. One that was revoked is 404; the list has it for a while.',
  params: ofKey,
  answer: { status: 200, what: 'The key.', schema: key },
})

export const revokeKey = ofKeys('revokeKey', 'delete', '/tenants/{id}/keys/{keyId}', 'admin', {
  summary: 'Revoke a key',
  about: 'Within a second it is refused everywhere.',
  params: ofKey,
  answer: { status: 204, what: 'It is revoked.' },
  problems: ['conflict'],
})
