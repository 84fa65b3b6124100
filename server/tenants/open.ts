// What tenants may do, in one process: their terms, rates and quotas, put together.
import type { Route } from '../api/operation.ts'
import type { Shared } from '../coherence/open.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Databases } from '../connections/databases.ts'
import type { Admission } from '../links/change-link.ts'
import { countersBy, countIn, countInMemory, countInRedis, insured } from '../rates/counters.ts'
import { createRateLimit } from '../rates/rate-limit.ts'
import { tenantRoutes } from './api.ts'
import { createDirectory } from './directory.ts'
import { usageRoutes } from '../quotas/api.ts'
import { createQuotaSync, startNights } from '../quotas/quota-sync.ts'
import { TenantQuota } from '../quotas/tenant-quota.ts'

export interface Tenants {
  readonly admission: Admission
  readonly routes: readonly Route[]
}

interface TenantsDeps {
  readonly databases: Databases
  readonly shared: Shared | undefined
}

export function openTenants(ground: Ground, { databases, shared }: TenantsDeps): Tenants {
  const { config, metrics, log, counters, onClose } = ground
  const db = databases.limits
  const { tiers } = config
  const directory = createDirectory(db)

  const inMemory = insured(countersBy(counters), countersBy(countInMemory(limits.createWindowS)))
  const inRedis =
    config.rateLimitStore === 'redis' &&
    shared?.partitions.map(({ redis, keys, ask }) => countInRedis(redis, keys, ask, limits.createWindowS))
  const rateLimit = createRateLimit({
    counters: inRedis ? insured(countersBy(countIn(inRedis)), inMemory) : inMemory,
    tiers,
    aggregatePerHour: config.rateLimitAggregatePerHour,
    onRefused: (tier) => metrics.rateLimited.inc({ tier }),
  })
  const quota = new TenantQuota({
    db,
    tiers,
    gates: shared?.partitions,
    onExceeded: () => metrics.tenantQuotaRejections.inc(),
  })
  const quotaSync = createQuotaSync(db, tiers, quota)
  const nights = startNights(quotaSync, (err, what) => log.warn({ err }, what))
  onClose(nights.stop)
  return {
    admission: { directory, tiers, rateLimit, quota },
    routes: [
      ...usageRoutes({ sql: databases.api, directory, tiers, rateLimit, quota, quotaSync }),
      ...tenantRoutes({
        sql: databases.api,
        async onChanged(tenant) {
          directory.forget(tenant)
          // Redis hears of it now if it can; if not, its next refusal is not believed.
          await quota.sync(tenant).catch(() => undefined)
        },
      }),
    ],
  }
}
