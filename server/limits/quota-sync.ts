// Syncs quotas: one or all on demand, and all of them every night, by one process of all replicas.
import { limits } from '../config.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { removeDeleted } from '../tenants/store.ts'
import { pruneOps, readSnapshot, tenantIds } from './quota-store.ts'
import { quotaTimes, type Synced, type TenantQuota } from './tenant-quota.ts'
import { tierNames, type Tiers } from './tiers.ts'

export type SyncedTenant = Synced & { readonly tenant: string }

export interface QuotaSync {
  /** undefined: no such tenant. */
  one(tenant: string): Promise<SyncedTenant | undefined>
  /** All who have a quota. */
  all(): Promise<SyncedTenant[]>
  /** True: it was due, and this process has done it. */
  nightly(): Promise<boolean>
}

const page = 500
const nightlyLock = 7_105_003
/** UTC: when most are asleep, and a day's figures are closed. */
const nightlyHour = 3

export function createQuotaSync(db: Postgres, tiers: Tiers, quota: TenantQuota | undefined): QuotaSync {
  // Their links may be millions, and nobody needs the number.
  const without = tierNames.filter((name) => tiers[name].links === null)
  const one = async (tenant: string, sql: Sql): Promise<SyncedTenant | undefined> => {
    const synced = await (quota ? quota.sync(tenant, sql) : rowsOnly(sql, tenant))
    return synced && { tenant, ...synced }
  }
  const all = async (sql: Sql, onEach: (synced: SyncedTenant) => void): Promise<void> => {
    for (let after = ''; ;) {
      const ids = await tenantIds(sql, after, page, without)
      for (const id of ids) {
        const synced = await one(id, sql)
        if (synced) onEach(synced)
      }
      after = ids.at(-1) ?? ''
      if (ids.length < page) return
    }
  }
  return {
    one: (tenant) => one(tenant, db),
    async all() {
      const items: SyncedTenant[] = []
      await all(db, (synced) => {
        if (items.length < limits.syncsListed) items.push(synced)
      })
      return items
    },
    nightly: () =>
      db.transaction(async (sql) => {
        if (!(await isDue(sql))) return false
        await pruneOps(sql, quotaTimes.opsS)
        await removeDeleted(sql)
        if (quota) await all(sql, () => undefined)
        await sql.query('update quota_nights set synced_at = now()')
        return true
      }),
  }
}

/** The lock ends with the transaction: if its holder dies, another process does the night's work. */
async function isDue(sql: Sql): Promise<boolean> {
  const [lock] = await sql.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${nightlyLock}) as mine`)
  if (!lock?.mine) return false
  const [night] = await sql.query<{ due: boolean }>(
    `select synced_at < date_trunc('day', now() - make_interval(hours => $1), 'UTC') + make_interval(hours => $1) as due
     from quota_nights`,
    [nightlyHour],
  )
  return night?.due ?? false
}

async function rowsOnly(sql: Sql, tenant: string): Promise<Synced | undefined> {
  const found = await readSnapshot(sql, tenant, quotaTimes)
  return found && { used: found.rows, before: null, after: null }
}
