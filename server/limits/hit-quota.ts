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
import { Lease, type Verdict } from './hit-lease.ts'
import type { HitSupply, Supplied } from './hit-supply.ts'

export type { Lease, Verdict } from './hit-lease.ts'

export interface HitQuota {
  /** For a copy of the link. Undefined: no limit. */
  leaseOf(link: Link): Lease | undefined
  /** For a request that `spend` has refused: it waits for the next bundle. */
  acquire(lease: Lease, spends: boolean, isWanted: () => boolean): Promise<Verdict>
  secondsToMonthEnd(): number
  /** The database's clock has been looked at: months end when they end there. */
  clockMoved(): void
  readonly leases: number
  /** Gives back everything. */
  close(): Promise<void>
}

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

export function createHitQuota(deps: HitQuotaDeps): HitQuota {
  const { supply, clock, nowMs, bounds } = deps
  const leases = new Map<number, Lease>()
  const returning = new Set<Promise<void>>()
  let closed = false

  const giveBack = (lease: Lease, units = lease.empty()): void => {
    if (units === 0) return
    const back = supply.giveBack(lease.terms, lease.month, units).catch(() => undefined)
    returning.add(back)
    void back.finally(() => returning.delete(back))
  }

  const retire = (lease: Lease): void => {
    lease.retired = true
    if (leases.get(lease.terms.linkId) === lease) leases.delete(lease.terms.linkId)
    giveBack(lease)
  }

  const open = (link: Link, limit: number): Lease => {
    if (leases.size >= bounds.leases) {
      const [oldest] = leases.values()
      if (oldest) retire(oldest)
    }
    const { code, id: linkId, version } = link
    const lease = new Lease({ code, linkId, version, limit }, ask)
    leases.set(linkId, lease)
    return lease
  }

  const verdictOf = (lease: Lease, spends: boolean): Verdict | undefined => {
    const now = nowMs()
    if (spends ? lease.spend(now) : lease.left > 0 && now < lease.untilMs) return 'granted'
    switch (lease.standsAt(now)) {
      case 'used_up':
        deps.onRejected()
        return 'used_up'
      case 'no_limit':
        return 'granted'
      case 'ungranted':
        if (spends) deps.onUngranted(lease.terms.linkId)
        return 'granted'
      case 'gone':
        return 'gone'
      case 'unknown':
        return 'unknown'
      case 'none':
        return undefined
    }
  }

  /** In the order in which they came. */
  const serveWaiters = (lease: Lease): void => {
    const waiters = lease.waiters
    lease.waiters = []
    const now = nowMs()
    for (const [i, waiter] of waiters.entries()) {
      const verdict = waiter.isWanted() ? verdictOf(lease, waiter.spends) : 'unknown'
      if (verdict !== undefined) waiter.resolve(verdict)
      else if (now - waiter.sinceMs > bounds.waitMs) waiter.resolve('overloaded')
      else {
        lease.waiters = [...waiters.slice(i), ...lease.waiters]
        return
      }
    }
  }

  const learn = (lease: Lease, found: Supplied): void => {
    const now = nowMs()
    const stand = (standing: keyof typeof standsMs): void => {
      lease.stand(standing, Math.min(now + standsMs[standing], clock.toMonotonicMs(clock.month().endsMs)))
    }
    if (typeof found === 'object') {
      if (lease.retired || closed) {
        lease.month = found.month.name
        giveBack(lease, found.units)
      } else lease.fill(found.units, found.month, clock.toMonotonicMs(found.month.endsMs))
    } else if (found !== 'unknown') stand(found)
    // One deadline that was missed is no outage: whoever waits has a second try.
    else if (lease.failed) stand(deps.whenUngrantable === 'allow' ? 'ungranted' : 'unknown')
    lease.failed = found === 'unknown' && !lease.failed && lease.waiters.length > 0
  }

  const ask = (lease: Lease): void => {
    if (lease.asking || lease.retired || closed) return
    lease.asking = true
    void supply
      .bundle(lease.terms)
      .catch(() => 'unknown' as const)
      .then((found) => {
        lease.asking = false
        learn(lease, found)
        if (lease.retired || closed) moveOn(lease)
        else serveWaiters(lease)
        if (lease.waiters.length > 0) ask(lease)
      })
  }

  /** Those who wait at a lease that is over wait at its successor. */
  const moveOn = (lease: Lease): void => {
    for (const { spends, isWanted, resolve } of lease.waiters.splice(0)) {
      void acquire(lease, spends, isWanted).then(resolve)
    }
  }

  const current = (lease: Lease): Lease => {
    if (!lease.retired) return lease
    const { linkId, code, limit, version } = lease.terms
    return leases.get(linkId) ?? open({ id: linkId, code, version } as Link, limit)
  }

  const acquire = (asked: Lease, spends: boolean, isWanted: () => boolean): Promise<Verdict> => {
    const lease = current(asked)
    const verdict = closed ? 'unknown' : lease.waiters.length === 0 ? verdictOf(lease, spends) : undefined
    if (verdict !== undefined) return Promise.resolve(verdict)
    if (lease.waiters.length >= bounds.waiters) return Promise.resolve('overloaded')
    return new Promise((resolve) => {
      lease.waiters.push({ spends, sinceMs: nowMs(), isWanted, resolve })
      ask(lease)
    })
  }

  const looks = Math.max(1, Math.round(bounds.idleMs / bounds.lookEveryMs))
  const look = (): void => {
    for (const lease of leases.values()) {
      lease.quietLooks = lease.left === lease.lookedAtLeft && lease.waiters.length === 0 ? lease.quietLooks + 1 : 0
      lease.lookedAtLeft = lease.left
      if (lease.quietLooks >= looks && !lease.asking) retire(lease)
    }
  }
  const timer = setInterval(look, bounds.lookEveryMs)
  timer.unref()

  return {
    leaseOf(link) {
      const { id, version, monthlyHits } = link
      const held = leases.get(id)
      if (monthlyHits === null) {
        if (held && version > held.terms.version) retire(held)
        return undefined
      }
      // An older copy, still under way, does not bring old terms back.
      if (held && (held.terms.limit === monthlyHits || version <= held.terms.version)) {
        if (version > held.terms.version) held.terms = { ...held.terms, version }
        return held
      }
      if (held) retire(held)
      return open(link, monthlyHits)
    },
    acquire,
    secondsToMonthEnd: () => Math.max(1, Math.ceil((clock.month().endsMs - clock.nowMs()) / 1000)),
    clockMoved() {
      const { name, endsMs } = clock.month()
      for (const lease of leases.values()) {
        if (lease.month !== '') lease.untilMs = lease.month === name ? clock.toMonotonicMs(endsMs) : -Infinity
      }
    },
    get leases() {
      return leases.size
    },
    async close() {
      clearInterval(timer)
      closed = true
      for (const lease of leases.values()) {
        for (const { resolve } of lease.waiters.splice(0)) resolve('unknown')
        retire(lease)
      }
      await Promise.all(returning)
    },
  }
}
