// The hits of an advance that are left, in Redis: `links:{code}:hits:{YYYY-MM}`, an integer that counts down, and beside
// it `…:of`, a hash that says whose they are. Whatever of the two is missing or of somebody else is worth nothing: what
// Redis loses is lost to the advance.
//
// What Redis repeats must not be handed out again. `ql:v1:run` names the server whose counters are valid, by its run id;
// a restart, an older snapshot, a failover, another server all show as another run id. Every script compares it with what
// this process has verified on this connection. `prepare` verifies: where the ids differ it first unlinks every counter.
// A server that was a replica in between keeps its run id; its replication id is another one, and stands in `…:of`.
import { readFileSync } from 'node:fs'
import type { RedisConnection } from '../connections/redis.ts'
import type { Code } from '../link.ts'
import type { AskRedis } from './counters.ts'

export interface Terms {
  readonly code: Code
  readonly linkId: number
  readonly version: number
  readonly limit: number
}

export interface Taken {
  /** 0: nothing is left here. */
  readonly units: number
  /** What Postgres had granted when this counter was last filled; -1: there is no counter. */
  readonly granted: number
  /** Left under other terms, and out of Redis now. */
  readonly surplus: number
}

export interface HitCounters {
  /** Verifies the server at the other end of this connection, once. Never rejects: unverified, nothing is taken. */
  prepare(): Promise<void>
  /**
   * `refused`: certainly nothing was done. Rejects where that is not certain, and then what it added or took is forfeited:
   * it is not asked again.
   */
  take(
    terms: Terms,
    month: string,
    add?: { units: number; granted: number; lifeMs: number },
  ): Promise<Taken | 'refused'>
  /** False: certainly not taken back. */
  giveBack(terms: Terms, month: string, units: number): Promise<boolean>
  /** What is left, to be shown; undefined where it is not valid or nobody can say. */
  left(code: Code, month: string): Promise<number | undefined>
}

type Redis = Pick<RedisConnection, 'ready' | 'connection' | 'info' | 'getEach' | 'script' | 'unlinkMatching'>

interface Verified {
  readonly connection: number
  readonly runId: string
  readonly replicationId: string
}

export const runKey = 'ql:v1:run'
export const counterKey = (code: string, month: string): string => `links:${code}:hits:${month}`
const keysOf = (code: Code, month: string): string[] => {
  const counter = counterKey(code, month)
  return [runKey, counter, `${counter}:of`]
}

const lua = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')
const claimLua = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`

export function createHitCounters(redis: Redis, ask: AskRedis): HitCounters {
  const takeHits = redis.script('qlTakeHits', lua('take_hits'))
  const returnHits = redis.script('qlReturnHits', lua('return_hits'))
  const claim = redis.script('qlClaimRun', claimLua)
  let verified: Verified | undefined

  const verify = async (): Promise<void> => {
    const { connection } = redis
    const [server, replication] = await Promise.all([redis.info('server'), redis.info('replication')])
    const runId = /^run_id:(\w+)/m.exec(server)?.[1]
    const replicationId = /^master_replid:(\w+)/m.exec(replication)?.[1]
    if (runId === undefined || replicationId === undefined) return
    const [held] = await redis.getEach([runKey])
    if (held !== runId) {
      // No script adds a counter meanwhile: `ql:v1:run` refuses them all.
      await redis.unlinkMatching('links:*:hits:*')
      if ((await claim([runKey], [held ?? '', runId])) !== 1) return
    }
    if (redis.connection === connection) verified = { connection, runId, replicationId }
  }
  const here = (): Verified | undefined =>
    redis.ready && verified?.connection === redis.connection ? verified : undefined

  return {
    async prepare() {
      if (here() === undefined) await verify().catch(() => undefined)
    },

    async take({ code, linkId, version, limit }, month, add) {
      const server = here()
      if (server === undefined) return 'refused'
      const args = [server.runId, server.replicationId, linkId, version, limit]
      const added = [add?.units ?? 0, add?.granted ?? 0, Math.max(1, Math.ceil(add?.lifeMs ?? 1))]
      const reply = (await ask(() => takeHits(keysOf(code, month), [...args, ...added]))) as number[]
      const [units = -1, , granted = -1, surplus = 0] = reply
      if (units >= 0) return { units, granted, surplus }
      // The counters went, or were exchanged, under this very connection: the next pass looks.
      if (verified === server) verified = undefined
      return 'refused'
    },

    async giveBack({ code, linkId, limit }, month, units) {
      const server = here()
      if (server === undefined) return false
      const args = [server.runId, server.replicationId, linkId, limit, units]
      return (await ask(() => returnHits(keysOf(code, month), args))) === 1
    },

    async left(code, month) {
      const server = here()
      if (server === undefined) return undefined
      const [run, left] = await ask(() => redis.getEach(keysOf(code, month).slice(0, 2)))
      return run === server.runId ? Number(left ?? 0) : undefined
    },
  }
}
