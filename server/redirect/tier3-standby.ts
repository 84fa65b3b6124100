// Tier 3 near by: a standby of Postgres, asked before the primary. It has a deadline of its own, and whoever has waited in vain asks the
// primary; so does whoever is told less than passes have heard. Without a standby none of this is there.
import type { Config } from '../config.ts'
import type { News } from '../coherence/news.ts'
import type { Standby } from '../coherence/standby.ts'
import type { NearTruth } from '../coherence/truth.ts'
import type { Landing, Vouching } from '../coherence/vouching.ts'
import { withDeadline } from '../connections/deadline.ts'
import { microBatch, Overloaded } from '../connections/micro-batch.ts'
import { limits } from '../limits.ts'
import type { Answer, Code, Known } from '../link.ts'

export interface NearTier {
  /** 'unknown' unless it knows all that passes have heard of this code, and passes hear. */
  get(code: Code): Promise<Answer>
  /** Whatever it says, for those whom the primary does not answer. */
  getBehind(code: Code): Promise<Answer>
  /** What `get` has said may be put into a Redis whose cursor this is. */
  mayFill(code: Code, cursor: string | null): boolean
}

interface NearTierDeps {
  readonly near: Pick<NearTruth, 'read'>
  readonly state: Pick<Standby, 'isFit' | 'isUp' | 'failed'>
  readonly news: News
  readonly vouching: Pick<Vouching, 'untilMs'>
  /** Of the part of Redis that has this code; undefined: there is no Redis. */
  readonly landingOf: (code: Code) => Landing | undefined
  readonly config: Pick<Config, 'dbTimeoutMs'>
  readonly nowMs: () => number
  readonly onBatch: (size: number) => void
}

export function createNearTier(deps: NearTierDeps): NearTier {
  const { near, state, news, vouching, config } = deps
  const lookups = microBatch(
    async (codes: Code[]): Promise<{ known: Known; isCurrent: boolean }[]> => {
      deps.onBatch(codes.length)
      const { knowns, asOf } = await withDeadline(near.read(codes), config.dbTimeoutMs, 'the standby')
      return knowns.map((known, n) => ({ known, isCurrent: news.isKnown(codes[n] as Code, asOf) }))
    },
    { maxKeys: limits.dbBatch, maxInFlight: limits.dbRedirectConnections, maxQueued: limits.dbQueue },
  )
  const ask = async (code: Code): Promise<{ known: Answer; isCurrent: boolean }> => {
    try {
      return await withDeadline(lookups.get(code), config.dbTimeoutMs, 'the standby')
    } catch (error) {
      if (!(error instanceof Overloaded)) state.failed()
      return { known: 'unknown', isCurrent: false }
    }
  }
  return {
    async get(code) {
      if (!state.isFit || deps.nowMs() >= vouching.untilMs) return 'unknown'
      const { known, isCurrent } = await ask(code)
      return isCurrent ? known : 'unknown'
    },
    async getBehind(code) {
      return state.isUp ? (await ask(code)).known : 'unknown'
    },
    mayFill(code, cursor) {
      const landing = deps.landingOf(code)
      const reached = landing?.isCurrent(cursor) ? landing.reached(cursor) : undefined
      return reached !== undefined && news.reaches(reached)
    },
  }
}
