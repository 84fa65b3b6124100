// Against those who try codes until they find links: an address that has collected many 404s is told 429 for absent codes
// until the minute ends. Whether a code exists is looked up first, so a link redirects for everybody at all times; the 429
// says no less than the 404, it only tells a scanner to stop.
//
// Each process counts for itself: with 8 workers an address gets up to 8 times as many. Sharing the counts would cost a
// message per 404, which is what a scan has most of. With a proxy on the same machine and TRUST_PROXY off, every address
// is loopback, which SCAN_ALLOWLIST leaves alone.
import { LRUCache } from 'lru-cache'
import { subscriberOf, type Matches, type TrustedHop } from './addresses.ts'
import { clientAddress } from './client-address.ts'

export interface AbsentVerdict {
  readonly blocked: boolean
  /** Until the minute ends. */
  readonly retryAfterS: number
}

export interface AbsentCodes {
  /** An absent code was asked for, over this connection and with this X-Forwarded-For. */
  onNotFound(peer: string | undefined, forwardedFor: string | undefined): AbsentVerdict
}

interface AbsentCodesOptions {
  readonly perMinute: number
  readonly allowed: Matches
  readonly trusts: TrustedHop
  /** Addresses that are remembered; whoever uses more than that at once is not held. */
  readonly addresses: number
  readonly nowMs: () => number
  readonly onBlocked: () => void
}

const minuteMs = 60_000
const notCounted = ''
const fine: AbsentVerdict = { blocked: false, retryAfterS: 0 }

export function createAbsentCodes(options: AbsentCodesOptions): AbsentCodes {
  const counts = new LRUCache<string, { minute: number; count: number }>({ max: options.addresses })
  const countedAs = (peer: string | undefined, forwardedFor: string | undefined): string => {
    const address = clientAddress(peer, forwardedFor, options.trusts)
    return options.allowed(address) ? notCounted : subscriberOf(address)
  }
  // A scanner's address is read once, not with every 404. What comes over X-Forwarded-For is the sender's choice, and long.
  const direct = new LRUCache<string, string>({
    max: options.addresses,
    memoMethod: (peer) => countedAs(peer, undefined),
  })
  return {
    onNotFound(peer, forwardedFor) {
      const key = peer === undefined || forwardedFor !== undefined ? countedAs(peer, forwardedFor) : direct.memo(peer)
      if (key === notCounted) return fine
      const nowMs = options.nowMs()
      const minute = Math.floor(nowMs / minuteMs)
      let seen = counts.get(key)
      if (seen?.minute !== minute) counts.set(key, (seen = { minute, count: 0 }))
      if (++seen.count <= options.perMinute) return fine
      options.onBlocked()
      return { blocked: true, retryAfterS: Math.max(1, Math.ceil(((minute + 1) * minuteMs - nowMs) / 1000)) }
    },
  }
}
