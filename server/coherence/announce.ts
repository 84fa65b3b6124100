// After the commit: the writer's own tier 1 at once, Redis if it answers in time, and a nudge for everybody else.
// None of it is needed for the change to arrive: the next pass makes it certain.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Partitions } from '../connections/partitions.ts'
import type { Code, Known } from '../link.ts'
import { limits } from '../limits.ts'
import type { Entry, SharedCache } from './shared-cache.ts'
import type { Vouching } from './vouching.ts'

/** What this process, and its Redis, had heard of the truth. */
export interface AsOf {
  readonly passes: number
  /** By partition. */
  readonly cursors: readonly (string | null)[]
}

export interface Announcer {
  /** To be asked before the transaction begins. */
  asOf(): AsOf
  announce(code: Code, known: Known, asOf: AsOf): Promise<void>
  /** Many at once: only what is held somewhere is mended, so that nothing wanted is pushed out by it. */
  announceAll(entries: readonly Entry[], asOf: AsOf): Promise<void>
}

interface AnnounceDeps {
  readonly learn: (code: Code, known: Known, vouched: boolean) => void
  /** The same, of interest only if the code is held. */
  readonly amend: (code: Code, known: Known, vouched: boolean) => unknown
  readonly vouching: Vouching
  readonly partitions: Partitions<{ readonly cache: SharedCache; readonly breaker: Pick<Breaker, 'run' | 'state'> }>
  readonly timeoutMs: number
  /** Rejects where nobody can be told. */
  readonly publish: (code: Code) => Promise<unknown>
  readonly passSoon: () => void
}

export function createAnnouncer(deps: AnnounceDeps): Announcer {
  const { learn, amend, vouching, partitions, timeoutMs, publish, passSoon } = deps
  type Write = (cache: SharedCache, asOf: string) => Promise<unknown>
  /** Best effort: unless there was no cursor, or its breaker is open. */
  const write = async (index: number, { cursors }: AsOf, work: Write): Promise<void> => {
    const [{ cache, breaker }, cursor = null] = [partitions.all[index]!, cursors[index]]
    if (cursor === null || breaker.state === 'open') return
    const ask: Write = async (...on) => {
      if (!cache.ready) throw new Error('Redis is not connected')
      await withDeadline(work(...on), timeoutMs, 'Redis')
    }
    await breaker.run(() => ask(cache, cursor)).catch(() => undefined)
  }
  return {
    asOf: () => ({ passes: vouching.passes, cursors: partitions.all.map(({ cache }) => cache.cursor) }),
    async announce(code, known, asOf) {
      learn(code, known, vouching.noneSince(asOf.passes))
      await write(partitions.indexOf(code), asOf, (cache, cursor) => cache.put({ code, known }, cursor))
      passSoon()
      publish(code).catch(() => undefined)
    },
    async announceAll(entries, asOf) {
      for (const { code, known } of entries) amend(code, known, vouching.noneSince(asOf.passes))
      const mend = async (index: number, mine: readonly Entry[]): Promise<void> => {
        for (let at = 0; at < mine.length; at += limits.passChunk)
          await write(index, asOf, (cache, cursor) => cache.mend(mine.slice(at, at + limits.passChunk), cursor))
      }
      await Promise.all([...partitions.group(entries, ({ code }) => code)].map(([index, mine]) => mend(index, mine)))
      passSoon()
      const [first] = entries
      // Whoever hears of one asks for all.
      if (first) publish(first.code).catch(() => undefined)
    },
  }
}

/** Where there is no Redis: other processes hear of it by their passes. */
export const announceLocally = ({
  learn,
  amend,
  vouching,
}: Pick<AnnounceDeps, 'learn' | 'amend' | 'vouching'>): Announcer => ({
  asOf: () => ({ passes: vouching.passes, cursors: [] }),
  announce(code, known, { passes }) {
    learn(code, known, vouching.noneSince(passes))
    return Promise.resolve()
  },
  announceAll(entries, { passes }) {
    for (const { code, known } of entries) amend(code, known, vouching.noneSince(passes))
    return Promise.resolve()
  },
})
