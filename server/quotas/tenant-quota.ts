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
// So each sync begins a generation, and says in both places which: in the tenant's row, and in Redis beside the number.
//
//     sync     lock the row, draw a generation and write it there, count, SET number and generation in Redis, commit
//     create   reserve; lock the row, read its generation, insert, commit
//     delete   lock the row (shared), read its generation, delete, commit; refund
//
// The lock puts every create and delete before a sync, which has then counted it, or after it; and the row's generation
// says after which. A create compares it with the generation that its reservation was counted in:
//
//   the same   no sync came in between: the number has this link.
//   another    that sync has overwritten the reservation, and its count was before this link: it is counted now, while the
//              row is locked, if Redis still has the row's generation.
//
// Likewise a refund is of a generation, and what Redis counts in a later one is right without it. When nothing is in flight,
// Redis counts the rows, and whoever was killed since the last sync. A sync that is killed between SET and commit leaves a
// generation in Redis that no row has: then nothing is added or given back until the next sync, which whoever sees that asks
// for at once.
import { readFileSync } from 'node:fs'
import type { Partitions } from '../connections/partitions.ts'
import type { RedisConnection } from '../connections/redis.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import type { AskRedis } from '../connections/ask-redis.ts'
import { QuickLinkError } from '../errors.ts'
import type { Keys } from '../redis-keys.ts'
import { beginGeneration, lockTenant, recount, type QuotaTerms } from './quota-store.ts'
import type { Tiers } from '../tenants/tiers.ts'

/** How old a synced number may be when a refusal is believed: at most that long, a place that came free is overlooked. */
const believedMs = 1000
const believedMax = 10_000

export const linkLimit = (tiers: Tiers, { tier, linkQuota }: Pick<QuotaTerms, 'tier' | 'linkQuota'>): number | null =>
  linkQuota ?? tiers[tier].links

export interface Synced {
  readonly tenant: string
  /** Rows that count. */
  readonly used: number
  /** What Redis had and has; null without a number there. */
  readonly before: number | null
  readonly after: number | null
}

/** A place in front of Postgres. */
export interface Place {
  /** That Redis counts it in; undefined: Redis has not counted it. */
  generation: string | undefined
  /** What Redis said where it had none. */
  refusal: Reply | undefined
  /** Redis and the rows have been found to differ. */
  isAstray: boolean
}

interface Reply {
  readonly used: number
  readonly limit: number
  readonly generation: string
}

/** Numbers in Redis. */
export interface Gate {
  readonly redis: Pick<RedisConnection, 'script' | 'connection'>
  readonly keys: Pick<Keys, 'quota'>
  readonly ask: AskRedis
  /** This process has just made this Redis fresh. */
  readonly trusted: () => boolean
}

export interface TenantQuotaDeps {
  readonly db: Postgres
  readonly tiers: Tiers
  /** Of each tenant's partition; undefined: there is no Redis, and Postgres decides alone. */
  readonly gates: Partitions<Gate> | undefined
  readonly onExceeded: () => void
}

const lua = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')

export function loadScripts(redis: Pick<RedisConnection, 'script'>, keys: Pick<Keys, 'quota'>) {
  const keysOf = (tenant: string, ...names: string[]): string[] => names.map((name) => keys.quota(tenant, name))
  const reserve = redis.script('qlReserveQuota', lua('reserve_quota'))
  const refund = redis.script('qlRefundQuota', lua('refund_quota'))
  const sync = redis.script('qlSyncQuota', lua('sync_quota'))
  return {
    async reserve(tenant: string) {
      const reply = await reserve(keysOf(tenant, 'used', 'limit', 'generation'), [1])
      const [fits, used, limit, generation] = reply as [number, number, number, string]
      return { fits: fits === 1, used, limit, generation }
    },
    /** `units` below 0 are counted instead. False: Redis has another generation. */
    async refund(tenant: string, units: number, generation: string) {
      return (await refund(keysOf(tenant, 'used', 'generation'), [units, generation])) !== -1
    },
    /** What Redis had; null: nothing. */
    async sync(tenant: string, used: number, limit: number | null, generation: string) {
      const touched = keysOf(tenant, 'used', 'limit', 'generation', 'ops')
      const before = (await sync(touched, [used, limit ?? '', generation])) as number
      return before < 0 ? null : before
    },
  }
}

type Scripts = ReturnType<typeof loadScripts>

interface Believed {
  readonly connection: number | undefined
  readonly generation: string | null
  readonly atMs: number
}

export class TenantQuota {
  readonly #deps: TenantQuotaDeps
  readonly #gates: Partitions<Gate & { readonly scripts: Scripts }> | undefined
  readonly #believed = new Map<string, Believed>()
  readonly #syncing = new Map<string, Promise<unknown>>()

  constructor(deps: TenantQuotaDeps) {
    this.#deps = deps
    this.#gates = deps.gates?.map((gate) => ({ ...gate, scripts: loadScripts(gate.redis, gate.keys) }))
  }

  get hasGate(): boolean {
    return this.#gates !== undefined
  }

  /** One round trip. Never rejects: what the gate cannot say is left to Postgres. */
  async reserve(tenant: string): Promise<Place> {
    const reply = await this.#ask(tenant, (scripts) => scripts.reserve(tenant)).catch(() => undefined)
    const [generation, refusal] = reply?.fits ? [reply.generation, undefined] : [undefined, reply]
    return { generation, refusal, isAstray: false }
  }

  /** Throws `quota_exceeded` where the place was refused by a number that is believed; one that is not is synced first. */
  async heed(tenant: string, limit: number, place: Place): Promise<void> {
    if (place.refusal && !this.#isBelieved(tenant, place.refusal, limit)) {
      await this.#syncOnce(tenant)
      Object.assign(place, await this.reserve(tenant))
    }
    const { refusal } = place
    if (refusal && this.#isBelieved(tenant, refusal, limit)) throw this.exceeded(refusal.used, limit)
  }

  /** Of a row that is locked: a place that a sync has overwritten is counted now. Never rejects. */
  async countIn(tenant: string, place: Place, generation: string | null, units = 1): Promise<void> {
    if (!this.hasGate || place.generation === generation) return
    try {
      const isCounted =
        generation !== null && (await this.#ask(tenant, (scripts) => scripts.refund(tenant, -units, generation)))
      if (isCounted) place.generation = generation
      else place.isAstray = true
    } catch {
      // Nobody can say.
    }
  }

  /** Of a row that is locked, last before its commit: so many links more. What Redis misses, the next sync finds. Never rejects. */
  async countMany(tenant: string, links: number, generation: string | null): Promise<void> {
    if (!this.hasGate || generation === null || links === 0) return
    await this.#ask(tenant, (scripts) => scripts.refund(tenant, -links, generation)).catch(() => undefined)
  }

  /** Afterwards. What is not kept goes back, and what was wrong is synced; what Redis misses, the next sync finds. Never rejects. */
  async settle(tenant: string, place: Place, isKept: boolean, units = 1): Promise<void> {
    if (!isKept) await this.refund(tenant, place.generation, units)
    if (place.isAstray) void this.#syncOnce(tenant)
  }

  /** Places are free again that were counted in this generation. Never rejects. */
  async refund(tenant: string, generation: string | null | undefined, units = 1): Promise<void> {
    if (generation)
      await this.#ask(tenant, (scripts) => scripts.refund(tenant, units, generation)).catch(() => undefined)
  }

  /** undefined: no such tenant. Rejects when Redis cannot be asked. */
  async sync(tenant: string): Promise<Synced | undefined> {
    const { db } = this.#deps
    const [connection, atMs] = [this.#gates?.of(tenant).redis.connection, performance.now()]
    const found = await db.transaction((sql) => this.syncIn(sql, tenant))
    if (!found) return undefined
    const { generation, ...synced } = found
    if (this.#believed.size >= believedMax) this.#believed.clear()
    this.#believed.set(tenant, { connection, generation, atMs })
    return synced
  }

  /** As a part of this transaction. */
  async syncIn(sql: Sql, tenant: string): Promise<(Synced & { generation: string | null }) | undefined> {
    const terms = await (this.hasGate ? beginGeneration(sql, tenant) : lockTenant(sql, tenant, true))
    const used = (terms && (await recount(sql, tenant, null))) ?? 0
    const limit = terms && this.hasGate ? linkLimit(this.#deps.tiers, terms) : null
    const generation = terms?.generation ?? null
    const before = this.hasGate
      ? await this.#ask(tenant, (scripts) => scripts.sync(tenant, used, limit, generation ?? ''))
      : null
    return terms && { tenant, used, before, after: limit === null ? null : used, generation }
  }

  /** To be thrown. */
  exceeded(used: number, limit: number): QuickLinkError {
    this.#deps.onExceeded()
    return new QuickLinkError('quota_exceeded', `This tenant has ${used} of ${limit} links: delete some first.`, {
      members: { used, limit },
    })
  }

  async #ask<T>(tenant: string, work: (scripts: Scripts) => Promise<T>): Promise<T> {
    const gate = this.#gates?.of(tenant)
    if (!gate) throw new Error('There is no Redis')
    return gate.ask(() => work(gate.scripts))
  }

  #isBelieved(tenant: string, reply: Reply, limit: number): boolean {
    const gate = this.#gates?.of(tenant)
    const last = this.#believed.get(tenant)
    const isOurs = last?.connection === gate?.redis.connection && last?.generation === reply.generation
    const isYoung = last !== undefined && performance.now() - last.atMs < believedMs
    return isOurs && isYoung && gate?.trusted() === true && reply.limit === limit
  }

  /** Many are refused at once; one sync serves those that begin meanwhile. Never rejects. */
  #syncOnce(tenant: string): Promise<unknown> {
    const sync = (): Promise<unknown> => this.sync(tenant).catch(() => undefined)
    const running = this.#syncing.get(tenant) ?? sync().finally(() => this.#syncing.delete(tenant))
    this.#syncing.set(tenant, running)
    return running
  }
}
