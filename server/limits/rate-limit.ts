// How many links a tenant may create per hour: its own limit, and one for all tenants of the aggregate tiers together.
import type { Counters, Held, Taken } from './counters.ts'
import type { Tier, TierName, Tiers } from './tiers.ts'

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

export type Acquired =
  | { readonly granted: true; giveBack(): Promise<void> }
  | { readonly granted: false; readonly by: 'tenant' | 'aggregate'; readonly window: Window; readonly endsInMs: number }

export interface RateLimit {
  tryAcquire(tenant: RatedTenant): Promise<Acquired>
  /** null where the tenant's tier has no such limit. */
  getStatus(tenant: RatedTenant): Promise<{ creates: Window | null; aggregate: Window | null }>
}

interface RateLimitDeps {
  readonly counters: Counters
  readonly tiers: Tiers
  readonly aggregatePerHour: number
}

const aggregateKey = 'aggregate'
const keyOf = (tenant: RatedTenant): string => `tenant:${tenant.id}`

const windowOf = (limit: number, { used, endsInMs }: Held): Window => ({
  limit,
  used: Math.min(used, limit),
  remaining: Math.max(0, limit - used),
  resetsAt: new Date(Date.now() + endsInMs),
})

const free: Acquired = { granted: true, giveBack: () => Promise.resolve() }

export function createRateLimit({ counters, tiers, aggregatePerHour }: RateLimitDeps): RateLimit {
  const limitsOf = ({ tier }: RatedTenant): Tier => tiers[tier]

  const refused = (by: 'tenant' | 'aggregate', limit: number, { used, endsInMs }: Taken): Acquired => ({
    granted: false,
    by,
    window: windowOf(limit, { used, endsInMs }),
    endsInMs,
  })

  return {
    async tryAcquire(tenant) {
      const { createsPerHour, inAggregate } = limitsOf(tenant)
      if (createsPerHour === null && !inAggregate) return free
      const own = createsPerHour === null ? undefined : await counters.take(keyOf(tenant), createsPerHour)
      if (own && !own.granted) return refused('tenant', createsPerHour ?? 0, own)
      if (!inAggregate) return { granted: true, giveBack: async () => own?.giveBack() }
      const all = await counters.take(aggregateKey, aggregatePerHour)
      if (!all.granted) {
        await own?.giveBack()
        return refused('aggregate', aggregatePerHour, all)
      }
      return {
        granted: true,
        async giveBack() {
          await Promise.all([own?.giveBack(), all.giveBack()])
        },
      }
    },

    async getStatus(tenant) {
      const { createsPerHour, inAggregate } = limitsOf(tenant)
      const [own, all] = await Promise.all([
        createsPerHour === null ? null : counters.read(keyOf(tenant)),
        inAggregate ? counters.read(aggregateKey) : null,
      ])
      return {
        creates: own && createsPerHour !== null ? windowOf(createsPerHour, own) : null,
        aggregate: all && windowOf(aggregatePerHour, all),
      }
    },
  }
}
