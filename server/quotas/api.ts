// What a tenant has used of its limits, and the sync of its quota on demand.
import { z } from 'zod'
import { allOf, count, tenantNamed, tenantShown, timeShown } from '../api/fields.ts'
import { operationsOf, route, type Route } from '../api/operation.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import type { Directory, TenantTerms } from '../tenants/directory.ts'
import { countLinks } from './quota-store.ts'
import type { RateLimit, Window } from '../rates/rate-limit.ts'
import type { QuotaSync } from './quota-sync.ts'
import { linkLimit, type TenantQuota } from './tenant-quota.ts'
import { tierNames, type Tiers } from '../tenants/tiers.ts'

const operation = operationsOf('Limits')

export interface UsageApiDeps {
  readonly sql: Postgres
  readonly directory: Directory
  readonly tiers: Tiers
  readonly rateLimit: RateLimit
  readonly quota: TenantQuota
  readonly quotaSync: QuotaSync
}

const window = z
  .object({
    limit: count.nullable(),
    used: count.nullable(),
    remaining: count.nullable(),
    resetsAt: timeShown.nullable(),
  })
  .meta({ description: 'Of an hour; null where the tier has no such limit.' })

const usage = z
  .object({
    tier: z.enum(tierNames),
    creates: window,
    failedCreates: window.meta({ description: 'As many creates that fail are free; further ones count as creates.' }),
    changes: window,
    aggregate: z
      .object({
        limit: count.nullable(),
        near: z.boolean().nullable().meta({ description: 'Four fifths of it are used.' }),
        resetsAt: timeShown.nullable(),
        used: count.nullable().optional().meta({ description: 'For the owner.' }),
        remaining: count.nullable().optional().meta({ description: 'For the owner.' }),
      })
      .meta({ description: 'Creates of all tenants of the tier standard together.' }),
    links: z.object({ used: count, limit: count.nullable() }),
  })
  .meta({ id: 'Usage' })

const synced = z
  .object({
    tenant: tenantShown,
    used: count.meta({ description: 'Links of the tenant, as counted in Postgres.' }),
    before: z.int().nullable().meta({ description: 'What Redis had; null: nothing, or there is none.' }),
    after: count.nullable(),
  })
  .meta({ id: 'QuotaSync' })

export const readLimits = operation('readLimits', 'get', '/limits', 'viewer', {
  summary: 'What is used of your limits',
  answer: { status: 200, what: "The caller's tenant.", schema: usage },
})

export const readTenantLimits = operation('readTenantLimits', 'get', '/tenants/{id}/limits', 'owner', {
  summary: "What is used of a tenant's limits",
  params: z.object({ id: tenantNamed }),
  answer: { status: 200, what: 'That tenant.', schema: usage },
})

export const syncQuota = operation('syncQuota', 'post', '/tenants/{id}/quota/sync', 'owner', {
  summary: "Count a tenant's links anew",
  about: 'It happens every night by itself, and whenever Redis may be wrong.',
  params: z.object({ id: tenantNamed }),
  answer: { status: 200, what: 'What was counted.', schema: synced },
})

export const syncQuotas = operation('syncQuotas', 'post', '/quota/sync', 'owner', {
  summary: "Count all tenants' links anew",
  answer: {
    status: 200,
    what: 'What was counted, of every tenant.',
    schema: allOf(synced, 'QuotaSyncs'),
  },
})

export const usageRoutes = (deps: UsageApiDeps): Route[] => [
  route(readLimits, async ({ caller }) => ({ body: await usageOf(deps, caller.tenant, caller.isOwner) })),
  route(readTenantLimits, async ({ params }) => ({ body: await usageOf(deps, params.id, true) })),
  route(syncQuota, async ({ params }) => {
    const counted = await deps.quota.sync(params.id).catch(couldNot)
    if (!counted) throw new QuickLinkError('not_found', 'There is no such tenant.')
    return { body: counted }
  }),
  route(syncQuotas, async () => ({ body: { items: await deps.quotaSync.all().catch(couldNot) } })),
]

const couldNot = (error: unknown): never => {
  throw unavailable('The quota cannot be synced at the moment: try again soon.', error)
}

async function usageOf(deps: UsageApiDeps, id: string, toOwner: boolean): Promise<z.input<typeof usage>> {
  const tenant = await deps.directory.get(id)
  const [status, links] = await Promise.all([deps.rateLimit.getStatus(tenant), linksOf(deps, tenant)])
  const { creates, failedCreates, changes, aggregate } = status
  return {
    tier: tenant.tier,
    creates: shown(creates),
    failedCreates: shown(failedCreates),
    changes: shown(changes),
    aggregate: shownAggregate(aggregate, toOwner),
    links,
  }
}

/** The same members for every tenant; null where its tier has no such limit. */
const shown = (window: Window | null) => ({
  limit: window?.limit ?? null,
  used: window?.used ?? null,
  remaining: window?.remaining ?? null,
  resetsAt: window?.resetsAt.toISOString() ?? null,
})

/** From this share of it on, a limit of all is near. */
const nearShare = 0.8

/** How much the others create is nothing that a tenant should know. */
function shownAggregate(window: Window | null, toOwner: boolean) {
  const { used, remaining, ...rest } = shown(window)
  const near = window && window.used >= nearShare * window.limit
  return { ...rest, near, ...(toOwner ? { used, remaining } : {}) }
}

const linksOf = async ({ sql, tiers }: UsageApiDeps, tenant: TenantTerms) => ({
  used: await countLinks(sql, tenant.id),
  limit: linkLimit(tiers, tenant),
})
