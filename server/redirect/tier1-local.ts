// Tier 1: what this process answered a moment ago. Fresh for `freshMs`; after that only a copy to fall back on while
// nobody else can say. One rule keeps it right: a reply that may be older news never takes the place of a newer version.
// Older news: what was asked for before this copy came; and what Redis says while its trust may be older than this copy.
import { LRUCache } from 'lru-cache'
import { isLink, type Code, type Known } from '../link.ts'
import type { Prepared } from './prepared.ts'

export interface Copy {
  readonly known: Known
  readonly storedMs: number
  freshUntilMs: number
  /** The answer that it makes; made by the first hit, never for a copy that nobody asks for again. */
  prepared: Prepared | undefined
}

/** What somebody else says, in the form of a copy; its life is over. */
export const copyOf = (known: Known): Copy => ({
  known,
  storedMs: -Infinity,
  freshUntilMs: -Infinity,
  prepared: undefined,
})

interface Tier1Options {
  readonly max: number
  readonly freshMs: number
  /** How long a link may outlive that while its successor is under way: one round trip to Redis. */
  readonly graceMs: number
  readonly staleMaxMs: number
  /** How far a trusted Redis may be behind. Longer must a copy not outrank it: rows can also go away. */
  readonly trustMs: number
  readonly nowMs: () => number
}

export interface Tier1 {
  get(code: Code): Copy | undefined
  /** A link whose life has just ended, by time and not by news: good while its successor is under way. */
  parting(code: Code): Copy | undefined
  /** Keeps the answer unless a newer one is known, and gives back the one that stands. */
  remember(code: Code, known: Known, askedMs: number, by: 'cache' | 'truth'): Copy
  /** News of a change that this process made. */
  learn(code: Code, known: Known): void
  /** News of a change, of interest only if the code is held. */
  amend(code: Code, known: Known): void
  /** Somebody changed it: ask again. */
  expire(code: Code): void
  /** The copy that has outlived its life, while nobody can be asked. */
  stale(code: Code): Copy | undefined
  /** What is held, for those who look from outside. */
  peek(code: Code): { known: Known; ageMs: number; fresh: boolean } | undefined
  clear(): void
  codes(): Code[]
  readonly size: number
}

export function createTier1({ max, freshMs, graceMs, staleMaxMs, trustMs, nowMs }: Tier1Options): Tier1 {
  const copies = new LRUCache<Code, Copy>({ max })

  const keep = (code: Code, known: Known): Copy => {
    const storedMs = nowMs()
    const copy: Copy = { known, storedMs, freshUntilMs: storedMs + freshMs, prepared: undefined }
    copies.set(code, copy)
    return copy
  }
  const held = (code: Code): Copy | undefined => copies.peek(code)

  return {
    get(code) {
      const copy = copies.get(code)
      return copy !== undefined && nowMs() < copy.freshUntilMs ? copy : undefined
    },
    parting(code) {
      const copy = held(code)
      return copy !== undefined && isLink(copy.known) && nowMs() < copy.freshUntilMs + graceMs ? copy : undefined
    },
    remember(code, known, askedMs, by) {
      const copy = held(code)
      const behindMs = by === 'cache' ? trustMs : 0
      const maybeOlder = copy !== undefined && askedMs - behindMs <= copy.storedMs
      if (!maybeOlder || known.version >= copy.known.version) return keep(code, known)
      copy.freshUntilMs = nowMs() + freshMs
      return copy
    },
    learn(code, known) {
      const copy = held(code)
      if (copy === undefined || known.version >= copy.known.version) keep(code, known)
    },
    amend(code, known) {
      const copy = held(code)
      if (copy !== undefined && known.version > copy.known.version) keep(code, known)
    },
    expire(code) {
      const copy = held(code)
      if (copy !== undefined) copy.freshUntilMs = -Infinity
    },
    stale(code) {
      const copy = held(code)
      return copy !== undefined && nowMs() - copy.storedMs < staleMaxMs ? copy : undefined
    },
    peek(code) {
      const copy = held(code)
      if (copy === undefined) return undefined
      return { known: copy.known, ageMs: nowMs() - copy.storedMs, fresh: nowMs() < copy.freshUntilMs }
    },
    clear() {
      copies.clear()
    },
    codes: () => [...copies.keys()],
    get size() {
      return copies.size
    },
  }
}
