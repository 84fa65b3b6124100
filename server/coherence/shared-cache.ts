// The few things that are asked of Redis about codes, each one round trip. The model test has its own implementation.
import { readFileSync } from 'node:fs'
import { absent, isLink, type Code, type Known } from '../link.ts'
import type { PartitionRedis } from '../connections/redis.ts'
import type { Keys } from '../redis-keys.ts'
import { decode, encode, lifetimeMs } from './schema.ts'
import type { Held, Lifetimes, Read } from './schema.ts'

export interface Entry {
  readonly code: Code
  readonly known: Known
}

export type SharedCache = ReturnType<typeof createSharedCache>

/** `moved`: the cursor is another one by now, and nothing was written. */
type Written = 'written' | 'moved'

const lua = (name: string): string => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')

export function createSharedCache(
  redis: PartitionRedis,
  keys: Keys,
  lifetimes: Lifetimes,
  clock = Date.now,
  random = Math.random,
) {
  const setIfNotOlder = redis.script('qlSetIfNotOlder', lua('set-if-not-older'))
  const forgetAll = redis.script('qlForget', lua('forget'))
  const unlinkIf = redis.script(
    'qlUnlinkIf',
    `return redis.pcall('GET', KEYS[1]) == ARGV[1] and redis.call('UNLINK', KEYS[1]) or 0`,
  )
  let cursor: string | null = null

  /** The link and the hint of every schema version, newest first. */
  const keysOf = (code: Code): string[] =>
    keys.schemas.flatMap((version) => [keys.link(code, version), keys.hint(code, version)])

  const write = async (how: string, from: string | null, to: string | null, entries: readonly Entry[]) => {
    const nowMs = clock()
    const touched = [keys.cursor]
    const args: (string | number)[] = [from ?? '', to ?? '', keys.schemas.length]
    for (const { code, known } of entries) {
      touched.push(...keysOf(code))
      const nobodyHasIt = how === 'put' && !isLink(known) && known.version === 0
      const lifeMs = Math.ceil(lifetimeMs(known, lifetimes, nowMs, random))
      args.push(nobodyHasIt ? 'hint' : how, known.version, lifeMs, encode(known, nowMs, lifetimes.lifeS?.(code)))
    }
    return outcomeOf(await setIfNotOlder(touched, args))
  }

  const forgetCodes = async (from: string | null, to: string, codes: readonly Code[]) => {
    return outcomeOf(await forgetAll([keys.cursor, ...codes.flatMap(keysOf)], [from ?? '', to]))
  }

  return {
    /** Connected, and answering as far as the connection knows. */
    get ready(): boolean {
      return redis.ready
    },
    /** Another number for every connection: what is known of one says nothing of the next. */
    get connection(): number {
      return redis.connection
    },
    /** The cursor as this process last read it. */
    get cursor(): string | null {
      return cursor
    },
    async read(codes: readonly Code[]): Promise<(Read | undefined)[]> {
      const values = await redis.getEach([keys.cursor, ...codes.flatMap(keysOf)])
      const asOf = values[0] ?? null
      cursor = asOf
      return codes.map((code, i) => {
        const held = heldIn(redis, keys, code, values, 1 + i * 2 * keys.schemas.length)
        return held && { ...held, asOf }
      })
    },
    async readCursor(): Promise<string | null> {
      cursor = (await redis.getEach([keys.cursor]))[0] ?? null
      return cursor
    },
    /** A reader's or the API's copy, if the cursor still stands where it stood before Postgres was read. */
    put: (entry: Entry, asOf: string): Promise<Written> => write('put', asOf, null, [entry]),
    /** The same of many, where an older copy is held. */
    mend: (entries: readonly Entry[], asOf: string): Promise<Written> => write('amend', asOf, null, entries),
    /** A pass's changes, or codes to forget, and its cursor, in one step. */
    async advance(
      from: string | null,
      to: string,
      changes: readonly Entry[],
      forget: readonly Code[] = [],
    ): Promise<Written> {
      const outcome = forget.length > 0 ? await forgetCodes(from, to, forget) : await write('amend', from, to, changes)
      if (outcome === 'written') cursor = to
      return outcome
    },
    /** From now on nothing is written, until a pass has set a new cursor. */
    async dropCursor(held: string): Promise<void> {
      await unlinkIf([keys.cursor], [held])
    },
    /** Everything about codes goes. */
    async wipe(): Promise<void> {
      for (const pattern of keys.allOfCodes) await redis.unlinkMatching(pattern)
    },
    /** Lets a link live on, never shorter than it would. */
    prolong: (code: Code, lifeMs: number) => redis.prolong(keys.link(code), lifeMs),
  }
}

function outcomeOf(reply: unknown): Written {
  if (typeof reply !== 'number') throw new Error('Redis does not say what its script has done')
  return reply === -1 ? 'moved' : 'written'
}

/** The link key wins over the hint; a hint beside a link is deleted by whoever sees both. */
function heldIn(
  redis: PartitionRedis,
  keys: Keys,
  code: Code,
  values: readonly (string | null)[],
  from: number,
): Held | undefined {
  let hinted = false
  for (let n = 0; n < keys.schemas.length; n++) {
    const value = values[from + 2 * n]
    const hint = values[from + 2 * n + 1] !== null
    const held = value == null ? undefined : decode(code, value)
    if (held) {
      if (hint && isLink(held.known)) redis.unlink([keys.hint(code, keys.schemas[n])]).catch(() => undefined)
      return held
    }
    hinted ||= hint
  }
  return hinted ? { known: absent(0), cachedAtS: 0 } : undefined
}
