// A tenant's number of links. Postgres decides (quota-store.ts); Redis is the fast gate in front, which refuses early what
// Postgres would refuse anyway, and counts as in the seed: reserve before the insert, refund what came to nothing.
//
// What Redis says is believed in one case only: a refusal, by a number that this process has itself just synced, over
// this very connection. Everything else is left to Postgres. So a Redis that was lost, flushed, exchanged, restored, or
// that missed a refund, a purge or a killed process costs one sync, and never a place too many or, for long, one too few.
//
// A sync must not lose what is in flight while it counts. With a plain SET it would:
//
//     create   reserve (used 4 → 5)                     insert, commit (rows 5)
//     sync                           count rows: 4                              SET used 4     one place too many
//
// So every change has an id, and both sides remember the ids of the last minutes: Redis what it has counted (`:ops`, a
// sorted set by time), Postgres what its rows contain (`quota_ops`, written in the transaction that changes the rows).
// The sync reads rows and their ids in one statement, and one script sets
//
//     used = rows + (counted here, not in those rows) - (in those rows, still to be counted here)
//
//   '+id'  a create: in Redis from its reservation on, unless it is refunded; in the rows from its commit on.
//   '-id'  a delete: in the rows from its commit on; in Redis from its refund on.
//
// Whichever side is first, the other one's half is in the sum once; nobody waits and nothing is tried again. A create that
// was killed stays counted while Redis remembers its id, and is gone with the first sync after that.
//
// The times, each by one clock and as a duration only:  youngS + syncMs <= keptS,  keptS + youngS <= opsS. Tested in
// server/config.test.ts, with what else one bound relies on of another.
// - No create commits, and no delete refunds, later than youngS after it began: they give up. A '+id' that Redis has
//   forgotten is therefore in the rows or never will be, and a '-id' older than youngS is in Redis or never will be.
// - What Redis remembers (keptS), Postgres still does (opsS): nothing in the rows is taken for in flight.
// - A young '-id' that Redis does not hold has not been counted: had it been, it would still be remembered.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisConnection } from '../connections/redis.ts'
import type { Sql } from '../connections/postgres.ts'
import type { AskRedis } from '../limits/ask-redis.ts'
import { readSnapshot, type Terms } from './quota-store.ts'
import type { Tiers } from '../limits/tiers.ts'

export const quotaTimes = { youngS: 20, keptS: 60, opsS: 120, syncMs: 5000 } as const
/** How old a synced number may be when a refusal is believed: at most that long, a place that came free is overlooked. */
const believedMs = 1000
const believedMax = 10_000

export const linkLimit = (tiers: Tiers, { tier, linkQuota }: Terms): number | null => linkQuota ?? tiers[tier].links

export interface Synced {
  /** Rows that count. */
  readonly used: number
  /** What Redis had and has; null without a number there. */
  readonly before: number | null
  readonly after: number | null
}

export type Reserved =
  /** `entry` is the id to commit or refund under; `counted`: Redis has a place for it. */
  | { readonly full: false; readonly entry: string; readonly counted: boolean }
  | { readonly full: true; readonly used: number; readonly limit: number }

export interface TenantQuota {
  /** `mustAskPostgres`: what the gate would refuse may be possible all the same. */
  reserve(tenant: string, limit: number, mustAskPostgres: boolean): Promise<Reserved>
  /** Best effort: what Redis missed, the next sync finds. Never rejects. */
  refund(tenant: string, entry: string): Promise<void>
  /** Redis has counted too few. Best effort; never rejects. */
  correct(tenant: string): Promise<void>
  /** undefined: no such tenant. Rejects when Redis cannot be asked. */
  sync(tenant: string, sql?: Sql): Promise<Synced | undefined>
}

export interface TenantQuotaDeps {
  readonly sql: Sql
  readonly tiers: Tiers
  readonly redis: Pick<RedisConnection, 'script' | 'connection'>
  readonly ask: AskRedis
  /** This process has just made this Redis fresh. */
  readonly trusted: () => boolean
  readonly nowMs?: () => number
}

export const newEntry = (sign: '+' | '-'): string => sign + randomBytes(12).toString('base64url')

const keysOf = (tenant: string) => {
  const prefix = `quota:tenant:${tenant}`
  return { used: `${prefix}:used`, limit: `${prefix}:limit`, ops: `${prefix}:ops` }
}
const lua = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')

export function loadScripts(redis: Pick<RedisConnection, 'script'>) {
  const reserve = redis.script('qlReserveQuota', lua('reserve_quota'))
  const refund = redis.script('qlRefundQuota', lua('refund_quota'))
  const sync = redis.script('qlSyncQuota', lua('sync_quota'))
  const keptMs = quotaTimes.keptS * 1000
  return {
    async reserve(tenant: string, entry: string) {
      const { used, limit, ops } = keysOf(tenant)
      const reply = (await reserve([used, limit, ops], [1, entry, keptMs])) as [number, number, number]
      return { fits: reply[0] === 1, used: reply[1], limit: reply[2] }
    },
    async refund(tenant: string, entry: string) {
      const { used, ops } = keysOf(tenant)
      return (await refund([used, ops], [1, entry, keptMs])) as number
    },
    async sync(
      tenant: string,
      rows: number,
      most: number | null,
      contained: readonly string[],
      young: readonly string[],
    ) {
      const { used, limit, ops } = keysOf(tenant)
      const args = [rows, most ?? '', keptMs, contained.length, ...contained, ...young]
      const [before, after] = (await sync([used, limit, ops], args)) as [number, number]
      return { before: before < 0 ? null : before, after: after < 0 ? null : after }
    },
  }
}

export function createTenantQuota(deps: TenantQuotaDeps): TenantQuota {
  const { tiers, redis, ask, nowMs = () => performance.now() } = deps
  const scripts = loadScripts(redis)
  const synced = new Map<string, { connection: number; atMs: number }>()

  const believable = (tenant: string): boolean => {
    const last = synced.get(tenant)
    return deps.trusted() && last?.connection === redis.connection && nowMs() - last.atMs < believedMs
  }

  const sync = async (tenant: string, sql = deps.sql): Promise<Synced | undefined> => {
    const [connection, atMs] = [redis.connection, nowMs()]
    const found = await readSnapshot(sql, tenant, quotaTimes)
    if (!found) {
      await ask(() => scripts.sync(tenant, 0, null, [], []))
      return undefined
    }
    if (nowMs() - atMs > quotaTimes.syncMs) throw new Error('Postgres took too long for a sync')
    const { rows, contained, young } = found
    const outcome = await ask(() => scripts.sync(tenant, rows, linkLimit(tiers, found), contained, young))
    if (synced.size >= believedMax) synced.clear()
    synced.set(tenant, { connection, atMs })
    return { used: rows, ...outcome }
  }

  // Many are refused at once; one sync serves those that begin meanwhile.
  const underWay = new Map<string, Promise<unknown>>()
  const syncOnce = (tenant: string): Promise<unknown> => {
    const running = underWay.get(tenant) ?? sync(tenant).finally(() => underWay.delete(tenant))
    underWay.set(tenant, running)
    return running
  }

  return {
    sync,

    async correct(tenant) {
      await syncOnce(tenant).catch(() => undefined)
    },

    async reserve(tenant, limit, mustAskPostgres) {
      const entry = newEntry('+')
      const reserve = () => ask(() => scripts.reserve(tenant, entry))
      const isBelieved = (reply: { limit: number }): boolean => reply.limit === limit && believable(tenant)
      try {
        let reply = await reserve()
        if (!reply.fits && !mustAskPostgres && !isBelieved(reply)) {
          await syncOnce(tenant)
          reply = await reserve()
        }
        if (reply.fits || mustAskPostgres || !isBelieved(reply)) return { full: false, entry, counted: reply.fits }
        return { full: true, used: reply.used, limit }
      } catch {
        return { full: false, entry, counted: false }
      }
    },

    async refund(tenant, entry) {
      await ask(() => scripts.refund(tenant, entry)).catch(() => undefined)
    },
  }
}
