// Counters of a fixed window that opens with the first unit taken (INCR + EXPIRE), in memory or in Redis.
//
// Bound: a window that is used up at its very end may be followed by a full one, so within any window's length fewer than
// 2 x limit units are taken (at most 2 x limit - 1: the unit that opened the first window is older). Enough against abuse.
import { readFileSync } from 'node:fs'
import type { AskRedis } from '../connections/ask-redis.ts'
import type { Partitions } from '../connections/partitions.ts'
import type { RedisConnection } from '../connections/redis.ts'
import type { Keys } from '../redis-keys.ts'

const countLua = readFileSync(new URL('count_units.lua', import.meta.url), 'utf8')

export interface Held {
  /** Units taken in this window. */
  readonly used: number
  /** Until the window ends; a whole window where none is open. */
  readonly endsInMs: number
}

export interface Counter {
  readonly key: string
  readonly limit: number
}

/** So many of what was taken, all of it if it is not said; where it was counted, as long as that window lasts. Never rejects, and never more. */
export type GiveBack = (units?: number) => Promise<void>

export type TakenUnits =
  | { readonly granted: true; readonly giveBack: readonly GiveBack[] }
  /** `by`: which of them has none left. */
  | { readonly granted: false; readonly by: number; readonly held: Held }

/** What one way to count has to do. */
export interface Count {
  /** So many units of each, if each has them left; else of none, and `by` is the first that has fewer. */
  take(
    counters: readonly Counter[],
    units: number,
  ): Promise<{ readonly by: number | undefined; readonly held: readonly Held[] }>
  giveBack(key: string, units: number): Promise<unknown>
  read(key: string): Promise<Held>
}

export interface Counters {
  /** One unit of each, if it is not said. */
  take(counters: readonly Counter[], units?: number): Promise<TakenUnits>
  read(key: string): Promise<Held>
}

export const countersBy = (count: Count): Counters => ({
  async take(counters, units = 1) {
    const { by, held } = await count.take(counters, units)
    if (by !== undefined) return { granted: false, by, held: held[by]! }
    return {
      granted: true,
      giveBack: held.map(({ endsInMs }, i) => atMost(units, (n) => count.giveBack(counters[i]!.key, n), endsInMs)),
    }
  },
  read: (key) => count.read(key),
})

/** A unit of a window that is over is not taken off the next one. */
function atMost(units: number, undo: (units: number) => Promise<unknown>, endsInMs: number): GiveBack {
  const endsAtMs = performance.now() + endsInMs
  let left = units
  return async (units = left) => {
    const back = Math.min(units, left)
    if (back <= 0 || performance.now() >= endsAtMs) return
    left -= back
    // What cannot be given back is missing until the window ends.
    await undo(back).catch(() => undefined)
  }
}

/** `most`: windows that are open at once; beyond it the oldest is forgotten. */
export function countInMemory(windowS: number, most = Infinity): Count {
  const windowMs = windowS * 1000
  /** In the order in which they opened, which is that in which they end. */
  const windows = new Map<string, { used: number; readonly endsAtMs: number }>()
  const open = (key: string): { used: number; readonly endsAtMs: number } => {
    const nowMs = performance.now()
    for (const [oldest, { endsAtMs }] of windows) {
      if (endsAtMs > nowMs) break
      windows.delete(oldest)
    }
    return windows.get(key) ?? { used: 0, endsAtMs: nowMs + windowMs }
  }
  const heldIn = ({ used, endsAtMs }: { used: number; endsAtMs: number }): Held => ({
    used,
    endsInMs: endsAtMs - performance.now(),
  })
  return {
    take(counters, units) {
      const opened = counters.map(({ key }) => open(key))
      const by = counters.findIndex(({ limit }, i) => opened[i]!.used + units > limit)
      if (by === -1) {
        for (const [i, window] of opened.entries()) {
          window.used += units
          const { key } = counters[i]!
          if (windows.size >= most && !windows.has(key)) windows.delete(windows.keys().next().value!)
          windows.set(key, window)
        }
      }
      return Promise.resolve({ by: by === -1 ? undefined : by, held: opened.map(heldIn) })
    },
    giveBack(key, units) {
      const window = open(key)
      window.used = Math.max(0, window.used - units)
      return Promise.resolve()
    },
    read: (key) => Promise.resolve(heldIn(open(key))),
  }
}

export function countInRedis(
  redis: Pick<RedisConnection, 'script'>,
  keys: Pick<Keys, 'units'>,
  ask: AskRedis,
  windowS: number,
): Count {
  const script = redis.script('qlCountUnits', countLua)
  /** Takes so many units of each; below 0: gives them back. 0: looks. */
  const count = async (units: number, counters: readonly Counter[]) => {
    const touched = counters.map(({ key }) => keys.units(key))
    const reply = await ask(() => script(touched, [units, windowS, ...counters.map(({ limit }) => limit)]))
    if (!Array.isArray(reply) || reply.length !== 1 + 2 * touched.length || !reply.every(Number.isSafeInteger)) {
      throw new Error('Redis does not say what it counted')
    }
    const [by, ...held] = reply as [number, ...number[]]
    return {
      by: by === 0 ? undefined : by - 1,
      held: touched.map((_, i) => ({ used: held[2 * i]!, endsInMs: held[2 * i + 1]! })),
    }
  }
  return {
    take: (counters, units) => count(units, counters),
    giveBack: (key, units) => count(-units, [{ key, limit: 0 }]),
    read: async (key) => (await count(0, [{ key, limit: 0 }])).held[0]!,
  }
}

/** Each counter in its partition: what one has given goes back when another one refuses, or cannot be asked. */
export function countIn(parts: Partitions<Count>): Count {
  const [only] = parts.all
  if (parts.all.length === 1 && only) return only
  return {
    async take(counters, units) {
      const held = Array.from<Held>({ length: counters.length })
      const taken: [Count, string][] = []
      const giveBack = () => Promise.all(taken.map(([count, key]) => count.giveBack(key, units).catch(() => undefined)))
      for (const [index, mine] of parts.group([...counters.keys()], (n) => counters[n]!.key)) {
        const count = parts.all[index]!
        const wanted = mine.map((n) => counters[n]!)
        const found = await count.take(wanted, units).catch(async (error: unknown) => {
          await giveBack()
          throw error
        })
        for (const [at, n] of mine.entries()) held[n] = found.held[at]!
        if (found.by !== undefined) {
          await giveBack()
          return { by: mine[found.by], held }
        }
        taken.push(...wanted.map(({ key }) => [count, key] as [Count, string]))
      }
      return { by: undefined, held }
    },
    giveBack: (key, units) => parts.of(key).giveBack(key, units),
    read: (key) => parts.of(key).read(key),
  }
}

/** The second counts while the first cannot be asked. What it granted goes back to it. */
export const insured = (first: Counters, second: Counters): Counters => ({
  take: (counters, units) => first.take(counters, units).catch(() => second.take(counters, units)),
  read: (key) => first.read(key).catch(() => second.read(key)),
})
