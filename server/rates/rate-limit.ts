// How much a tenant may write per hour: creates, with one limit more for all tenants of the aggregate tiers together, and
// changes. Attempts count, or those that fail would be free for whoever makes nothing else:
//
// - A create that fails by its caller's doing (a code that is taken, a quota that is full) goes into a budget beside the
//   creates, as large as theirs. While that lasts, its unit goes back; then it stays taken, as if it had succeeded. So a few
//   conflicts cost no create, and there are at most twice as many attempts as creates.
// - A change counts whatever comes of it.
// - What failed by our own doing costs nothing.
import { isOurFault, QuickLinkError } from '../errors.ts'
import type { Counter, Counters, GiveBack, Held } from './counters.ts'
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
  /** It was not needed, or we could not do what it was for. Of many: so many of them. */
  giveBack(units?: number): Promise<unknown>
  /** Nothing came of it, by its caller's doing. */
  failed(units?: number): Promise<unknown>
}

interface Refused {
  readonly granted: false
  readonly by: 'tenant' | 'aggregate'
  readonly window: Window
  readonly endsInMs: number
}

export type Acquired = Unit | Refused

/** Of many that were wanted. */
export interface AcquiredMany {
  readonly units: number
  readonly unit: Unit
  /** Why they are not all. */
  readonly refused: Refused | undefined
}

export interface Status {
  readonly creates: Window | null
  readonly failedCreates: Window | null
  readonly changes: Window | null
  readonly aggregate: Window | null
}

export interface RateLimit {
  /** For a create. */
  tryAcquire(tenant: RatedTenant): Promise<Acquired>
  /** For as many creates as there is room for, at most so many. */
  acquireMany(tenant: RatedTenant, most: number): Promise<AcquiredMany>
  tryChange(tenant: RatedTenant): Promise<Acquired>
  /** null where the tenant's tier has no such limit. */
  getStatus(tenant: RatedTenant): Promise<Status>
}

interface RateLimitDeps {
  readonly counters: Counters
  readonly tiers: Tiers
  readonly aggregatePerHour: number
  readonly onRefused: (by: TierName | 'aggregate') => void
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

/** Of what was refused because it was more than was left, and is taken by now. */
const usedUp = (refused: Refused): Refused => ({
  ...refused,
  window: { ...refused.window, used: refused.window.limit, remaining: 0 },
})

/** Times that room for many is looked for while others take of it. */
const triesForMany = 4

const nothing = (): Promise<void> => Promise.resolve()
const free: Unit = { granted: true, giveBack: nothing, failed: nothing }

export function createRateLimit({ counters, tiers, aggregatePerHour, onRefused }: RateLimitDeps): RateLimit {
  const limitsOf = ({ tier }: RatedTenant): Tier => tiers[tier]
  const read = async (key: string, limit: number | null): Promise<Window | null> =>
    limit === null ? null : windowOf(limit, await counters.read(key))
  const refused = (by: 'tenant' | 'aggregate', { tier }: RatedTenant, limit: number, held: Held): Refused => {
    onRefused(by === 'tenant' ? tier : by)
    return { granted: false, by, window: windowOf(limit, held), endsInMs: held.endsInMs }
  }

  const acquire = async (tenant: RatedTenant, units: number): Promise<Acquired> => {
    const { createsPerHour, inAggregate } = limitsOf(tenant)
    const own = createsPerHour === null ? [] : [{ key: createsOf(tenant), limit: createsPerHour }]
    const all = inAggregate ? [{ key: aggregateKey, limit: aggregatePerHour }] : []
    const wanted = [...own, ...all]
    if (wanted.length === 0) return free
    const taken = await counters.take(wanted, units)
    if (!taken.granted) {
      const { key, limit } = wanted[taken.by]!
      return refused(key === aggregateKey ? 'aggregate' : 'tenant', tenant, limit, taken.held)
    }
    const back = (some: readonly GiveBack[], n?: number): Promise<unknown> =>
      Promise.all(some.map((giveBack) => giveBack(n)))
    const [ofOwn, ofAll] = [taken.giveBack.slice(0, own.length), taken.giveBack.slice(own.length)]
    return {
      granted: true,
      giveBack: (n) => back(taken.giveBack, n),
      async failed(n = units) {
        await back(ofAll, n)
        if (createsPerHour === null) return
        const counted = await takeUpTo([{ key: failuresOf(tenant), limit: createsPerHour }], n)
        if (counted > 0) await back(ofOwn, counted)
      },
    }
  }
  /** How many there was room for. */
  const takeUpTo = async ([counter]: readonly [Counter], most: number): Promise<number> => {
    for (let units = most, tries = 0; units > 0 && tries < triesForMany; tries++) {
      const taken = await counters.take([counter], units)
      if (taken.granted) return units
      units = Math.min(units - 1, counter.limit - taken.held.used)
    }
    return 0
  }

  return {
    tryAcquire: (tenant) => acquire(tenant, 1),

    async acquireMany(tenant, most) {
      let refused: Refused | undefined
      // Others take some in between.
      for (let units = most, tries = 0; units > 0 && tries < triesForMany; tries++) {
        const acquired = await acquire(tenant, units)
        if (acquired.granted) return { units, unit: acquired, refused: refused && usedUp(refused) }
        refused = acquired
        units = Math.min(units - 1, acquired.window.remaining)
      }
      return { units: 0, unit: free, refused }
    },

    async tryChange(tenant) {
      const { changesPerHour } = limitsOf(tenant)
      if (changesPerHour === null) return free
      const taken = await counters.take([{ key: changesOf(tenant), limit: changesPerHour }])
      if (!taken.granted) return refused('tenant', tenant, changesPerHour, taken.held)
      return { granted: true, giveBack: taken.giveBack[0]!, failed: nothing }
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

/** Why a unit of what was acquired is not kept; undefined: it was not needed. */
export const settle = (unit: Unit, why: unknown): Promise<unknown> =>
  why === undefined || isOurFault(why) ? unit.giveBack() : unit.failed()

/** The unit, or a refusal to be answered with 429. */
export function unitOf(acquired: Acquired, what: 'creates' | 'changes', windowS: number): Unit {
  if (acquired.granted) return acquired
  const { by, window, endsInMs } = acquired
  const retryAfterS = Math.max(1, Math.ceil(endsInMs / 1000))
  const policy = by === 'aggregate' ? '"all-tenants"' : `"${what}"`
  // Of all tenants together nobody is told more than that it is too much now.
  const used = by === 'aggregate' ? {} : { used: window.used }
  throw new QuickLinkError('rate_limited', whyLimited[by === 'aggregate' ? by : what](window.limit), {
    retryAfterS,
    headers: {
      'RateLimit-Policy': `${policy};q=${window.limit};w=${windowS}`,
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
