// Who a tenant is, for those who have to know it with every request: remembered for half a second.
import { LRUCache } from 'lru-cache'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import type { TierName } from './tiers.ts'
import { readTenant } from './store.ts'

const rememberedMs = 500
const rememberedMax = 1000

export interface TenantTerms {
  readonly id: string
  readonly tier: TierName
  readonly linkQuota: number | null
}

export type Directory = ReturnType<typeof createDirectory>

export function createDirectory(sql: Sql) {
  const known = new LRUCache<string, TenantTerms>({ max: rememberedMax, ttl: rememberedMs })
  // Many ask at once; one question serves those that come meanwhile.
  const underWay = new Map<string, Promise<TenantTerms | undefined>>()
  const ask = (id: string): Promise<TenantTerms | undefined> => {
    const asked = underWay.get(id) ?? readTenant(sql, id).finally(() => underWay.delete(id))
    underWay.set(id, asked)
    return asked
  }
  return {
    /** Throws `not_found` where there is no such tenant. */
    async get(id: string): Promise<TenantTerms> {
      const askedAtMs = performance.now()
      const remembered = known.get(id)
      if (remembered) return remembered
      const tenant = await ask(id)
      if (!tenant) throw new QuickLinkError('not_found', `There is no tenant ${id}.`)
      known.set(id, tenant, { start: askedAtMs })
      return tenant
    },
    /** It has just been changed by this process. */
    forget(id: string): void {
      known.delete(id)
      underWay.delete(id)
    },
  }
}
