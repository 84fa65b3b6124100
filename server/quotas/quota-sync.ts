// Syncs quotas: all of them on demand, and every night by one process of all replicas.
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { removeDeleted } from '../tenants/store.ts'
import { tenantIds } from './quota-store.ts'
import type { Synced, TenantQuota } from './tenant-quota.ts'
import { tierNames, type Tiers } from '../tenants/tiers.ts'

export interface QuotaSync {
  /** All who have a quota. */
  all(): Promise<Synced[]>
  /** True: it was due, and this process has done it, or the rest of it. */
  nightly(isStopping?: () => boolean): Promise<boolean>
}

const page = 500
const nightlyLock = 7_105_003
/** UTC: when most are asleep, and a day's figures are closed. */
const nightlyHour = 3

export function createQuotaSync(
  db: Postgres,
  tiers: Tiers,
  quota: Pick<TenantQuota, 'hasGate' | 'sync' | 'syncIn'>,
): QuotaSync {
  // Their links may be millions, and nobody needs the number.
  const without = tierNames.filter((name) => tiers[name].links === null)
  const idsAfter = (sql: Sql, after: string, most: number): Promise<string[]> => tenantIds(sql, after, most, without)

  /** One tenant of the night. 'left': it is not due, or another process is at it. */
  const step = async (sql: Sql): Promise<'left' | 'more' | 'done'> => {
    const [lock] = await sql.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${nightlyLock}) as mine`)
    const [night] = lock?.mine ? await sql.query<Night>(nightSql, [nightlyHour]) : []
    if (!night?.due) return 'left'
    if (night.reached === null) await removeDeleted(sql)
    const [id] = quota.hasGate ? await idsAfter(sql, night.reached ?? '', 1) : []
    if (id === undefined) {
      await sql.query('update quota_nights set synced_at = now(), night = null')
      return 'done'
    }
    await quota.syncIn(sql, id)
    await sql.query('update quota_nights set night = $1, reached = $2', [night.began, id])
    return 'more'
  }

  return {
    async all() {
      const items: Synced[] = []
      for (let after: string | undefined = ''; after !== undefined;) {
        const ids = await idsAfter(db, after, page)
        for (const id of ids) {
          const synced = await quota.sync(id)
          if (synced && items.length < limits.syncsListed) items.push(synced)
        }
        after = ids.length < page ? undefined : ids.at(-1)
      }
      return items
    },
    // A transaction for each tenant, which is locked until it ends. Another process may do the next one; the row says where to
    // go on.
    async nightly(isStopping = () => false) {
      while (!isStopping()) {
        const outcome = await db.transaction(step)
        if (outcome !== 'more') return outcome === 'done'
      }
      return false
    },
  }
}

interface Night {
  readonly due: boolean
  /** When it was to begin. */
  readonly began: Date
  /** The last tenant that is done; null: none of this night. */
  readonly reached: string | null
}

const nightSql = `
select synced_at < began as due, began, case when night = began then reached end as reached
from quota_nights, (
  select date_trunc('day', now() - make_interval(hours => $1), 'UTC') + make_interval(hours => $1) as began
) as this`

/** Looks now and then whether the night's sync is due. */
export function startNights(
  { nightly }: Pick<QuotaSync, 'nightly'>,
  onError: (error: unknown, what: string) => void,
): { stop(): Promise<void> } {
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
