// Tier 2: Redis. The one place that decides what "Redis failed" means: the answer is 'unknown', and the ladder goes on.
//
// Reachability comes first: a connection that is not ready is a failure and feeds the breaker. Trust is asked second:
// a Redis that this process has not just made fresh is left alone, unless Postgres cannot answer (`getUntrusted`).
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { BreakerOpen } from '../connections/breaker.ts'
import { DeadlineExceeded, withDeadline } from '../connections/deadline.ts'
import type { Partitions } from '../connections/partitions.ts'
import { microBatch } from '../connections/micro-batch.ts'
import type { Held, Read } from '../coherence/schema.ts'
import type { SharedCache } from '../coherence/shared-cache.ts'
import type { Trust } from '../coherence/trust.ts'
import type { Landing } from '../coherence/vouching.ts'
import { goneAtS, isLink, type Answer, type Code, type Known } from '../link.ts'

export type FallbackReason = 'error' | 'timeout' | 'open' | 'untrusted'

/** What a Redis says that is proved fresh; current: as far as all that this process' passes have heard. */
export interface Shared {
  readonly known: Known
  readonly isCurrent: boolean
}

export interface Tier2 {
  /** 'unknown' when Redis does not hold it, cannot answer, or is not proved fresh. */
  get(code: Code): Promise<Shared | 'unknown'>
  /** As get, from a Redis that may be behind. A link that nears its end there is given more time. */
  getUntrusted(code: Code): Promise<Answer>
  /** How far this Redis knows the truth; to be asked before Postgres is read. */
  asOf(code: Code): string | null
  /** Not waited for: whoever asks next fills again. */
  fill(code: Code, known: Known, asOf: string | null): void
}

interface Tier2Deps {
  readonly cache: SharedCache
  readonly trust: Trust
  readonly landing: Pick<Landing, 'isCurrent'>
  readonly breaker: Pick<Breaker, 'run' | 'state'>
  readonly config: Pick<Config, 'redisTimeoutMs' | 'linkTtlS' | 'earlyRefreshZone' | 'earlyRefreshChance' | 'staleMaxS'>
  readonly onFallback: (reason: FallbackReason) => void
  /** A link in the last part of its life was hit: Postgres should be read, in the background. */
  readonly onAgeing: (code: Code) => void
  readonly nowMs?: () => number
  readonly random?: () => number
}

export const noTier2: Tier2 = {
  get: () => Promise.resolve('unknown'),
  getUntrusted: () => Promise.resolve('unknown'),
  asOf: () => null,
  fill: () => undefined,
}

/** Each code in its partition. */
export function inParts(parts: Partitions<Tier2>): Tier2 {
  const [only] = parts.all
  if (parts.all.length === 1 && only) return only
  return {
    get: (code) => parts.of(code).get(code),
    getUntrusted: (code) => parts.of(code).getUntrusted(code),
    asOf: (code) => parts.of(code).asOf(code),
    fill: (code, known, asOf) => parts.of(code).fill(code, known, asOf),
  }
}

export function createTier2(deps: Tier2Deps): Tier2 {
  const { cache, trust, landing, breaker, config } = deps
  const nowMs = deps.nowMs ?? Date.now
  const random = deps.random ?? Math.random
  let fills = 0

  const read = async (codes: Code[]): Promise<(Read | undefined)[]> => {
    if (!cache.ready) throw new Error('Redis is not connected')
    return withDeadline(cache.read(codes), config.redisTimeoutMs, 'Redis')
  }
  const lookups = microBatch((codes: Code[]) => breaker.run(() => read(codes)), {
    maxKeys: limits.redisBatch,
    maxInFlight: limits.redisInFlight,
    maxQueued: limits.redisQueue,
  })

  const ask = async (code: Code): Promise<Read | FallbackReason | undefined> => {
    if (breaker.state === 'open') return 'open'
    try {
      return await lookups.get(code)
    } catch (error) {
      return error instanceof BreakerOpen ? 'open' : error instanceof DeadlineExceeded ? 'timeout' : 'error'
    }
  }

  const ageS = (held: Held): number => (held.cachedAtS === 0 ? 0 : nowMs() / 1000 - held.cachedAtS)
  const isAgeing = (held: Held): boolean =>
    isLink(held.known) && ageS(held) > (held.lifeS ?? config.linkTtlS) * (1 - config.earlyRefreshZone)

  const prolong = (code: Code, held: Held): void => {
    if (!isLink(held.known)) return
    const endS = Math.min(held.cachedAtS + config.linkTtlS + config.staleMaxS, goneAtS(held.known) ?? Infinity)
    const lifeMs = Math.min(config.linkTtlS * 1000, endS * 1000 - nowMs())
    if (lifeMs > 0) cache.prolong(code, Math.ceil(lifeMs)).catch(() => undefined)
  }

  return {
    async get(code) {
      // Half open, the one trial really asks: only an answer proves that Redis can be reached.
      const reachable = cache.ready && breaker.state === 'closed'
      if (reachable && !trust.holds(cache.connection)) {
        deps.onFallback('untrusted')
        return 'unknown'
      }
      const held = await ask(code)
      if (typeof held === 'string') {
        deps.onFallback(held)
        return 'unknown'
      }
      if (!trust.holds(cache.connection)) {
        deps.onFallback('untrusted')
        return 'unknown'
      }
      if (held === undefined) return 'unknown'
      if (isAgeing(held) && random() < config.earlyRefreshChance) deps.onAgeing(code)
      return { known: held.known, isCurrent: landing.isCurrent(held.asOf) }
    },

    async getUntrusted(code) {
      const held = await ask(code)
      if (held === undefined || typeof held === 'string') return 'unknown'
      if (isAgeing(held)) prolong(code, held)
      return held.known
    },

    asOf: () => (trust.holds(cache.connection) ? cache.cursor : null),

    fill(code, known, asOf) {
      if (asOf === null || fills >= limits.fillsInFlight || !cache.ready || breaker.state !== 'closed') return
      fills++
      breaker
        .run(() => withDeadline(cache.put({ code, known }, asOf), config.redisTimeoutMs, 'Redis'))
        .catch(() => undefined)
        .finally(() => fills--)
    },
  }
}
