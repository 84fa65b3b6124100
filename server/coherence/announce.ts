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
  readonly cache: SharedCache | undefined
  readonly breaker: Breaker
  readonly timeoutMs: number
  readonly publish: (code: Code) => Promise<void>
  readonly passSoon: () => void
}

export function createAnnouncer({ learn, cache, breaker, timeoutMs, publish, passSoon }: AnnounceDeps): Announcer {
  const put = async (target: SharedCache, code: Code, known: Known, asOf: string): Promise<void> => {
    if (!target.ready) throw new Error('Redis is not connected')
    await target.put({ code, known }, asOf)
  }
  return {
    asOf: () => cache?.cursor ?? null,
    async announce(code, known, asOf) {
      learn(code, known)
      if (!cache) return
      if (asOf !== null && breaker.state !== 'open') {
        await breaker.run(() => withDeadline(put(cache, code, known, asOf), timeoutMs, 'Redis')).catch(() => undefined)
      }
      passSoon()
      if (cache.ready) publish(code).catch(() => undefined)
    },
  }
}
