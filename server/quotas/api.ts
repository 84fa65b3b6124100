// What a tenant has used of its limits, and the sync of its quota on demand.
import { Router, type Response } from 'express'
import { callerOf, methodNotAllowed, ownerOnly, sendJson } from '../api/http.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import type { Directory, TenantTerms } from '../tenants/directory.ts'
import { countLinks } from './quota-store.ts'
import type { RateLimit, Window } from '../rates/rate-limit.ts'
import type { QuotaSync } from './quota-sync.ts'
import { linkLimit, type TenantQuota } from './tenant-quota.ts'
import type { Tiers } from '../tenants/tiers.ts'

export interface UsageApiDeps {
  readonly sql: Postgres
  readonly directory: Directory
  readonly tiers: Tiers
  readonly rateLimit: RateLimit
  readonly quota: TenantQuota
  readonly quotaSync: QuotaSync
}

export function usageRouter(deps: UsageApiDeps): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/limits')
    .get(async (_request, response) => show(deps, response, callerOf(response).tenant))
    .all(methodNotAllowed('GET', 'HEAD'))
  router
    .route('/tenants/:id/limits')
    .get(ownerOnly, async (request, response) => show(deps, response, request.params.id))
    .all(methodNotAllowed('GET', 'HEAD'))
  router
    .route('/tenants/:id/quota/sync')
    .post(ownerOnly, async (request, response) => {
      const { id } = request.params
      const synced = await deps.quota.sync(id).catch(couldNot)
      if (!synced) throw new QuickLinkError('not_found', 'There is no such tenant.')
      sendJson(response, 200, synced)
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/quota/sync')
    .post(ownerOnly, async (_request, response) => {
      sendJson(response, 200, { items: await deps.quotaSync.all().catch(couldNot) })
    })
    .all(methodNotAllowed('POST'))
  return router
}

const couldNot = (error: unknown): never => {
  throw unavailable('The quota cannot be synced at the moment: try again soon.', error)
}

async function show(deps: UsageApiDeps, response: Response, id: string): Promise<void> {
  const tenant = await deps.directory.get(id)
  const [status, links] = await Promise.all([deps.rateLimit.getStatus(tenant), linksOf(deps, tenant)])
  const { creates, failedCreates, changes, aggregate } = status
  sendJson(response, 200, {
    tier: tenant.tier,
    creates: shown(creates),
    failedCreates: shown(failedCreates),
    changes: shown(changes),
    aggregate: shownAggregate(aggregate, callerOf(response).isOwner),
    links,
  })
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
function shownAggregate(window: Window | null, toOwner: boolean): object {
  const { used, remaining, ...rest } = shown(window)
  const near = window && window.used >= nearShare * window.limit
  return { ...rest, near, ...(toOwner ? { used, remaining } : {}) }
}

const linksOf = async ({ sql, tiers }: UsageApiDeps, tenant: TenantTerms): Promise<object> => ({
  used: await countLinks(sql, tenant.id),
  limit: linkLimit(tiers, tenant),
})
