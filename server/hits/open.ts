// The hit quota of one process, put together.
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Databases } from '../connections/databases.ts'
import type { Clicks } from '../clicks/clicks.ts'
import type { Names } from '../domains/names.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { HitCounters } from './hit-counters.ts'
import { HitQuota } from './hit-quota.ts'
import { createHitSupply } from './hit-supply.ts'
import type { Route } from '../api/operation.ts'
import { hitRoutes } from './api.ts'
import { askPostgres, databaseTimeMs } from './store.ts'

interface HitsDeps {
  readonly databases: Databases
  readonly names: Names
  readonly breaker: Breaker
  readonly counters: Omit<HitCounters, 'prepare'> | undefined
  readonly clock: DatabaseClock
  readonly clicks: Pick<Clicks, 'flush' | 'ungranted'>
}

interface Hits {
  readonly quota: HitQuota
  readonly routes: readonly Route[]
}

export function openHits({ config, metrics, onClose }: Ground, deps: HitsDeps): Hits {
  const { clock, counters, clicks } = deps
  const nowMs = (): number => performance.now()
  const { redirects, api } = deps.databases
  const postgres = askPostgres(redirects, deps.breaker, config.dbTimeoutMs)
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
    onRejected: () => metrics.hitQuotaRejections.inc(),
    onUngranted: (linkId) => {
      metrics.hitsUngranted.inc()
      clicks.ungranted(linkId)
    },
  })

  const lookAtClock = async (): Promise<void> => {
    const askedMs = nowMs()
    clock.heard(await databaseTimeMs(redirects), askedMs)
    quota.clockMoved()
  }
  // A database that is away is no news: the clock goes on as it went.
  const looking = setInterval(() => void lookAtClock().catch(() => undefined), limits.clockEveryMs)
  looking.unref()
  void lookAtClock().catch(() => undefined)

  const routes = hitRoutes({
    sql: api,
    names: deps.names,
    flushClicks: () => clicks.flush(),
    leftInRedis: (code, linkId, month) => counters?.left(code, linkId, month) ?? Promise.resolve(undefined),
    settledMs: 2 * limits.hitIdleMs,
  })
  onClose(async () => {
    clearInterval(looking)
    // What does not get back in time is forfeited.
    await withDeadline(quota.close(), limits.hitStopMs, 'giving hits back').catch(() => undefined)
  })
  return { quota, routes }
}
