// Redis as coherence sees it: a few keys, one script, and everything that can happen to a server and to a connection.
// That the script here and the Lua one do the same is a property tested on a real Redis (set-if-not-older.integration). What is read
// has been a value, as the schema writes it.
import { absent, isLink, slugOf, type Code, type Known } from '../../link.ts'
import { decode, encode, type Read } from '../schema.ts'
import type { Entry, SharedCache } from '../shared-cache.ts'
import type { VirtualTime } from '../../../testing/virtual-time.ts'

export interface Flaws {
  /** Writes do not look at the version that is there. */
  readonly noVersionCheck?: boolean
  /** Writes do not look at the cursor: a reader's copy lands however old it is. */
  readonly noGuard?: boolean
  /** A value does not say that its link is special. */
  readonly unmarked?: boolean
  /** Links of two domains have one key, where they have one name. */
  readonly keyBySlug?: boolean
  /** While a slot moves, what is there of it is taken for all of it. */
  readonly halfIsWhole?: boolean
}

export interface Keys {
  cursor: string | null
  readonly links: Map<Code, Known>
  readonly hints: Set<Code>
}

const emptyKeys = (): Keys => ({ cursor: null, links: new Map(), hints: new Set() })
const copyOf = (keys: Keys): Keys => ({
  cursor: keys.cursor,
  links: new Map(keys.links),
  hints: new Set(keys.hints),
})

/** The one script. Anything that lowers the version of a key is reported. */
export function setIfNotOlder(
  keys: Keys,
  how: 'put' | 'amend',
  from: string | null,
  to: string | null,
  entries: readonly Entry[],
  flaws: Flaws = {},
  onLowered: (code: Code) => void = () => undefined,
): 'written' | 'moved' {
  if (keys.cursor !== from && !flaws.noGuard) return 'moved'
  for (const { code: named, known } of entries) {
    const code = keyOf(named, flaws)
    const held = keys.links.get(code)
    if (how === 'put' && !isLink(known) && known.version === 0) {
      if (!held) keys.hints.add(code)
      continue
    }
    if (held && held.version > known.version) {
      if (!flaws.noVersionCheck) continue
      onLowered(code)
    }
    if (held || how === 'put') keys.links.set(code, known)
    if (isLink(known)) keys.hints.delete(code)
  }
  if (to !== null) keys.cursor = to
  return 'written'
}

const keyOf = (code: Code, { keyBySlug }: Flaws): Code => (keyBySlug ? slugOf(code) : code)

function valueOf(code: Code, known: Known, { unmarked }: Flaws): Known | undefined {
  const said = decode(code, encode(known, 0))?.known
  if (!said || !isLink(said) || !unmarked) return said
  const { special: _, ...plain } = said
  return plain
}

export function forgetCodes(keys: Keys, codes: readonly Code[]): void {
  for (const code of codes) {
    keys.links.delete(code)
    keys.hints.delete(code)
  }
}

export class RedisServer {
  keys = emptyKeys()
  /** Swallows everything: nothing arrives and nothing is answered. */
  hole = false
  up = true
  /** Of a cluster: who has its slot, where that is somebody else, and to whom it migrates. */
  owner: RedisServer | undefined
  leaving: RedisServer | undefined

  /** About half of its keys go. Whoever imports a slot still says that it is elsewhere. */
  beginMove(to: RedisServer, random: () => number): void {
    to.flush()
    to.owner = this
    this.leaving = to
    this.#give(to, () => random() < 0.5)
  }

  /** The rest goes, and then the slot. */
  endMove(to: RedisServer): void {
    this.#give(to, () => true)
    this.leaving = to.owner = undefined
    this.owner = to
  }

  #give(to: RedisServer, goes: () => boolean): void {
    for (const [code, known] of this.keys.links) {
      if (!goes()) continue
      to.keys.links.set(code, known)
      this.keys.links.delete(code)
    }
    for (const code of this.keys.hints) {
      if (!goes()) continue
      to.keys.hints.add(code)
      this.keys.hints.delete(code)
    }
    if (this.keys.cursor !== null && goes()) {
      to.keys.cursor = this.keys.cursor
      this.keys.cursor = null
    }
  }

  /**
   * As a node answers who names the cursor and the keys of these codes: a slot that migrates is served only where all of them
   * are, and of a code's two one is never there.
   */
  isElsewhere(codes: readonly Code[], flaws: Flaws): boolean {
    if (this.owner !== undefined) return true
    return this.leaving !== undefined && (this.keys.cursor === null || (codes.length > 0 && !flaws.halfIsWhole))
  }

  snapshot(): Keys {
    return copyOf(this.keys)
  }

  restore(keys: Keys): void {
    this.keys = copyOf(keys)
  }

  flush(): void {
    this.keys = emptyKeys()
  }

  evict(code: Code): void {
    this.keys.links.delete(code)
    this.keys.hints.delete(code)
  }
}

/** One process' connection. Latencies, lost replies and late arrivals come from the seed. */
export class RedisClient implements SharedCache {
  connection = 1
  cursor: string | null = null
  server: RedisServer
  readonly #time: VirtualTime
  readonly #flaws: Flaws
  readonly #onLowered: (code: Code) => void

  constructor(server: RedisServer, time: VirtualTime, flaws: Flaws, onLowered: (code: Code) => void) {
    this.server = server
    this.#time = time
    this.#flaws = flaws
    this.#onLowered = onLowered
  }

  get ready(): boolean {
    return this.server.up
  }

  reconnect(server = this.server): void {
    this.server = server
    this.connection++
  }

  async read(codes: readonly Code[]): Promise<(Read | undefined)[]> {
    const [cursor, held] = await this.#send(codes, ({ cursor, links, hints }) => {
      const each = codes.map((named): Read | undefined => {
        const code = keyOf(named, this.#flaws)
        const held = links.get(code)
        const known = held && valueOf(named, held, this.#flaws)
        if (known && isLink(known)) hints.delete(code)
        // A run is over before a life is: chance says which copies are near their end.
        if (known) return { known, cachedAtS: this.#time.random() < 0.2 ? 1 : 0, asOf: cursor }
        return hints.has(code) ? { known: absent(0), cachedAtS: 0, asOf: cursor } : undefined
      })
      return [cursor, each] as const
    })
    this.cursor = cursor
    return held
  }

  async readCursor(): Promise<string | null> {
    return (this.cursor = await this.#send([], ({ cursor }) => cursor))
  }

  put(entry: Entry, asOf: string): Promise<'written' | 'moved'> {
    return this.#write('put', asOf, null, [entry])
  }

  mend(entries: readonly Entry[], asOf: string): Promise<'written' | 'moved'> {
    return this.#write('amend', asOf, null, entries)
  }

  async advance(from: string | null, to: string, changes: readonly Entry[], forget: readonly Code[] = []) {
    const outcome = await this.#write('amend', from, to, changes, forget)
    if (outcome === 'written') this.cursor = to
    return outcome
  }

  async dropCursor(held: string): Promise<void> {
    await this.#send([], (keys) => {
      if (keys.cursor === held) keys.cursor = null
    })
  }

  async wipe(): Promise<void> {
    await this.#send('any', (keys) => keys.links.clear())
    await this.#send('any', (keys) => keys.hints.clear())
  }

  prolong(): Promise<void> {
    return Promise.resolve()
  }

  #write(
    how: 'put' | 'amend',
    from: string | null,
    to: string | null,
    entries: readonly Entry[],
    forget: readonly Code[] = [],
  ) {
    const write = (keys: Keys) => {
      const outcome = setIfNotOlder(keys, how, from, to, entries, this.#flaws, this.#onLowered)
      if (outcome === 'written') forgetCodes(keys, forget)
      return outcome
    }
    // Nobody waits for a reader's copy: many of them are late.
    const codes = [...entries.map(({ code }) => code), ...forget]
    return this.#send(codes, write, how === 'put' ? 0.3 : 0.02)
  }

  /** There, done in one step, and back. In a hole the command waits in some buffer, and may yet arrive. */
  async #send<T>(touched: readonly Code[] | 'any', command: (keys: Keys) => T, tail = 0.02): Promise<T> {
    const { connection } = this
    const { server } = this
    // Both change while this waits.
    const up = (): boolean => server.up
    const hole = (): boolean => server.hole
    if (!up()) throw new Error('refused')
    await this.#time.sleep(this.#latencyMs(tail))
    let late = false
    while (hole()) {
      late = true
      await this.#time.sleep(40)
    }
    if ((late || !up() || connection !== this.connection) && this.#time.random() < 0.5) throw new Error('lost')
    if (touched !== 'any' && server.isElsewhere(touched, this.#flaws)) {
      this.#redirected(server)
      throw new Error('MOVED')
    }
    const result = command(server.keys)
    await this.#time.sleep(this.#latencyMs(tail))
    if (late || !up() || hole() || connection !== this.connection) throw new Error('the reply was lost')
    return result
  }

  /** As connections/cluster.ts has it: it is another connection, and another node as soon as a map says so. */
  #redirected(server: RedisServer): void {
    if (this.server === server) this.connection++
    this.#time.at(this.#time.nowMs + 100 * this.#time.random(), () => {
      if (this.server === server && server.owner) this.reconnect(server.owner)
    })
  }

  #latencyMs(tail: number): number {
    const dice = this.#time.random()
    return dice < tail ? this.#time.random() * 400 : dice < 0.9 ? dice * 2 : 5 + this.#time.random() * 30
  }
}
