// Hits per link and month:  served <= leased <= granted <= limit.
//
//   granted  Postgres raises it by an advance (a tenth of the limit, 1 to 1,000), before anything of it can be spent
//   leased   Redis divides the advance into bundles (a 32nd of what is left of it, 1 to 100), one at a time to a process
//   served   the process spends its bundle by itself: a hit costs a decrement
//
// Every step gives away less than it has got, and what is lost on the way (a reply, a process, a Redis) is lost as hits
// that nobody serves, never as hits that two serve. So nothing is ever asked twice: a command whose reply is missing counts
// as done where it takes, and as not done where it gives. Units have no names; they are in one place at a time:
//
//   what is lost                                at most
//   a process that is killed                    what it holds: per link two bundles; on a clean stop nothing
//   the reply to a take, or to a return         that bundle
//   the reply to a grant or to its way to Redis that advance
//   Redis itself, its counter, its validity     what was left in it: one advance; more only if several processes found
//                                               it empty at the same moment
//
// A lease that is idle for 10 s goes back. A lease belongs to its month, and to the limit that it was taken under: news
// of another limit retires it, which is what makes a changed limit bind as fast as any change of a link.
import type { Link } from '../link.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { HitTerms } from './hit-counters.ts'
import { Lease, type Standing, type Verdict } from './hit-lease.ts'
import type { HitSupply, Supplied } from './hit-supply.ts'

export type { Lease, Verdict } from './hit-lease.ts'

export interface HitQuotaDeps {
  readonly supply: HitSupply
  readonly clock: DatabaseClock
  readonly nowMs: () => number
  readonly whenUngrantable: 'allow' | 'reject'
  readonly bounds: {
    readonly leases: number
    readonly waiters: number
    /** Longest wait for a bundle while there are some to be had. */
    readonly waitMs: number
    readonly lookEveryMs: number
    readonly idleMs: number
  }
  readonly onRejected: () => void
  /** Served although nobody could grant it: to be settled. */
  readonly onUngranted: (linkId: number) => void
}

/** How long an answer stands before somebody asks again: idle bundles of others come back, and an outage ends. */
const standsMs = { used_up: 1000, no_limit: 1000, gone: 1000, ungranted: 500, unknown: 200 } as const

const verdictFor = (standing: Exclude<Standing, 'none'>): Verdict =>
  standing === 'ungranted' || standing === 'no_limit' ? 'granted' : standing

export class HitQuota {
  readonly #deps: HitQuotaDeps
  readonly #leases = new Map<number, Lease>()
  readonly #returning = new Set<Promise<void>>()
  readonly #timer: NodeJS.Timeout
  #closed = false

  constructor(deps: HitQuotaDeps) {
    this.#deps = deps
    this.#timer = setInterval(() => this.#returnIdle(), deps.bounds.lookEveryMs)
    this.#timer.unref()
  }

  get leases(): number {
    return this.#leases.size
  }

  /** For a copy of the link. Undefined: no limit. */
  leaseOf(link: Link): Lease | undefined {
    const { id, version, monthlyHits } = link
    const held = this.#leases.get(id)
    if (monthlyHits === null) {
      if (held && version > held.terms.version) this.#retire(held)
      return undefined
    }
    // An older copy, still under way, does not bring old terms back.
    if (held && (held.terms.limit === monthlyHits || version <= held.terms.version)) {
      if (version > held.terms.version) held.terms = { ...held.terms, version }
      return held
    }
    if (held) this.#retire(held)
    return this.#open({ code: link.code, linkId: id, version, limit: monthlyHits })
  }

  /** For a request that `spend` has refused: it waits for the next bundle. */
  acquire(asked: Lease, isWanted: () => boolean): Promise<Verdict> {
    if (this.#closed) return Promise.resolve('unknown')
    const lease = this.#current(asked)
    const verdict = lease.waiters.length === 0 ? this.#verdictOf(lease) : undefined
    if (verdict !== undefined) return Promise.resolve(verdict)
    if (lease.waiters.length >= this.#deps.bounds.waiters) return Promise.resolve('overloaded')
    return new Promise((resolve) => {
      lease.waiters.push({ sinceMs: this.#deps.nowMs(), isWanted, resolve })
      this.#ask(lease)
    })
  }

  /** For HEAD: what a GET would be told now. It takes nothing, neither here nor where bundles come from. */
  look(asked: Lease): Promise<Verdict> {
    if (this.#closed) return Promise.resolve('unknown')
    const lease = this.#current(asked)
    const now = this.#deps.nowMs()
    if (lease.left > 0 && now < lease.untilMs) return Promise.resolve('granted')
    const standing = lease.standsAt(now)
    if (standing !== 'none') return Promise.resolve(verdictFor(standing))
    if (lease.seen === undefined || now >= lease.seenUntilMs) {
      // Many look at once, or again and again: they are one question a second.
      lease.seenUntilMs = now + standsMs.used_up
      lease.seen = this.#deps.supply.look(lease.terms).then((seen) => {
        if (seen === 'left') return 'granted'
        if (seen !== 'unknown') return verdictFor(seen)
        lease.seenUntilMs = -Infinity
        return this.#deps.whenUngrantable === 'allow' ? 'granted' : 'unknown'
      })
    }
    return lease.seen
  }

  secondsToMonthEnd(): number {
    const { clock } = this.#deps
    return Math.max(1, Math.ceil((clock.month().endsMs - clock.nowMs()) / 1000))
  }

  /** The database's clock has been looked at: months end when they end there. */
  clockMoved(): void {
    const { clock } = this.#deps
    const { name, endsMs } = clock.month()
    for (const lease of this.#leases.values()) {
      if (lease.month !== '') lease.untilMs = lease.month === name ? clock.toMonotonicMs(endsMs) : -Infinity
    }
  }

  /** Gives back everything. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed = true
    for (const lease of this.#leases.values()) {
      for (const { resolve } of lease.waiters.splice(0)) resolve('unknown')
      this.#retire(lease)
    }
    await Promise.all(this.#returning)
  }

  #current(asked: Lease): Lease {
    return asked.retired ? (this.#leases.get(asked.terms.linkId) ?? this.#open(asked.terms)) : asked
  }

  #open(terms: HitTerms): Lease {
    if (this.#leases.size >= this.#deps.bounds.leases) {
      const [oldest] = this.#leases.values()
      if (oldest) this.#retire(oldest)
    }
    const lease = new Lease(terms, this.#ask)
    this.#leases.set(terms.linkId, lease)
    return lease
  }

  #retire(lease: Lease): void {
    const { linkId } = lease.terms
    lease.retired = true
    if (this.#leases.get(linkId) === lease) this.#leases.delete(linkId)
    this.#giveBack(lease, lease.empty())
  }

  #giveBack(lease: Lease, units: number): void {
    if (units === 0) return
    const back = this.#deps.supply.giveBack(lease.terms, lease.month, units).catch(() => undefined)
    this.#returning.add(back)
    void back.finally(() => this.#returning.delete(back))
  }

  #verdictOf(lease: Lease): Verdict | undefined {
    const { nowMs, onRejected, onUngranted } = this.#deps
    const now = nowMs()
    if (lease.spend(now)) return 'granted'
    const standing = lease.standsAt(now)
    if (standing === 'none') return undefined
    if (standing === 'used_up') onRejected()
    if (standing === 'ungranted') onUngranted(lease.terms.linkId)
    return verdictFor(standing)
  }

  /** Asks for the next bundle, unless that is under way. */
  readonly #ask = (lease: Lease): void => {
    if (lease.asking || lease.retired || this.#closed) return
    lease.asking = true
    void this.#deps.supply
      .bundle(lease.terms)
      .catch(() => 'unknown' as const)
      .then((found) => {
        lease.asking = false
        this.#learn(lease, found)
        if (lease.retired || this.#closed) this.#moveOn(lease)
        else this.#serveWaiters(lease)
        if (lease.waiters.length > 0) this.#ask(lease)
      })
  }

  #learn(lease: Lease, found: Supplied): void {
    const { clock, whenUngrantable } = this.#deps
    if (typeof found === 'object') {
      if (lease.retired || this.#closed) {
        lease.month = found.month.name
        this.#giveBack(lease, found.units)
      } else lease.fill(found.units, found.month, clock.toMonotonicMs(found.month.endsMs))
    } else if (found !== 'unknown') this.#stand(lease, found)
    // One deadline that was missed is no outage: whoever waits has a second try.
    else if (lease.failed) this.#stand(lease, whenUngrantable === 'allow' ? 'ungranted' : 'unknown')
    lease.failed = found === 'unknown' && !lease.failed && lease.waiters.length > 0
  }

  #stand(lease: Lease, standing: keyof typeof standsMs): void {
    const { clock, nowMs } = this.#deps
    lease.stand(standing, Math.min(nowMs() + standsMs[standing], clock.toMonotonicMs(clock.month().endsMs)))
  }

  /** In the order in which they came. */
  #serveWaiters(lease: Lease): void {
    const waiters = lease.waiters
    lease.waiters = []
    const { nowMs, bounds } = this.#deps
    for (const [i, waiter] of waiters.entries()) {
      const verdict = waiter.isWanted() ? this.#verdictOf(lease) : 'unknown'
      if (verdict !== undefined) waiter.resolve(verdict)
      else if (nowMs() - waiter.sinceMs > bounds.waitMs) waiter.resolve('overloaded')
      else {
        lease.waiters = [...waiters.slice(i), ...lease.waiters]
        return
      }
    }
  }

  /** Those who wait at a lease that is over wait at its successor. */
  #moveOn(lease: Lease): void {
    for (const { isWanted, resolve } of lease.waiters.splice(0)) {
      void this.acquire(lease, isWanted).then(resolve)
    }
  }

  #returnIdle(): void {
    const { idleMs, lookEveryMs } = this.#deps.bounds
    for (const lease of this.#leases.values()) {
      const isQuiet = lease.left === lease.lookedAtLeft && lease.waiters.length === 0
      lease.quietLooks = isQuiet ? lease.quietLooks + 1 : 0
      lease.lookedAtLeft = lease.left
      if (lease.quietLooks * lookEveryMs >= idleMs && !lease.asking) this.#retire(lease)
    }
  }
}
