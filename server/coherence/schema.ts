// What stands in Redis of a code: values, lifetimes. Readers ask the newest schema version first, then the older ones;
// values are written at the newest only, tombstones at all of them, and old keys die by their TTL.
import { absent, goneAtS, isLink, type Code, type Known, type Link, type Version } from '../link.ts'
import { readRules, storedRules } from './stored-rules.ts'

/**
 * Short names: at 100 million keys each letter is 100 MB. What a server of the version before may not pass over is no further
 * field of this value, but a new schema version.
 */
interface StoredLink {
  u?: string
  /** Of a special link in place of `u`: its rules, and where all others lead; or that it has a password. */
  r?: readonly unknown[]
  w?: true
  p: boolean
  t: number
  v: Version
  i: number
  s?: number
  e?: number
  z?: string
  f?: true
  q?: number
  /** Seconds that it was to live, where that is not LINK_TTL_S. */
  l?: number
}

/** What Redis holds of one code, and since when. */
export interface Held {
  readonly known: Known
  /** Unix seconds; 0 where the value does not say (a hint or a tombstone). */
  readonly cachedAtS: number
  /** Where it is not the usual time. */
  readonly lifeS?: number
}

/** What was read, and the cursor that stood beside it. */
export interface Read extends Held {
  readonly asOf: string | null
}

export function encode(known: Known, nowMs: number, lifeS?: number): string {
  if (!isLink(known)) return JSON.stringify({ x: known.version })
  const stored: StoredLink = {
    ...targetOf(known),
    p: known.permanent,
    t: Math.floor(nowMs / 1000),
    v: known.version,
    i: known.id,
    ...(known.startsAtS === null ? {} : { s: known.startsAtS }),
    ...(known.expiresAtS === null ? {} : { e: known.expiresAtS }),
    ...(known.expiredUrl === null ? {} : { z: known.expiredUrl }),
    ...(known.forwardQuery ? { f: true } : {}),
    ...(known.monthlyHits === null ? {} : { q: known.monthlyHits }),
    ...(lifeS === undefined ? {} : { l: lifeS }),
  }
  return JSON.stringify(stored)
}

/**
 * Values of special links are schema v2: without `u`, so that a server that only knows v1 takes them for nothing, and asks
 * Postgres, where it finds no target either. They stand under the same key: one key has one order of versions, whichever servers
 * write it.
 */
function targetOf({ url, special }: Link): Pick<StoredLink, 'u' | 'r' | 'w'> {
  if (special === undefined) return { u: url }
  return special === 'password' ? { w: true } : { r: storedRules({ rules: special, url }) }
}

function leadOf({ u, r, w }: Partial<StoredLink>): Pick<Link, 'url' | 'special'> | undefined {
  if (w === true) return { url: '', special: 'password' }
  if (r === undefined) return isUrl(u) ? { url: u } : undefined
  const guided = readRules(r)
  const isFit = guided !== undefined && isUrl(guided.url) && guided.rules.every((rule) => isUrl(rule.url))
  return isFit ? { url: guided.url, special: guided.rules } : undefined
}

const numbers = ['t', 'v', 'i', 's', 'e', 'q', 'l', 'x'] as const
/** Only what the WHATWG serialiser can have written may become a header. */
const isUrl = (value: unknown): value is string => typeof value === 'string' && /^https?:\/\/[\x21-\x7e]+$/.test(value)
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

/**
 * Whatever cannot be understood counts as not there: the next fill writes over it. What is understood goes on to Postgres
 * (an id, with a click), to clocks and into headers, so that a wrong type is not let in here.
 */
export function decode(code: Code, value: string): Held | undefined {
  let parsed: Partial<StoredLink> & { x?: number }
  try {
    parsed = (JSON.parse(value) ?? {}) as typeof parsed
  } catch {
    return undefined
  }
  if (numbers.some((name) => parsed[name] !== undefined && !isCount(parsed[name]))) return undefined
  if (parsed.x !== undefined) return { known: absent(parsed.x), cachedAtS: 0 }
  const lead = leadOf(parsed)
  if (lead === undefined || (parsed.z !== undefined && !isUrl(parsed.z))) return undefined
  return {
    known: {
      code,
      id: parsed.i ?? 0,
      ...lead,
      permanent: parsed.p === true,
      startsAtS: parsed.s ?? null,
      expiresAtS: parsed.e ?? null,
      expiredUrl: parsed.z ?? null,
      forwardQuery: parsed.f === true,
      monthlyHits: parsed.q ?? null,
      version: parsed.v ?? 0,
    },
    cachedAtS: parsed.t ?? 0,
    ...(parsed.l === undefined ? {} : { lifeS: parsed.l }),
  }
}

export interface Lifetimes {
  readonly linkTtlS: number
  readonly notFoundTtlS: number
  readonly tombstoneS: number
  readonly ttlJitter: number
  /** Of a link that is known to be hot, where lives are dynamic. */
  readonly lifeS?: ((code: Code) => number | undefined) | undefined
}

/** Spread out, so that what was written together does not end together. */
export const jitteredMs = (seconds: number, jitter: number, random = Math.random): number =>
  Math.round(seconds * 1000 * (1 + (2 * random() - 1) * jitter))

/** Milliseconds to keep it in Redis; 0 for a link that is gone: nothing outlives its own end. */
export function lifetimeMs(known: Known, lifetimes: Lifetimes, nowMs: number, random: () => number): number {
  const jittered = (seconds: number): number => jitteredMs(seconds, lifetimes.ttlJitter, random)
  if (!isLink(known)) return known.version === 0 ? jittered(lifetimes.notFoundTtlS) : lifetimes.tombstoneS * 1000
  const lifeMs = jittered(lifetimes.lifeS?.(known.code) ?? lifetimes.linkTtlS)
  const goneS = goneAtS(known)
  return goneS === null ? lifeMs : Math.max(0, Math.min(lifeMs, goneS * 1000 - nowMs))
}
