// Counters of a fixed window that opens with the first unit taken (INCR + EXPIRE), in memory or in Redis.
//
// Bound: a window that is used up at its very end may be followed by a full one, so within any window's length fewer than
// 2 x limit units are taken (at most 2 x limit - 1: the unit that opened the first window is older). Enough against abuse.
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'

export interface Held {
  /** Units taken in this window. */
  readonly used: number
  /** Until the window ends; a whole window where none is open. */
  readonly endsInMs: number
}

export interface Taken extends Held {
  readonly granted: boolean
  /** Undoes it, where it was counted, as long as that window lasts. Never rejects; a second call does nothing. */
  giveBack(): Promise<void>
}

export interface Counters {
  /** A refused unit is not counted. */
  take(key: string, limit: number): Promise<Taken>
  read(key: string): Promise<Held>
}

const nothing = (): Promise<void> => Promise.resolve()
const refused = (limit: number, endsInMs: number): Taken => ({
  granted: false,
  used: limit,
  endsInMs,
  giveBack: nothing,
})

/** A unit of a window that is over is not taken off the next one. */
export function granted(held: Held, undo: () => Promise<unknown>): Taken {
  const endsAtMs = performance.now() + held.endsInMs
  let back = false
  return {
    granted: true,
    ...held,
    async giveBack() {
      if (back || performance.now() >= endsAtMs) return
      back = true
      // What cannot be given back is missing until the window ends.
      await undo().catch(() => undefined)
    },
  }
}

export interface MemoryCounters extends Counters {
  giveBack(key: string): Promise<void>
}

export function memoryCounters(windowS: number): MemoryCounters {
  const limiter = new RateLimiterMemory({ keyPrefix: '', points: Number.MAX_SAFE_INTEGER, duration: windowS })
  const giveBack = async (key: string): Promise<void> => {
    // Where no window is open, the library would open one that begins below zero.
    if (((await limiter.get(key))?.consumedPoints ?? 0) > 0) await limiter.reward(key)
  }
  return {
    async take(key, limit) {
      const { consumedPoints: used, msBeforeNext: endsInMs } = await limiter.consume(key)
      if (used <= limit) return granted({ used, endsInMs }, () => giveBack(key))
      await giveBack(key)
      return refused(limit, endsInMs)
    },
    giveBack,
    async read(key) {
      const held = await limiter.get(key)
      return held ? { used: held.consumedPoints, endsInMs: held.msBeforeNext } : { used: 0, endsInMs: windowS * 1000 }
    },
  }
}

// The library's own script counts what it refuses, and takes a unit that is given back late off the next window.
const takeIfItFits = `
local used, units, limit = tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[1]), tonumber(ARGV[3])
local too_much = units > 0 and used + units > limit
if too_much or units < 0 and used <= 0 then
  return {used + math.max(units, 0), math.max(redis.call('PTTL', KEYS[1]), 0)}
end
used = redis.call('INCRBY', KEYS[1], units)
local ttl = redis.call('PTTL', KEYS[1])
if ttl < 0 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
  ttl = 1000 * ARGV[2]
end
return {used, ttl}`

/** Asks Redis, with a deadline; rejects when it cannot be asked. */
export type AskRedis = <T>(work: () => Promise<T>) => Promise<T>

export function redisCounters(client: object, ask: AskRedis, windowS: number): Counters {
  // The library knows one limit per limiter. There are as many as tiers.
  const limiters = new Map<number, RateLimiterRedis>()
  const limiterOf = (limit: number): RateLimiterRedis => {
    const known = limiters.get(limit)
    if (known) return known
    const limiter = new RateLimiterRedis({
      storeClient: client,
      keyPrefix: 'ql:v1:creates',
      points: limit,
      duration: windowS,
      customIncrTtlLuaScript: takeIfItFits,
    })
    limiters.set(limit, limiter)
    return limiter
  }
  return {
    async take(key, limit) {
      const limiter = limiterOf(limit)
      const { consumedPoints: used, msBeforeNext: endsInMs } = await ask(() => limiter.consume(key).catch(orRefusal))
      return used <= limit
        ? granted({ used, endsInMs }, () => ask(() => limiter.reward(key)))
        : refused(limit, endsInMs)
    },
    async read(key) {
      const held = await ask(() => limiterOf(1).get(key))
      return held ? { used: held.consumedPoints, endsInMs: held.msBeforeNext } : { used: 0, endsInMs: windowS * 1000 }
    },
  }
}

/** A refusal is an answer, not an error: only errors open the breaker. */
function orRefusal(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown
  throw thrown
}

/** The second counts while the first cannot be asked. (The library's own insurance would give back to the wrong one.) */
export const insured = (first: Counters, second: Counters): Counters => ({
  take: (key, limit) => first.take(key, limit).catch(() => second.take(key, limit)),
  read: (key) => first.read(key).catch(() => second.read(key)),
})
