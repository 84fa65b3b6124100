// What became of the clicks of all spools: accepted = persisted + spooled + dropped.
//
// Kept by spool, in figures that only grow, in the primary process. So a report may be lost or repeated, a worker may be
// killed between any two steps, and whoever takes its spool over says the same about it as the dead one would have.
//
// An example, spool `a` of worker 1, as accepted/persisted/dropped. Each row adds to the totals what it has more than the
// row before it:
//
//   what happens                                               report               totals
//   worker 1 has batches of 10 and 20 clicks on disk           30/0/0               30/0/0
//   Postgres has the first                                     30/10/0              30/10/0
//   5 and 7 more are on disk, Postgres has the second, and     (42/30/0 is lost)    30/10/0: 20 seem to be spooled
//     worker 1 is killed
//   worker 2 takes `a` over. Postgres has 30 clicks of it,     42/30/5              42/30/5: 7 are spooled
//     the line of the 5 is damaged, and that of the 7 says       base 35/30/5
//     that 42 were accepted in all: 5 are given up
//   Postgres has the 7, and `a` is removed                     42/37/5, closed      42/37/5: all are accounted for
//
// `base` is where the spool stood when it was taken over. This primary knows `a`, and does not look at it. One that was
// started meanwhile does not: it begins there, and counts the 7 clicks that were left, not what the server before it has
// counted.
import type { Totals } from './batch.ts'

export interface Progress extends Totals {
  readonly persisted: number
  /** Of a spool that was taken over: where it stood then. News only to a primary that does not know the spool. */
  readonly base?: Omit<Progress, 'base'>
}

export interface ClicksReport {
  readonly type: 'clicks'
  readonly spool: string
  readonly progress: Progress
  /** Nothing will follow. */
  readonly closed?: boolean
}

export const none: Progress = { accepted: 0, dropped: 0, persisted: 0 }

type Counted = 'accepted' | 'dropped' | 'persisted'
const counted: readonly Counted[] = ['accepted', 'dropped', 'persisted']

export type ClickBooks = ReturnType<typeof createClickBooks>

export function createClickBooks(onCounted: (what: Counted, clicks: number) => void) {
  const spools = new Map<string, Record<Counted, number>>()
  const sums = { accepted: 0, dropped: 0, persisted: 0 }
  return {
    note({ spool, progress, closed }: ClicksReport): void {
      const known = spools.get(spool) ?? { ...(progress.base ?? none) }
      for (const what of counted) {
        const more = Math.max(0, progress[what] - known[what])
        known[what] += more
        sums[what] += more
        if (more > 0) onCounted(what, more)
      }
      if (closed) spools.delete(spool)
      else spools.set(spool, known)
    },
    /** Since this process began. */
    totals: (): Readonly<Record<Counted, number>> => ({ ...sums }),
  }
}
