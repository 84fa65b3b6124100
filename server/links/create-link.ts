// May this tenant create a link now? Rate limit first, then a place in its quota; the last word on the place has Postgres,
// in the transaction of the insert. What was taken goes back when no link came of it; rate-limit.ts says what a failure costs.
// And may it change one? That is a rate alone.
import type { Sql } from '../connections/postgres.ts'
import { isOurFault, QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import type { Admission, Admitted, Departure } from './change-link.ts'
import type { Directory } from '../tenants/directory.ts'
import { countLinks, lockTenant, lockTenantOf, takesOver, type QuotaTerms } from '../quotas/quota-store.ts'
import type { Acquired, RateLimit, RatedTenant, Unit } from '../rates/rate-limit.ts'
import { linkLimit, type Place, type TenantQuota } from '../quotas/tenant-quota.ts'
import type { Tiers } from '../tenants/tiers.ts'

export interface AdmissionDeps {
  readonly directory: Directory
  readonly tiers: Tiers
  readonly rateLimit: RateLimit
  readonly windowS: number
  /** undefined: there is no Redis, and Postgres decides alone. */
  readonly quota: TenantQuota | undefined
  readonly onRateLimited: (tier: 'standard' | 'plus' | 'unlimited' | 'aggregate') => void
  readonly onQuotaExceeded: () => void
}

export function createAdmission(deps: AdmissionDeps): Admission {
  const { directory, rateLimit } = deps
  return {
    async admit(id, code) {
      const tenant = await directory.get(id)
      const unit = orRefuse(deps, tenant, 'creates', await rateLimit.tryAcquire(tenant))
      try {
        return await takePlace(deps, id, linkLimit(deps.tiers, tenant), code, unit)
      } catch (error) {
        await settle(unit, error)
        throw error
      }
    },
    async change(id) {
      const tenant = await directory.get(id)
      const unit = orRefuse(deps, tenant, 'changes', await rateLimit.tryChange(tenant))
      return { release: (why) => settle(unit, why) }
    },
    depart: () => departure(deps),
  }
}

/** `why` is what it failed with; undefined: it was not needed. */
const settle = (unit: Unit, why: unknown): Promise<void> =>
  why === undefined || isOurFault(why) ? unit.giveBack() : unit.failed()

function orRefuse(deps: AdmissionDeps, tenant: RatedTenant, what: 'creates' | 'changes', acquired: Acquired): Unit {
  if (acquired.granted) return acquired
  const { by, window, endsInMs } = acquired
  deps.onRateLimited(by === 'aggregate' ? 'aggregate' : tenant.tier)
  const retryAfterS = Math.max(1, Math.ceil(endsInMs / 1000))
  const policy = by === 'aggregate' ? '"all-tenants"' : `"${what}"`
  // Of all tenants together nobody is told more than that it is too much now.
  const used = by === 'aggregate' ? {} : { used: window.used }
  throw new QuickLinkError('rate_limited', whyLimited[by === 'aggregate' ? by : what](window.limit), {
    retryAfterS,
    headers: {
      'RateLimit-Policy': `${policy};q=${window.limit};w=${deps.windowS}`,
      RateLimit: `${policy};r=0;t=${retryAfterS}`,
    },
    members: { limit: window.limit, ...used, resetsAt: window.resetsAt.toISOString() },
  })
}

const whyLimited = {
  creates: (limit: number) =>
    `This tenant may create ${limit} links per hour, and attempts that keep failing count as well: try again later.`,
  changes: (limit: number) => `This tenant may change or delete links ${limit} times per hour: try again later.`,
  aggregate: (limit: number) =>
    `All tenants of this tier together may create ${limit} links per hour: try again later.`,
}

async function takePlace(
  deps: AdmissionDeps,
  tenant: string,
  limit: number | null,
  code: Code | undefined,
  unit: Unit,
): Promise<Admitted> {
  const { quota } = deps
  // A custom code may take over one of the tenant's own that has expired: that needs no further place.
  const reserved = limit === null ? undefined : await quota?.reserve(tenant, limit, code !== undefined)
  if (reserved?.full) throw exceeded(deps, reserved.used, reserved.limit)
  const place: Place = reserved?.place ?? { generation: undefined }
  const saysThereIsRoom = place.generation !== undefined
  let needed = false
  let misled = false

  const tidyUp = async (): Promise<void> => {
    if (!needed) await quota?.refund(tenant, place.generation)
    if (misled) void quota?.correct(tenant)
  }
  return {
    async within(sql, insert) {
      needed = false
      if (limit !== null && !saysThereIsRoom && code === undefined) await refuseEarly(deps, sql, tenant, limit)
      const terms = await lock(deps, sql, tenant, limit !== null)
      const limitNow = linkLimit(deps.tiers, terms)
      if (limitNow === null) return insert()
      const takingOver = code !== undefined && (await takesOver(sql, tenant, code))
      const created = await insert()
      const count = await countLinks(sql, tenant)
      if (count > limitNow) {
        misled = saysThereIsRoom
        throw exceeded(deps, count - 1, limitNow)
      }
      needed = !takingOver
      if (needed && quota && !(await quota.countIn(tenant, place, terms.generation))) misled = true
      return created
    },
    done: tidyUp,
    async release(why) {
      needed = false
      await Promise.all([tidyUp(), settle(unit, why)])
    },
  }
}

/** Where Redis has not said that there is room, those who find none need not queue for the lock to learn it. */
async function refuseEarly(deps: AdmissionDeps, sql: Sql, tenant: string, limit: number): Promise<void> {
  const count = await countLinks(sql, tenant)
  if (count >= limit) throw exceeded(deps, count, limit)
}

/** The terms as they are now. The lock is the stronger one only where a limit is expected, so that others do not queue. */
async function lock(deps: AdmissionDeps, sql: Sql, tenant: string, expected: boolean): Promise<QuotaTerms> {
  let terms = await lockTenant(sql, tenant, expected)
  if (terms && !expected && linkLimit(deps.tiers, terms) !== null) terms = await lockTenant(sql, tenant, true)
  if (!terms) throw new QuickLinkError('forbidden', 'This tenant has been deleted.')
  return terms
}

function exceeded(deps: AdmissionDeps, used: number, limit: number): QuickLinkError {
  deps.onQuotaExceeded()
  return new QuickLinkError('quota_exceeded', `This tenant has ${used} of ${limit} links: delete some first.`, {
    members: { used, limit },
  })
}

function departure({ tiers, quota }: AdmissionDeps): Departure {
  let gone: (QuotaTerms & { id: string }) | undefined
  return {
    async before(sql, code, scope) {
      gone = quota && (await lockTenantOf(sql, code, scope))
    },
    async done() {
      if (gone && linkLimit(tiers, gone) !== null) await quota?.refund(gone.id, gone.generation)
    },
  }
}
