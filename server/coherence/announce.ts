// After the commit: the writer's own tier 1 at once, Redis if it answers in time, and a nudge for everybody else.
// None of it is needed for the change to arrive: the next pass makes it certain.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Code, Known } from '../link.ts'
import { limits } from '../limits.ts'
import type { Entry, SharedCache } from './shared-cache.ts'
import type { Vouching } from './vouching.ts'

/** What this process, and its Redis, had heard of the truth. */
export interface AsOf {
  readonly passes: number
  readonly cursor: string | null
}

export interface Announcer {
  /** To be asked before the transaction begins. */
  asOf(): AsOf
  announce(code: Code, known: Known, asOf: AsOf): Promise<void>
  /** Many at once: only what is held somewhere is mended, so that nothing wanted is pushed out by it. */
  announceAll(entries: readonly Entry[], asOf: AsOf): Promise<void>
}

interface AnnounceDeps {
  readonly learn: (code: Code, known: Known, vouched: boolean) => void
  /** The same, of interest only if the code is held. */
  readonly amend: (code: Code, known: Known, vouched: boolean) => unknown
  readonly vouching: Vouching
  readonly cache: SharedCache
  readonly breaker: Breaker
  readonly timeoutMs: number
  readonly publish: (code: Code) => Promise<unknown>
  readonly passSoon: () => void
}

export function createAnnouncer(deps: AnnounceDeps): Announcer {
  const { learn, amend, vouching, cache, breaker, timeoutMs, publish, passSoon } = deps
  const put = async (code: Code, known: Known, asOf: string): Promise<void> => {
    if (!cache.ready) throw new Error('Redis is not connected')
    await cache.put({ code, known }, asOf)
  }
  return {
    asOf: () => ({ passes: vouching.passes, cursor: cache.cursor }),
    async announce(code, known, { passes, cursor }) {
      learn(code, known, vouching.noneSince(passes))
      if (cursor !== null && breaker.state !== 'open') {
        await breaker.run(() => withDeadline(put(code, known, cursor), timeoutMs, 'Redis')).catch(() => undefined)
      }
      passSoon()
      if (cache.ready) publish(code).catch(() => undefined)
    },
    async announceAll(entries, { passes, cursor }) {
      for (const { code, known } of entries) amend(code, known, vouching.noneSince(passes))
      const mend = async (asOf: string): Promise<void> => {
        for (let at = 0; at < entries.length; at += limits.passChunk) {
          if (!cache.ready) throw new Error('Redis is not connected')
          await withDeadline(cache.mend(entries.slice(at, at + limits.passChunk), asOf), timeoutMs, 'Redis')
        }
      }
      if (cursor !== null && breaker.state !== 'open') await breaker.run(() => mend(cursor)).catch(() => undefined)
      passSoon()
      const [first] = entries
      // Whoever hears of one asks for all.
      if (first && cache.ready) publish(first.code).catch(() => undefined)
    },
  }
}

/** Where there is no Redis: other processes hear of it by their passes. */
export const announceLocally = ({
  learn,
  amend,
  vouching,
}: Pick<AnnounceDeps, 'learn' | 'amend' | 'vouching'>): Announcer => ({
  asOf: () => ({ passes: vouching.passes, cursor: null }),
  announce(code, known, { passes }) {
    learn(code, known, vouching.noneSince(passes))
    return Promise.resolve()
  },
  announceAll(entries, { passes }) {
    for (const { code, known } of entries) amend(code, known, vouching.noneSince(passes))
    return Promise.resolve()
  },
})
