// Against those who try codes until they find links: an address that has collected many 404s is told 429 for absent codes
// until the minute ends. Whether a code exists is looked up first, so a link redirects for everybody at all times; the 429
// says no less than the 404, it only tells a scanner to stop.
//
// All workers of a server count together, through the primary process. Exactness: a worker by itself never allows more
// than the limit. Of what the others allow it hears with the answer to its next report, which leaves after
// `absencesEveryMs`, or as soon as one address has used `absencesAtOnce` (or a hundredth of the limit) of it. So an address
// may get that much more per worker, and what a worker answers while a message is on its way. Two servers behind one
// balancer count apart.
//
// With a proxy on the same machine and TRUST_PROXY off, every address is loopback, which SCAN_ALLOWLIST leaves alone.
import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { plainAddress, subscriberOf } from './addresses.ts'
import { clientAddress, isPrivate } from './client-address.ts'
import type { AbsenceChannel } from './shared-absences.ts'

export interface AbsentVerdict {
  readonly blocked: boolean
  /** Until the minute ends. */
  readonly retryAfterS: number
}

export interface AbsentCodes {
  /** An absent code was asked for, over this connection and with this X-Forwarded-For. */
  onNotFound(peer: string | undefined, forwardedFor: string | undefined): AbsentVerdict
}

interface AbsentCodesDeps {
  /** To the count of all workers. */
  readonly channel: AbsenceChannel
  readonly nowMs: () => number
  readonly onBlocked: () => void
  /** Somebody forwards who is not to be believed: anybody can send the header; a private address may be a proxy of ours. */
  readonly onUnheeded: (address: string, peer: 'private' | 'public') => void
}

type AbsentCodesConfig = Pick<Config, 'notFoundPerMinute' | 'scanAllowlist' | 'trustProxy'>

interface Seen {
  minute: number
  /** Of all workers, as far as this one knows. */
  count: number
  /** Of these, what the primary process has not been told. */
  unsaid: number
}

const minuteMs = 60_000
const notCounted = ''
const fine: AbsentVerdict = { blocked: false, retryAfterS: 0 }

/** `max`: addresses that are remembered; whoever uses more than that at once is not held. */
export function createAbsentCodes(
  { notFoundPerMinute: perMinute, scanAllowlist, trustProxy }: AbsentCodesConfig,
  deps: AbsentCodesDeps,
  max: number = limits.scanAddresses,
): AbsentCodes {
  const counts = new LRUCache<string, Seen>({ max })
  const note = reporter(deps.channel, counts, perMinute)
  const countedAs = (peer: string | undefined, forwardedFor: string | undefined): string => {
    const address = clientAddress(peer, forwardedFor, trustProxy)
    return scanAllowlist(address) ? notCounted : subscriberOf(address)
  }
  // A scanner's address is read once, not with every 404. What comes over X-Forwarded-For is the sender's choice, and long.
  const direct = new LRUCache<string, string>({
    max,
    memoMethod: (peer) => countedAs(peer, undefined),
  })
  const heeded = (peer: string, forwardedFor: string | undefined): string | undefined => {
    const address = plainAddress(peer)
    if (forwardedFor === undefined || trustProxy(address, 0)) return forwardedFor
    deps.onUnheeded(address, isPrivate(address) ? 'private' : 'public')
    return undefined
  }
  return {
    onNotFound(peer = '', said) {
      const forwardedFor = heeded(peer, said)
      const key = forwardedFor !== undefined ? countedAs(peer, forwardedFor) : direct.memo(peer)
      if (key === notCounted) return fine
      const nowMs = deps.nowMs()
      const minute = Math.floor(nowMs / minuteMs)
      let seen = counts.get(key)
      if (seen?.minute !== minute) counts.set(key, (seen = { minute, count: 0, unsaid: 0 }))
      if (seen.count < perMinute) {
        seen.count++
        note(key, seen)
        return fine
      }
      deps.onBlocked()
      return { blocked: true, retryAfterS: Math.max(1, Math.ceil(((minute + 1) * minuteMs - nowMs) / 1000)) }
    },
  }
}

/** Collects what the primary process is to be told, and takes in what it answers. */
function reporter(
  channel: AbsenceChannel,
  counts: LRUCache<string, Seen>,
  perMinute: number,
): (key: string, seen: Seen) => void {
  const unsaid = new Map<string, Seen>()
  const enough = Math.max(limits.absencesAtOnce, perMinute / 100)
  let timer: NodeJS.Timeout | undefined
  const report = (minute: number): void => {
    clearTimeout(timer)
    timer = undefined
    // Those of the minute before are history.
    const current = [...unsaid].filter(([, seen]) => seen.minute === minute)
    const batch = current.map(([key, seen]) => [key, seen.unsaid] as const)
    for (const [, seen] of current) seen.unsaid = 0
    unsaid.clear()
    channel.tell({ type: 'absences', minute, counts: batch })
  }
  channel.heard = ({ minute, totals }) => {
    for (const [key, total] of totals) {
      const seen = counts.peek(key)
      if (seen?.minute === minute) seen.count = Math.max(seen.count, total + seen.unsaid)
    }
  }
  return (key, seen) => {
    seen.unsaid++
    unsaid.set(key, seen)
    if (seen.unsaid >= enough || unsaid.size >= counts.max / 10) report(seen.minute)
    else timer ??= setTimeout(report, limits.absencesEveryMs, seen.minute).unref()
  }
}
