// How much a tenant may write per hour: creates, with one limit more for all tenants of the aggregate tiers together, and
// changes. Attempts count, or those that fail would be free for whoever makes nothing else:
//
// - A create that fails by its caller's doing (a code that is taken, a quota that is full) goes into a budget beside the
//   creates, as large as theirs. While that lasts, its unit goes back; then it stays taken, as if it had succeeded. So a few
//   conflicts cost no create, and there are at most twice as many attempts as creates.
// - A change counts whatever comes of it.
// - What failed by our own doing costs nothing.
import type { Counters, Held, Taken } from './counters.ts'
import type { Tier, TierName, Tiers } from '../tenants/tiers.ts'

export interface RatedTenant {
  readonly id: string
  readonly tier: TierName
}

export interface Window {
  readonly limit: number
  readonly used: number
  readonly remaining: number
  readonly resetsAt: Date
}

export interface Unit {
  readonly granted: true
  /** It was not needed, or we could not do what it was for. */
  giveBack(): Promise<void>
  /** Nothing came of it, by its caller's doing. */
  failed(): Promise<void>
}

export type Acquired =
  | Unit
  | { readonly granted: false; readonly by: 'tenant' | 'aggregate'; readonly window: Window; readonly endsInMs: number }

export interface Status {
  readonly creates: Window | null
  readonly failedCreates: Window | null
  readonly changes: Window | null
  readonly aggregate: Window | null
}

export interface RateLimit {
  /** For a create. */
  tryAcquire(tenant: RatedTenant): Promise<Acquired>
  tryChange(tenant: RatedTenant): Promise<Acquired>
  /** null where the tenant's tier has no such limit. */
  getStatus(tenant: RatedTenant): Promise<Status>
}

interface RateLimitDeps {
  readonly counters: Counters
  readonly tiers: Tiers
  readonly aggregatePerHour: number
}

const aggregateKey = 'aggregate'
const createsOf = (tenant: RatedTenant): string => `tenant:${tenant.id}`
const failuresOf = (tenant: RatedTenant): string => `failures:${tenant.id}`
const changesOf = (tenant: RatedTenant): string => `changes:${tenant.id}`

const windowOf = (limit: number, { used, endsInMs }: Held): Window => ({
  limit,
  used: Math.min(used, limit),
  remaining: Math.max(0, limit - used),
  resetsAt: new Date(Date.now() + endsInMs),
})

const nothing = (): Promise<void> => Promise.resolve()
const free: Acquired = { granted: true, giveBack: nothing, failed: nothing }

const refused = (by: 'tenant' | 'aggregate', limit: number, { used, endsInMs }: Taken): Acquired => ({
  granted: false,
  by,
  window: windowOf(limit, { used, endsInMs }),
  endsInMs,
})

export function createRateLimit({ counters, tiers, aggregatePerHour }: RateLimitDeps): RateLimit {
  const limitsOf = ({ tier }: RatedTenant): Tier => tiers[tier]
  const read = async (key: string, limit: number | null): Promise<Window | null> =>
    limit === null ? null : windowOf(limit, await counters.read(key))

  return {
    async tryAcquire(tenant) {
      const { createsPerHour, inAggregate } = limitsOf(tenant)
      const own = createsPerHour === null ? undefined : await counters.take(createsOf(tenant), createsPerHour)
      if (own && !own.granted) return refused('tenant', createsPerHour ?? 0, own)
      const all = inAggregate ? await counters.take(aggregateKey, aggregatePerHour) : undefined
      if (all && !all.granted) {
        await own?.giveBack()
        return refused('aggregate', aggregatePerHour, all)
      }
      return {
        granted: true,
        async giveBack() {
          await Promise.all([own?.giveBack(), all?.giveBack()])
        },
        async failed() {
          await all?.giveBack()
          if (createsPerHour === null) return
          const failure = await counters.take(failuresOf(tenant), createsPerHour)
          if (failure.granted) await own?.giveBack()
        },
      }
    },

    async tryChange(tenant) {
      const { changesPerHour } = limitsOf(tenant)
      if (changesPerHour === null) return free
      const taken = await counters.take(changesOf(tenant), changesPerHour)
      if (!taken.granted) return refused('tenant', changesPerHour, taken)
      return { granted: true, giveBack: () => taken.giveBack(), failed: nothing }
    },

    async getStatus(tenant) {
      const { createsPerHour, changesPerHour, inAggregate } = limitsOf(tenant)
      const [creates, failedCreates, changes, aggregate] = await Promise.all([
        read(createsOf(tenant), createsPerHour),
        read(failuresOf(tenant), createsPerHour),
        read(changesOf(tenant), changesPerHour),
        read(aggregateKey, inAggregate ? aggregatePerHour : null),
      ])
      return { creates, failedCreates, changes, aggregate }
    },
  }
}
