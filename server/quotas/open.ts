// The limits of one process, put together.
import type { Shared } from '../coherence/open.ts'
import { limits, type Config } from '../config.ts'
import type { Breaker } from '../connections/breaker.ts'
import type { Postgres } from '../connections/postgres.ts'
import type { Admission } from '../links/change-link.ts'
import type { TermsOf } from '../links/terms.ts'
import { tenantsRouter } from '../tenants/api.ts'
import { createDirectory } from '../tenants/directory.ts'
import { createAbsentCodes, type AbsentCodes } from '../rates/absent-codes.ts'
import { createAdmission } from '../links/create-link.ts'
import { limitsRouter } from './api.ts'
import { askRedis } from '../connections/ask-redis.ts'
import { insured, memoryCounters, redisCounters, type Counters } from '../rates/counters.ts'
import { createQuotaSync, type QuotaSync } from './quota-sync.ts'
import { createRateLimit } from '../rates/rate-limit.ts'
import type { AbsenceChannel } from '../rates/shared-absences.ts'
import { createTenantQuota } from './tenant-quota.ts'

export interface Limits {
  readonly admission: Admission
  readonly termsOf: TermsOf
  readonly absentCodes: AbsentCodes
  readonly rooms: readonly ReturnType<typeof limitsRouter>[]
  close(): Promise<void>
}

interface LimitsDeps {
  readonly sql: Postgres
  /** For what is read and written by the API, and decides nothing. */
  readonly api: Postgres
  readonly shared: Shared | undefined
  readonly breaker: Breaker
  /** Those of the primary process. */
  readonly counters: Counters
  readonly absences: AbsenceChannel
  readonly onUnheeded: (peer: string) => void
  readonly onRateLimited: (tier: 'standard' | 'plus' | 'unlimited' | 'aggregate' | 'address') => void
  readonly onQuotaExceeded: () => void
  readonly onError: (error: unknown, what: string) => void
}

export function openLimits(config: Config, deps: LimitsDeps): Limits {
  const { sql, shared } = deps
  const { tiers } = config
  const redis = shared?.redis
  const ask = redis && askRedis(redis, deps.breaker, config.redisTimeoutMs)
  const directory = createDirectory(sql)

  const inMemory = insured(deps.counters, memoryCounters(limits.createWindowS))
  const inRedis = config.rateLimitStore === 'redis' && redis && ask
  const counters = inRedis ? insured(redisCounters(redis, ask, limits.createWindowS), inMemory) : inMemory
  const rateLimit = createRateLimit({ counters, tiers, aggregatePerHour: config.rateLimitAggregatePerHour })

  const quota = redis && ask && createTenantQuota({ db: sql, tiers, redis, ask, trusted: shared.trusted })
  const quotaSync = createQuotaSync(sql, tiers, quota)
  const admission = createAdmission({
    directory,
    tiers,
    rateLimit,
    windowS: limits.createWindowS,
    quota,
    onRateLimited: deps.onRateLimited,
    onQuotaExceeded: deps.onQuotaExceeded,
  })
  const nights = startNights((isStopping) => quotaSync.nightly(isStopping), deps.onError)
  return {
    admission,
    termsOf: async (id) => tiers[(await directory.get(id)).tier],
    absentCodes: createAbsentCodes({
      perMinute: config.notFoundPerMinute,
      allowed: config.scanAllowlist,
      trusts: config.trustProxy,
      addresses: limits.scanAddresses,
      channel: deps.absences,
      everyMs: limits.absencesEveryMs,
      atOnce: limits.absencesAtOnce,
      onUnheeded: deps.onUnheeded,
      nowMs: Date.now,
      onBlocked: () => deps.onRateLimited('address'),
    }),
    rooms: [
      limitsRouter({ sql: deps.api, directory, tiers, rateLimit, quotaSync }),
      tenantsRouter({
        sql: deps.api,
        async onChanged(tenant) {
          directory.forget(tenant)
          // Redis hears of it now if it can; if not, its next refusal is not believed.
          await quotaSync.one(tenant).catch(() => undefined)
        },
      }),
    ],
    close: nights.stop,
  }
}

function startNights(nightly: QuotaSync['nightly'], onError: LimitsDeps['onError']): { stop(): Promise<void> } {
  let running: Promise<unknown> | undefined
  let isOver = false
  const timer = setInterval(() => {
    // A night of many tenants may last longer than the interval.
    running ??= nightly(() => isOver)
      .catch((error: unknown) => onError(error, 'the nightly sync of quotas failed'))
      .finally(() => (running = undefined))
  }, limits.nightlyEveryMs)
  timer.unref()
  return {
    async stop() {
      isOver = true
      clearInterval(timer)
      await running
    },
  }
}
