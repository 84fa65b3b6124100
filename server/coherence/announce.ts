// After the commit: the writer's own tier 1 at once, Redis if it answers in time, and a nudge for everybody else.
// None of it is needed for the change to arrive: the next pass makes it certain.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Code, Known } from '../link.ts'
import type { SharedCache } from './shared-cache.ts'
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
}

interface AnnounceDeps {
  readonly learn: (code: Code, known: Known, vouched: boolean) => void
  readonly vouching: Vouching
  readonly cache: SharedCache
  readonly breaker: Breaker
  readonly timeoutMs: number
  readonly publish: (code: Code) => Promise<unknown>
  readonly passSoon: () => void
}

export function createAnnouncer(deps: AnnounceDeps): Announcer {
  const { learn, vouching, cache, breaker, timeoutMs, publish, passSoon } = deps
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
  }
}

/** Where there is no Redis: other processes hear of it by their passes. */
export const announceLocally = ({ learn, vouching }: Pick<AnnounceDeps, 'learn' | 'vouching'>): Announcer => ({
  asOf: () => ({ passes: vouching.passes, cursor: null }),
  announce(code, known, { passes }) {
    learn(code, known, vouching.noneSince(passes))
    return Promise.resolve()
  },
})
