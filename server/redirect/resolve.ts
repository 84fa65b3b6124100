// The ladder. Tiers never call each other; this is the only place that knows their order.
import { limits } from '../limits.ts'
import type { Vouching } from '../coherence/vouching.ts'
import { agree, isOlder, type Answer, type Code } from '../link.ts'
import type { Copy, Tier1 } from './tier1-local.ts'
import type { Tier2 } from './tier2-redis.ts'
import type { Tier3 } from './tier3-postgres.ts'
import type { NearTier } from './tier3-standby.ts'

export type Source = 'redis' | 'postgres' | 'stale' | 'none'

export interface Found {
  readonly copy: Copy | 'unknown'
  readonly source: Source
}

export type Resolver = ReturnType<typeof createResolver>

interface ResolveDeps {
  readonly tier1: Tier1
  readonly tier2: Tier2
  readonly tier3: Tier3
  /** A standby near by, where there is one. */
  readonly near?: NearTier | undefined
  readonly vouching: Pick<Vouching, 'passes' | 'noneSince'>
  /** For a link that tier 1 could answer all the time, the ladder is asked after a time between these, by chance. */
  readonly askEveryMs: number
  readonly askMostMs: number
  readonly random: () => number
  readonly nowMs: () => number
  readonly onFlight: (source: Source) => void
  /** The standby has answered because nobody else could. */
  readonly onAlone?: () => void
  /** A copy has gone on without a flight, because passes vouch for it. */
  readonly onSaved: () => void
}

export function createResolver(deps: ResolveDeps) {
  const { tier1, tier2, tier3, near, vouching, nowMs } = deps
  const flights = new Map<Code, Promise<Found>>()
  const refreshing = new Set<Code>()

  const climb = async (code: Code): Promise<Found> => {
    const askedMs = nowMs()
    const { passes } = vouching
    const shared = await tier2.get(code) // Redis down, or not proved fresh, reads as 'unknown'
    // Redis was not told of a change, or a row is gone: where tier 1 has a newer version, only Postgres knows which.
    if (shared !== 'unknown' && !tier1.hasNewer(code, shared.known)) {
      const vouched = shared.isCurrent && vouching.noneSince(passes)
      return { copy: tier1.remember(code, shared.known, askedMs, vouched), source: 'redis' }
    }
    const truth = await readTruth(code) // Postgres down reads as 'unknown'
    if (truth !== 'unknown') return { copy: truth, source: 'postgres' }
    return stale(code) // untrusted Redis, then tier 1's old copy, else 'unknown'
  }

  const readTruth = async (code: Code): Promise<Copy | 'unknown'> => {
    const asOf = tier2.asOf(code)
    const askedMs = nowMs()
    const { passes } = vouching
    const said = near === undefined ? 'unknown' : await near.get(code)
    // A standby may not have heard of what this process has just changed.
    const isNear = said !== 'unknown' && !tier1.hasNewer(code, said)
    const truth = isNear ? said : await tier3.get(code)
    if (truth === 'unknown') return truth
    const copy = tier1.remember(code, truth, askedMs, vouching.noneSince(passes))
    // What tier 1 has newer is put there by whoever learnt it: it may be of the database of before, until a pass says so.
    const isTruth = agree(copy.known, truth)
    if (isTruth && (!isNear || near?.mayFill(code, asOf))) tier2.fill(code, truth, asOf)
    return copy
  }

  const stale = async (code: Code): Promise<Found> => {
    const [shared, alone = 'unknown'] = await Promise.all([tier2.getUntrusted(code), near?.getBehind(code)])
    if (alone !== 'unknown') deps.onAlone?.()
    const copy = tier1.fallBack(code, newerOf(shared, alone))
    return copy === undefined ? { copy: 'unknown', source: 'none' } : { copy, source: 'stale' }
  }

  /** The rest of the ladder: one flight per code and process. undefined: too many are under way. */
  const ask = (code: Code): Promise<Found> | undefined => {
    const underWay = flights.get(code)
    if (underWay) return underWay
    if (flights.size >= limits.flights) return undefined
    const flight = climb(code).finally(() => flights.delete(code))
    flights.set(code, flight)
    flight.then(({ source }) => deps.onFlight(source), () => undefined) // prettier-ignore
    return flight
  }

  // Once in a while all the same: what Redis keeps is what is asked for, and its early refresh comes with a look-up. By
  // chance, or all links that became hot in one moment would be asked for together for ever after.
  const livingOn = (code: Code): Copy | undefined => {
    const copy = tier1.prolong(code)
    if (copy === undefined) return undefined
    const now = nowMs()
    if (now - copy.askedMs < deps.askEveryMs + deps.random() * (deps.askMostMs - deps.askEveryMs)) deps.onSaved()
    else {
      copy.askedMs = now
      void ask(code)
    }
    return copy
  }

  // Where nobody vouches for it, a hot link's copy ends ten times a second. The first request after that asks, and waits; if
  // all of that moment did, a Redis that takes its whole deadline would stop a viral link half of the time. So the others
  // are answered by the old copy, for at most that deadline, while the flight is under way, and not if the end came by news.
  // Promise 4 holds: `changeSeen` in config.ts adds it up. Absences get none: a link that was just created would be late.
  const parting = (code: Code): Copy | undefined => (flights.has(code) ? tier1.parting(code) : undefined)

  return {
    /**
     * Tier 1 alone, synchronously. One whose life has ended may answer while passes vouch for it, or while its successor is
     * under way.
     */
    local: (code: Code): Copy | undefined => tier1.get(code) ?? livingOn(code) ?? parting(code),
    ask,
    /** Reads Postgres for a link that is about to end in Redis, unless that is under way. */
    refresh(code: Code): void {
      if (refreshing.has(code) || refreshing.size >= limits.fillsInFlight) return
      refreshing.add(code)
      void readTruth(code)
        .catch(() => undefined)
        .finally(() => refreshing.delete(code))
    },
    get flights(): number {
      return flights.size
    },
  }
}

/** Neither of them is proved fresh. */
function newerOf(one: Answer, other: Answer): Answer {
  if (one === 'unknown') return other
  return other === 'unknown' || isOlder(other, one) ? one : other
}
