// Hits that this process may still serve of one link in one month, without asking anybody.
import type { Month } from './database-clock.ts'
import type { HitTerms } from './hit-counters.ts'

/** granted: serve it. used_up: 429. gone: there is no such link any more, 404. unknown: nobody can say, 503. overloaded: too many wait already, 503. */
export type Verdict = 'granted' | 'used_up' | 'gone' | 'unknown' | 'overloaded'

export interface Waiter {
  readonly sinceMs: number
  /** False: the client has gone meanwhile, and nothing is spent on it. */
  readonly isWanted: () => boolean
  readonly resolve: (verdict: Verdict) => void
}

/** Until a moment of the monotonic clock, what the last question has found is the answer. */
export type Standing = 'none' | 'used_up' | 'no_limit' | 'gone' | 'ungranted' | 'unknown'

export class Lease {
  terms: HitTerms
  left = 0
  month = ''
  /** Of the monotonic clock: the end of the month. */
  untilMs = -Infinity
  standing: Standing = 'none'
  standsUntilMs = -Infinity
  waiters: Waiter[] = []
  asking = false
  /** Of two refused attempts in a row, this is the first. */
  failed = false
  /** Other terms have taken its place: it is never filled again. */
  retired = false
  quietLooks = 0
  lookedAtLeft = -1
  readonly #onLow: (lease: Lease) => void
  #lowAt = -1
  /** For those who only look: what was seen by asking and taking nothing. It stands for no GET. */
  seen: Promise<Verdict> | undefined
  seenUntilMs = -Infinity

  constructor(terms: HitTerms, onLow: (lease: Lease) => void) {
    this.terms = terms
    this.#onLow = onLow
  }

  /** The hot path: two comparisons and a decrement. */
  spend(nowMs: number): boolean {
    if (this.left === 0 || nowMs >= this.untilMs) return false
    if (--this.left === this.#lowAt) this.#onLow(this)
    return true
  }

  fill(units: number, month: Month, untilMs: number): void {
    // What is left of another month is over.
    this.left = units + (this.month === month.name ? this.left : 0)
    this.month = month.name
    this.untilMs = untilMs
    this.standing = 'none'
    // The next bundle is asked for at a quarter. Of a tiny one nothing is held in advance: it might be another's last hit.
    this.#lowAt = units >= 4 ? units >> 2 : -1
  }

  stand(standing: Standing, untilMs: number): void {
    this.standing = standing
    this.standsUntilMs = untilMs
  }

  standsAt(nowMs: number): Standing {
    return nowMs < this.standsUntilMs ? this.standing : 'none'
  }

  /** Takes all that is left out of it. */
  empty(): number {
    const { left } = this
    this.left = 0
    return left
  }
}
