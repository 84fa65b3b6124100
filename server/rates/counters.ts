// Counters of a fixed window that opens with the first unit taken (INCR + EXPIRE), in memory or in Redis.
//
// Bound: a window that is used up at its very end may be followed by a full one, so within any window's length fewer than
// 2 x limit units are taken (at most 2 x limit - 1: the unit that opened the first window is older). Enough against abuse.
import { readFileSync } from 'node:fs'
import type { RedisConnection } from '../connections/redis.ts'
import type { AskRedis } from '../connections/ask-redis.ts'

const countLua = readFileSync(new URL('count_units.lua', import.meta.url), 'utf8')

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
  const windowMs = windowS * 1000
  /** In the order in which they opened, which is that in which they end. */
  const windows = new Map<string, { used: number; readonly endsAtMs: number }>()
  const open = (key: string): { used: number; readonly endsAtMs: number } | undefined => {
    const nowMs = performance.now()
    for (const [oldest, { endsAtMs }] of windows) {
      if (endsAtMs > nowMs) break
      windows.delete(oldest)
    }
    return windows.get(key)
  }
  const heldIn = (window: { used: number; readonly endsAtMs: number } | undefined): Held =>
    window ? { used: window.used, endsInMs: window.endsAtMs - performance.now() } : { used: 0, endsInMs: windowMs }
  const giveBack = (key: string): Promise<void> => {
    const window = open(key)
    if (window && window.used > 0) window.used--
    return Promise.resolve()
  }
  return {
    take(key, limit) {
      const window = open(key) ?? { used: 0, endsAtMs: performance.now() + windowMs }
      if (window.used >= limit) return Promise.resolve(refused(limit, heldIn(window).endsInMs))
      window.used++
      windows.set(key, window)
      return Promise.resolve(granted(heldIn(window), () => giveBack(key)))
    },
    giveBack,
    read: (key) => Promise.resolve(heldIn(open(key))),
  }
}

export function redisCounters(redis: Pick<RedisConnection, 'script'>, ask: AskRedis, windowS: number): Counters {
  const count = redis.script('qlCountUnits', countLua)
  /** 1: takes a unit. -1: gives one back. 0: looks. */
  const change = async (key: string, units: 1 | 0 | -1, limit: number): Promise<Taken> => {
    const reply = await ask(() => count([`ql:v1:creates:${key}`], [units, limit, windowS]))
    if (!Array.isArray(reply) || reply.length !== 3 || !reply.every(Number.isSafeInteger)) {
      throw new Error('Redis does not say what it counted')
    }
    const [yes, used, endsInMs] = reply as [number, number, number]
    if (yes === 0) return refused(limit, endsInMs)
    return granted({ used, endsInMs }, () => change(key, -1, limit))
  }
  return {
    take: (key, limit) => change(key, 1, limit),
    read: (key) => change(key, 0, 0),
  }
}

/** The second counts while the first cannot be asked. What it granted goes back to it. */
export const insured = (first: Counters, second: Counters): Counters => ({
  take: (key, limit) => first.take(key, limit).catch(() => second.take(key, limit)),
  read: (key) => first.read(key).catch(() => second.read(key)),
})
