// The hit quota of one process, put together.
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { HitCounters } from './hit-counters.ts'
import { HitQuota } from './hit-quota.ts'
import { createHitSupply } from './hit-supply.ts'
import type { Route } from '../api/operation.ts'
import { hitRoutes } from './api.ts'
import { askPostgres, databaseTimeMs } from './store.ts'

interface HitsDeps {
  /** With the redirect's deadline. */
  readonly redirects: Sql
  readonly api: Sql
  readonly names: Names
  readonly breaker: Breaker
  readonly counters: HitCounters | undefined
  readonly clock: DatabaseClock
  readonly flushClicks: () => Promise<void>
  readonly onRejected: () => void
  readonly onUngranted: (linkId: number) => void
}

interface Hits {
  readonly quota: HitQuota
  readonly routes: readonly Route[]
  close(): Promise<void>
}

export function openHits(config: Pick<Config, 'dbTimeoutMs' | 'hitQuotaUngrantable'>, deps: HitsDeps): Hits {
  const { clock, counters } = deps
  const nowMs = (): number => performance.now()
  const postgres = askPostgres(deps.redirects, deps.breaker, config.dbTimeoutMs)
  const quota = new HitQuota({
    supply: createHitSupply({ counters, postgres, clock, nowMs }),
    clock,
    nowMs,
    whenUngrantable: config.hitQuotaUngrantable,
    bounds: {
      leases: limits.hitLeases,
      waiters: limits.hitWaiters,
      waitMs: limits.hitWaitMs,
      lookEveryMs: limits.hitLookMs,
      idleMs: limits.hitIdleMs,
    },
    onRejected: deps.onRejected,
    onUngranted: deps.onUngranted,
  })

  const lookAtClock = async (): Promise<void> => {
    const askedMs = nowMs()
    clock.heard(await databaseTimeMs(deps.redirects), askedMs)
    quota.clockMoved()
  }
  // A database that is away is no news: the clock goes on as it went.
  const looking = setInterval(() => void lookAtClock().catch(() => undefined), limits.clockEveryMs)
  looking.unref()
  void lookAtClock().catch(() => undefined)

  const routes = hitRoutes({
    sql: deps.api,
    names: deps.names,
    flushClicks: deps.flushClicks,
    leftInRedis: (code, linkId, month) => counters?.left(code, linkId, month) ?? Promise.resolve(undefined),
    settledMs: 2 * limits.hitIdleMs,
  })
  return {
    quota,
    routes,
    async close() {
      clearInterval(looking)
      // What does not get back in time is forfeited.
      await withDeadline(quota.close(), limits.hitStopMs, 'giving hits back').catch(() => undefined)
    },
  }
}
