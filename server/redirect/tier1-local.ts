// Tier 1: what this process answered a moment ago. A copy is fresh for `freshMs`. A link that this process' passes vouch
// for lives on as long as they succeed: whatever becomes of it, they bring it. After that every other copy, and every
// absence, only stands in while neither Redis nor Postgres can answer, so that a new link is seen soon.
//
// One rule keeps it right: a reply that may be older news never takes the place of a newer version. Older news: what was
// asked for before this copy came. What Redis says may be older whenever it was asked, so where tier 1 has a newer
// version the ladder asks Postgres (`hasNewer`): rows can also go away, and then it is Redis that is right.
import { LRUCache } from 'lru-cache'
import { agree, isLink, isOlder, type Answer, type Code, type Known } from '../link.ts'
import type { Prepared } from './prepared.ts'

export interface Copy {
  readonly known: Known
  /** When it was last known to be right; -Infinity: unknown. */
  storedMs: number
  freshUntilMs: number
  /** Whatever changes will be told by a pass. */
  vouched: boolean
  /** A pass has said that it changed, and not into what: it stands in for nobody, and only keeps older news out. */
  outdated: boolean
  /** When the ladder was last asked for it. */
  askedMs: number
  /** The answer that it makes; made by the first hit, never for a copy that nobody asks for again. */
  prepared: Prepared | undefined
}

/** In the form of a copy; its life is over. */
export const copyOf = (known: Known): Copy => ({
  known,
  storedMs: -Infinity,
  freshUntilMs: -Infinity,
  vouched: false,
  outdated: false,
  askedMs: -Infinity,
  prepared: undefined,
})

interface Tier1Options {
  readonly max: number
  readonly freshMs: number
  /** How long a link may outlive its life while its successor is under way: one round trip to Redis. */
  readonly graceMs: number
  readonly staleMaxMs: number
  /** How old what passes vouch for may be. */
  readonly trustMs: number
  /** Until when copies that are vouched for may be served, whatever their age. */
  readonly vouching: { readonly untilMs: number }
  readonly nowMs: () => number
}

export type Tier1 = ReturnType<typeof createTier1>

export function createTier1(options: Tier1Options) {
  const { max, freshMs, graceMs, staleMaxMs, trustMs, vouching, nowMs } = options
  const copies = new LRUCache<Code, Copy>({ max })

  const held = (code: Code): Copy | undefined => copies.peek(code)
  const isVouched = (copy: Copy): boolean => copy.vouched && nowMs() < vouching.untilMs

  const keep = (code: Code, known: Known, vouched: boolean, storedMs = nowMs()): Copy => {
    const copy = copyOf(known)
    copy.storedMs = storedMs
    copy.askedMs = nowMs()
    copy.freshUntilMs = copy.askedMs + freshMs
    copy.vouched = vouched && isLink(known)
    copies.set(code, copy)
    return copy
  }

  /** The same once more takes nothing from a copy: neither its answer, nor that it is vouched for. */
  const keepOrConfirm = (code: Code, known: Known, vouched: boolean): Copy => {
    const copy = held(code)
    if (copy?.known.version !== known.version || !agree(copy.known, known)) return keep(code, known, vouched)
    copy.storedMs = copy.askedMs = nowMs()
    copy.freshUntilMs = copy.storedMs + freshMs
    copy.vouched ||= vouched && isLink(known)
    copy.outdated = false
    return copy
  }

  /** When it was last known to be right: the last pass that vouched for it knew. */
  const knownMs = ({ vouched, storedMs }: Copy): number =>
    vouched ? Math.max(storedMs, vouching.untilMs - trustMs) : storedMs

  /** What is held is newer than that, or is known to be over and that is no newer. */
  const isPast = (known: Known, copy: Copy): boolean =>
    copy.outdated ? !isOlder(copy.known, known) : isOlder(known, copy.known)

  const expire = (copy: Copy): void => {
    copy.freshUntilMs = -Infinity
    copy.vouched = false
  }

  return {
    get(code: Code): Copy | undefined {
      const copy = copies.get(code)
      return copy !== undefined && nowMs() < copy.freshUntilMs ? copy : undefined
    },
    /** A link whose life has ended, and goes on for another one, because passes vouch for it. */
    prolong(code: Code): Copy | undefined {
      const copy = held(code)
      if (copy === undefined || !isVouched(copy)) return undefined
      copy.freshUntilMs = Math.min(nowMs() + freshMs, vouching.untilMs)
      // Hits that nobody wanted for a while have gone back: the next bundle has a lease of its own.
      if (copy.prepared?.lease?.retired) copy.prepared = undefined
      return copy
    },
    /** A link whose life has just ended, by time and not by news: good while its successor is under way. */
    parting(code: Code): Copy | undefined {
      const copy = held(code)
      return copy !== undefined && isLink(copy.known) && nowMs() < copy.freshUntilMs + graceMs ? copy : undefined
    },
    /** Keeps the answer unless a newer one is known, and gives back the one that stands. */
    remember(code: Code, known: Known, askedMs: number, vouched: boolean): Copy {
      const copy = held(code)
      const maybeOlder = copy !== undefined && askedMs <= copy.storedMs
      return maybeOlder && isPast(known, copy) ? copy : keepOrConfirm(code, known, vouched)
    },
    /** A newer version than that is known, or known to be. */
    hasNewer(code: Code, known: Known): boolean {
      const copy = held(code)
      return copy !== undefined && isPast(known, copy)
    },
    /** News of a change that this process made. */
    learn(code: Code, known: Known, vouched: boolean): void {
      const copy = held(code)
      if (copy === undefined || !isOlder(known, copy.known)) keepOrConfirm(code, known, vouched)
    },
    /** News of a change, of interest only if the code is held. What a pass brings, passes vouch for. True: it was news. */
    amend(code: Code, known: Known, vouched = true): boolean {
      const copy = held(code)
      if (copy === undefined || isOlder(known, copy.known)) return false
      return keepOrConfirm(code, known, vouched) !== copy
    },
    /** It has changed: nobody is led to what was before, not even while nobody can say what it is now. */
    outdate(code: Code): void {
      const copy = held(code)
      if (copy === undefined) return
      expire(copy)
      copy.outdated = true
      copy.storedMs = nowMs()
    },
    /** Somebody says that it has changed: ask again. */
    expire(code: Code): void {
      const copy = held(code)
      if (copy !== undefined) expire(copy)
    },
    expireAll(): void {
      for (const copy of copies.values()) expire(copy)
    },
    /** While Postgres cannot answer: what was known, or what an untrusted Redis says. Kept for one life, as old as it is. */
    fallBack(code: Code, behind: Answer): Copy | undefined {
      const copy = held(code)
      const isOutdated = copy?.outdated === true
      const old = !isOutdated && copy !== undefined && nowMs() - knownMs(copy) < staleMaxMs ? copy : undefined
      if (behind !== 'unknown' && !(isOutdated && isPast(behind, copy))) {
        const isNews = old === undefined || !(isOlder(behind, old.known) || agree(behind, old.known))
        if (isNews) return keep(code, behind, false, old?.storedMs ?? -Infinity)
      }
      if (old !== undefined) old.freshUntilMs = nowMs() + freshMs
      return old
    },
    /** What is held, for those who look from outside. */
    peek(code: Code): { known: Known; ageMs: number; fresh: boolean; vouched: boolean } | undefined {
      const copy = held(code)
      if (copy === undefined) return undefined
      const now = nowMs()
      const vouched = isVouched(copy)
      return { known: copy.known, ageMs: now - copy.storedMs, fresh: vouched || now < copy.freshUntilMs, vouched }
    },
    clear(): void {
      copies.clear()
    },
    codes: (): Code[] => [...copies.keys()],
    get size(): number {
      return copies.size
    },
    /** Copies that are vouched for. */
    get vouchedSize(): number {
      let size = 0
      for (const copy of copies.values()) if (isVouched(copy)) size++
      return size
    },
  }
}
