// What became of the clicks of all spools: accepted = persisted + spooled + dropped.
//
// Kept by spool, in figures that only grow, in the primary process. So a report may be lost or repeated, a worker may be
// killed between any two steps, and whoever takes its spool over says the same about it as the dead one would have.
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

export interface ClickBooks {
  note(report: ClicksReport): void
  /** Since this process began. */
  totals(): Readonly<Record<Counted, number>>
}

export function createClickBooks(onCounted: (what: Counted, clicks: number) => void): ClickBooks {
  const spools = new Map<string, Record<Counted, number>>()
  const sums = { accepted: 0, dropped: 0, persisted: 0 }
  return {
    note({ spool, progress, closed }) {
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
    totals: () => ({ ...sums }),
  }
}
