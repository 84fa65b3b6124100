// After the commit: the writer's own tier 1 at once, Redis if it answers in time, and a nudge for everybody else.
// None of it is needed for the change to arrive: the next pass makes it certain.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Code, Known } from '../link.ts'
import type { SharedCache } from './shared-cache.ts'

export interface Announcer {
  /** What this Redis had of the truth; to be asked before the transaction begins. */
  asOf(): string | null
  announce(code: Code, known: Known, asOf: string | null): Promise<void>
}

interface AnnounceDeps {
  readonly learn: (code: Code, known: Known) => void
  readonly cache: SharedCache
  readonly breaker: Breaker
  readonly timeoutMs: number
  readonly publish: (code: Code) => Promise<void>
  readonly passSoon: () => void
}

export function createAnnouncer({ learn, cache, breaker, timeoutMs, publish, passSoon }: AnnounceDeps): Announcer {
  const put = async (code: Code, known: Known, asOf: string): Promise<void> => {
    if (!cache.ready) throw new Error('Redis is not connected')
    await cache.put({ code, known }, asOf)
  }
  return {
    asOf: () => cache.cursor,
    async announce(code, known, asOf) {
      learn(code, known)
      if (asOf !== null && breaker.state !== 'open') {
        await breaker.run(() => withDeadline(put(code, known, asOf), timeoutMs, 'Redis')).catch(() => undefined)
      }
      passSoon()
      if (cache.ready) publish(code).catch(() => undefined)
    },
  }
}

/** Where there is no Redis: other processes look for themselves, when their tier 1 has run out. */
export const announceLocally = (local: Pick<AnnounceDeps, 'learn'>): Announcer => ({
  asOf: () => null,
  announce(code, known) {
    local.learn(code, known)
    return Promise.resolve()
  },
})
