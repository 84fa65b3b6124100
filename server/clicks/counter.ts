// Clicks per link, counted in the process. Once a second, and when the hour changes, they become a batch.
import { sampling, type Sampling } from '../visits/ring.ts'
import type { Batch, Row } from './batch.ts'

/** Clicks of one link that are not in the map yet. As many as are wanted may exist per link. */
export interface Tally extends Sampling {
  n: number
}

export type Counter = ReturnType<typeof createCounter>

interface CounterOptions {
  /** Links in a batch, at most; clicks of a further link are dropped and counted. */
  readonly maxLinks: number
  /** Unix milliseconds of the database's clock, which hours and months belong to. */
  readonly nowMs: () => number
}

export const hourMs = 3_600_000

export function createCounter({ maxLinks, nowMs }: CounterOptions) {
  let counts = new Map<number, { clicks: number; ungranted: number }>()
  // Those with clicks. The list holds them, so a copy that is replaced or evicted takes none with it.
  let tallies: Tally[] = []
  let dropped = 0
  let beganMs = nowMs()

  const add = (linkId: number, clicks: number, ungranted: number): void => {
    const before = counts.get(linkId)
    if (before) {
      before.clicks += clicks
      before.ungranted += ungranted
    } else if (linkId === 0 || counts.size >= maxLinks) dropped += clicks
    else counts.set(linkId, { clicks, ungranted })
  }
  const settle = (): void => {
    const due = tallies
    tallies = []
    for (const tally of due) {
      add(tally.linkId, tally.n, 0)
      tally.n = 0
    }
  }

  return {
    /** For a copy of the link: counting its clicks takes no look-up. */
    tally: (linkId: number): Tally => ({ n: 0, ...sampling(linkId) }),
    /** The hot path: an increment. */
    hit(tally: Tally): void {
      if (tally.n++ > 0) return
      tallies.push(tally)
      if (tallies.length >= maxLinks) settle()
    },
    /** Served without a grant, and to be settled with the link's quota; beside the click itself. */
    ungranted: (linkId: number): void => add(linkId, 0, 1),
    /** All that has come since the last time. What did not fit is in `dropped`. */
    drain(): Batch {
      settle()
      const rows: Row[] = Array.from(counts, ([linkId, { clicks, ungranted }]) => [linkId, clicks, ungranted])
      const batch = { hourMs: Math.floor(beganMs / hourMs) * hourMs, rows, dropped }
      counts = new Map()
      dropped = 0
      beganMs = nowMs()
      return batch
    },
    /** How many did not fit since the last time, while the rest stays counted. */
    takeDropped(): number {
      settle()
      const taken = dropped
      dropped = 0
      return taken
    },
    get pending(): number {
      settle()
      let sum = dropped
      for (const { clicks } of counts.values()) sum += clicks
      return sum
    },
  }
}
