// What visitors notice of some work: they come at a steady rate until it is done, each whatever became of those before.
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from '../measure/stats.ts'

export interface Seen {
  /** Of each answer. */
  readonly ms: number[]
  /** How often each status was answered; 0: not at all. */
  readonly statuses: Record<number, number>
}

type Visit = (n: number) => Promise<{ readonly status: number; readonly ms: number }>

export async function beside(work: Promise<unknown>, everyMs: number, visit: Visit): Promise<Seen> {
  const seen: Seen = { ms: [], statuses: {} }
  const under: Promise<void>[] = []
  const over = { yet: false }
  void work.finally(() => (over.yet = true)).catch(() => undefined)
  for (let dueMs = performance.now(), n = 0; !over.yet; n++, dueMs += everyMs) {
    const waitMs = dueMs - performance.now()
    // At least a turn: what is late is not made up for before answers are read.
    await pause(Math.max(0, waitMs))
    const asked = visit(n).catch(() => ({ status: 0, ms: Infinity }))
    under.push(
      asked.then(({ status, ms }) => {
        seen.ms.push(ms)
        seen.statuses[status] = (seen.statuses[status] ?? 0) + 1
      }),
    )
  }
  await Promise.all(under)
  return seen
}

export function told({ ms, statuses }: Seen): string {
  const at = (share: number): string => `${quantile(ms, share).toFixed(1)} ms`
  const counts = Object.entries(statuses).map(([status, times]) => `${times} × ${status}`)
  return `${counts.join(', ')}; p50 ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)}`
}

/** Of each of so many times, in milliseconds. */
export async function timed(times: number, work: (n: number) => Promise<unknown>): Promise<number[]> {
  const ms: number[] = []
  for (let n = 0; n < times; n++) {
    const beganMs = performance.now()
    await work(n)
    ms.push(performance.now() - beganMs)
  }
  return ms
}
