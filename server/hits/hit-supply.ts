// Where bundles come from, and where they go back to: Redis, which divides an advance that Postgres has granted; without
// it Postgres, which then grants bundles itself.
import { pause } from '../connections/deadline.ts'
import type { DatabaseClock, Month } from './database-clock.ts'
import type { HitCounters, TakenHits, HitTerms } from './hit-counters.ts'
import type { AskPostgres, Grant, Granted, Step } from './store.ts'

export type Supplied =
  | { readonly units: number; readonly month: Month }
  /** The month's hits are granted, and none of them is left in the counter. */
  | 'used_up'
  /** Postgres says that this link has no limit, or is no more: news of that is on its way. */
  | 'no_limit'
  | 'gone'
  | 'unknown'

/** What asking for a bundle would have brought. */
export type Seen = 'left' | Exclude<Supplied, object>

export interface HitSupply {
  bundle(terms: HitTerms): Promise<Supplied>
  /** Asks, and takes nothing. Never rejects. */
  look(terms: HitTerms): Promise<Seen>
  /** Once: what does not arrive is forfeited. */
  giveBack(terms: HitTerms, month: string, units: number): Promise<void>
}

export interface SupplyDeps {
  readonly counters: Pick<HitCounters, 'take' | 'giveBack' | 'left'> | undefined
  readonly postgres: AskPostgres
  readonly clock: DatabaseClock
  readonly nowMs: () => number
}

/** Times that somebody else's advance is looked for in Redis before another one is asked for. */
const looks = 4
const lookMs = 3

export function createHitSupply({ counters, postgres, clock, nowMs }: SupplyDeps): HitSupply {
  const grant = async (terms: HitTerms, step: Step, seen: number | null): Promise<Grant | 'unknown'> => {
    const askedMs = nowMs()
    try {
      const granted = await postgres.grant(terms.linkId, step, seen)
      clock.heard(granted.atMs, askedMs)
      return granted
    } catch {
      // It may have been granted all the same: then it is forfeited.
      return 'unknown'
    }
  }
  const refund = (terms: HitTerms, month: string, units: number): Promise<void> =>
    units === 0 ? Promise.resolve() : postgres.giveBack(terms.linkId, month, units).catch(() => undefined)

  /** undefined: nothing was granted, because somebody else was just faster. */
  const refusal = ({ exists, limit, granted }: Granted): 'gone' | 'no_limit' | 'used_up' | undefined => {
    if (!exists) return 'gone'
    if (limit === null) return 'no_limit'
    return granted >= limit ? 'used_up' : undefined
  }

  const fromPostgres = async (terms: HitTerms): Promise<Supplied> => {
    const granted = await grant(terms, 'bundle', null)
    if (granted === 'unknown') return granted
    if (granted.units === 0) return refusal(granted) ?? 'unknown'
    return { units: granted.units, month: granted.month }
  }

  const take = async (terms: HitTerms, month: string): Promise<TakenHits | 'refused'> => {
    const taken = (await counters?.take(terms, month).catch(() => 'refused' as const)) ?? 'refused'
    if (taken !== 'refused') await refund(terms, month, taken.surplus)
    return taken
  }

  /** An advance goes into Redis, and a bundle of it comes back in the same step. */
  const share = async (terms: HitTerms, advance: Grant): Promise<Supplied> => {
    const { month, units, granted } = advance
    const add = { units, granted, lifeMs: month.endsMs - clock.nowMs() }
    let taken: TakenHits | 'refused' | undefined
    try {
      taken = await counters?.take(terms, month.name, add)
    } catch {
      // It may be there or not: the advance is forfeited here, and perhaps found there.
      return fromPostgres(terms)
    }
    if (taken === undefined || taken === 'refused') {
      await refund(terms, month.name, units)
      return fromPostgres(terms)
    }
    await refund(terms, month.name, taken.surplus)
    return taken.units === 0 ? 'unknown' : { units: taken.units, month }
  }

  return {
    async bundle(terms) {
      let seen: number | undefined
      for (let look = 1; ; look++) {
        const month = clock.month()
        const taken = await take(terms, month.name)
        if (taken === 'refused') return fromPostgres(terms)
        if (taken.units > 0) return { units: taken.units, month }
        const believed = seen ?? Math.max(0, taken.granted)
        const granted = await grant(terms, 'advance', look < looks ? believed : null)
        if (granted === 'unknown') return granted
        if (granted.units > 0) return share(terms, granted)
        const refused = refusal(granted)
        if (refused !== undefined) return refused
        // Somebody else's advance is on its way into Redis.
        seen = granted.granted
        await pause(lookMs)
      }
    },

    async look({ code, linkId }) {
      try {
        const left = await counters?.left(code, linkId, clock.month().name).catch(() => undefined)
        return left !== undefined && left > 0 ? 'left' : (refusal(await postgres.granted(linkId)) ?? 'left')
      } catch {
        return 'unknown'
      }
    },

    async giveBack(terms, month, units) {
      if (units === 0 || month !== clock.month().name) return
      let back = true
      try {
        back = (await counters?.giveBack(terms, month, units)) ?? false
      } catch {
        // Perhaps it is back: Postgres must not have it too.
      }
      if (!back) await refund(terms, month, units)
    },
  }
}
