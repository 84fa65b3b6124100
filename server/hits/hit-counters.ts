// The hits of an advance that are left, in Redis: `links:{code}:hits:{YYYY-MM}`, an integer that counts down, and beside
// it `…:of`, a hash that says whose they are. Whatever of the two is missing or of somebody else is worth nothing: what
// Redis loses is lost to the advance.
//
// What Redis repeats must not be handed out again. `…:of` names the server that the counter was made by, by its run id and
// its replication id: a restart, an older snapshot, a failover, another server all show as another run id, and a server
// that was a replica in between as another replication id. A process reads both on every connection that it makes, and
// every script compares them: a counter of before is worth nothing, and is in the way of nobody.
import { readFileSync } from 'node:fs'
import type { Partitions } from '../connections/partitions.ts'
import type { RedisConnection } from '../connections/redis.ts'
import type { Code } from '../link.ts'
import type { Keys } from '../redis-keys.ts'
import type { AskRedis } from '../connections/ask-redis.ts'

export interface HitTerms {
  readonly code: Code
  readonly linkId: number
  readonly version: number
  readonly limit: number
}

export interface TakenHits {
  /** 0: nothing is left here. */
  readonly units: number
  /** What Postgres had granted when this counter was last filled; -1: there is no counter. */
  readonly granted: number
  /** Left under other terms, and out of Redis now. */
  readonly surplus: number
}

export interface HitCounters {
  /** Asks who is at the other end of this connection, once. Never rejects: while that is not known, nothing is taken. */
  prepare(): Promise<void>
  /**
   * `refused`: certainly nothing was done. Rejects where that is not certain, and then what it added or took is forfeited:
   * it is not asked again.
   */
  take(
    terms: HitTerms,
    month: string,
    add?: { units: number; granted: number; lifeMs: number },
  ): Promise<TakenHits | 'refused'>
  /** False: certainly not taken back. */
  giveBack(terms: HitTerms, month: string, units: number): Promise<boolean>
  /** What is left, to be shown; undefined where it is not valid or nobody can say. */
  left(code: Code, linkId: number, month: string): Promise<number | undefined>
}

/** Each link in its partition. */
export const countersOf = (parts: Partitions<HitCounters>): Omit<HitCounters, 'prepare'> => ({
  take: (terms, month, add) => parts.of(terms.code).take(terms, month, add),
  giveBack: (terms, month, units) => parts.of(terms.code).giveBack(terms, month, units),
  left: (code, linkId, month) => parts.of(code).left(code, linkId, month),
})

type Redis = Pick<RedisConnection, 'ready' | 'connection' | 'info' | 'script'>

interface Server {
  readonly connection: number
  readonly runId: string
  readonly replicationId: string
}

const lua = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')
const leftLua = `
local of = redis.pcall('HMGET', KEYS[2], 'owner', 'run')
if of[1] ~= ARGV[3] .. ':' .. ARGV[2] or of[2] ~= ARGV[1] then return 0 end
return tonumber(redis.call('GET', KEYS[1]) or 0)`

export function createHitCounters(redis: Redis, keys: Pick<Keys, 'hits'>, ask: AskRedis): HitCounters {
  const takeHits = redis.script('qlTakeHits', lua('take_hits'))
  const returnHits = redis.script('qlReturnHits', lua('return_hits'))
  const hitsLeft = redis.script('qlHitsLeft', leftLua)
  let known: Server | undefined

  const look = async (): Promise<void> => {
    const { connection } = redis
    const [server, replication] = await Promise.all([redis.info('server'), redis.info('replication')])
    const runId = /^run_id:(\w+)/m.exec(server)?.[1]
    const replicationId = /^master_replid:(\w+)/m.exec(replication)?.[1]
    if (runId === undefined || replicationId === undefined) return
    if (redis.connection === connection) known = { connection, runId, replicationId }
  }
  const here = (): Server | undefined => (redis.ready && known?.connection === redis.connection ? known : undefined)

  return {
    async prepare() {
      if (here() === undefined) await look().catch(() => undefined)
    },

    async take({ code, linkId, version, limit }, month, add) {
      const server = here()
      if (server === undefined) return 'refused'
      const args = [server.runId, server.replicationId, linkId, version, limit]
      const added = [add?.units ?? 0, add?.granted ?? 0, Math.max(1, Math.ceil(add?.lifeMs ?? 1))]
      const reply = await ask(() => takeHits(keys.hits(code, month), [...args, ...added]))
      if (!Array.isArray(reply) || !reply.every(Number.isSafeInteger))
        throw new Error('Redis does not say what it gave')
      const [units = 0, , granted = -1, surplus = 0] = reply as number[]
      return { units, granted, surplus }
    },

    async giveBack({ code, linkId, limit }, month, units) {
      const server = here()
      if (server === undefined) return false
      const args = [server.runId, server.replicationId, linkId, limit, units]
      return (await ask(() => returnHits(keys.hits(code, month), args))) === 1
    },

    async left(code, linkId, month) {
      const server = here()
      if (server === undefined) return undefined
      const args = [server.runId, server.replicationId, linkId]
      return Number(await ask(() => hitsLeft(keys.hits(code, month), args)))
    },
  }
}
