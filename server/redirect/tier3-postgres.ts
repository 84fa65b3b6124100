// Tier 3: Postgres, the truth. Lookups of one moment share a statement; a breaker of its own keeps an outage from
// costing every lookup the deadline.
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { BreakerOpen } from '../connections/breaker.ts'
import { DeadlineExceeded, withDeadline } from '../connections/deadline.ts'
import { microBatch, Overloaded } from '../connections/micro-batch.ts'
import type { Truth } from '../coherence/truth.ts'
import type { Answer, Code } from '../link.ts'

export type UnansweredReason = 'error' | 'timeout' | 'open' | 'queue_full'

export interface Tier3 {
  /** 'unknown' when Postgres cannot answer in time. */
  get(code: Code): Promise<Answer>
}

interface Tier3Deps {
  readonly truth: Truth
  readonly breaker: Breaker
  readonly config: Pick<Config, 'dbTimeoutMs'>
  readonly onBatch: (size: number) => void
  readonly onUnanswered: (reason: UnansweredReason) => void
}

export function createTier3({ truth, breaker, config, onBatch, onUnanswered }: Tier3Deps): Tier3 {
  const lookups = microBatch(
    (codes: Code[]) => {
      onBatch(codes.length)
      return breaker.run(() => withDeadline(truth.read(codes), config.dbTimeoutMs, 'Postgres'))
    },
    { maxKeys: limits.dbBatch, maxInFlight: limits.dbRedirectConnections, maxQueued: limits.dbQueue },
  )
  return {
    async get(code) {
      if (breaker.state === 'open') {
        onUnanswered('open')
        return 'unknown'
      }
      try {
        return await withDeadline(lookups.get(code), config.dbTimeoutMs, 'Postgres')
      } catch (error) {
        onUnanswered(reasonOf(error))
        return 'unknown'
      }
    },
  }
}

function reasonOf(error: unknown): UnansweredReason {
  if (error instanceof BreakerOpen) return 'open'
  if (error instanceof Overloaded) return 'queue_full'
  return error instanceof DeadlineExceeded ? 'timeout' : 'error'
}
