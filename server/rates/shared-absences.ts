// One count of absent codes per server, not per worker: it lives in the primary process. A message per 404 would cost more
// than the 404, so workers report what they have answered in batches, and hear how many there were of all.
import { LRUCache } from 'lru-cache'

/** Of one minute: addresses, and how many absent codes each has asked this worker for since the last report. */
export interface AbsenceReport {
  readonly type: 'absences'
  readonly minute: number
  readonly counts: readonly (readonly [address: string, count: number])[]
}

/** Of those addresses, and of all workers. */
export interface AbsenceTotals {
  readonly type: 'absences-of-all'
  readonly minute: number
  readonly totals: readonly (readonly [address: string, total: number])[]
}

/** In the primary process. */
export function createAbsenceDesk(addresses: number): (report: AbsenceReport) => AbsenceTotals {
  const held = new LRUCache<string, { minute: number; total: number }>({ max: addresses })
  const add = (address: string, minute: number, count: number): number => {
    let seen = held.get(address)
    if (seen?.minute !== minute) held.set(address, (seen = { minute, total: 0 }))
    return (seen.total += count)
  }
  return ({ minute, counts }) => ({
    type: 'absences-of-all',
    minute,
    totals: counts.map(([address, count]) => [address, add(address, minute, count)]),
  })
}

/** In a worker: the way to the primary process, and back to whoever counts. */
export class AbsenceChannel {
  heard: (totals: AbsenceTotals) => void = () => undefined
  readonly tell: (report: AbsenceReport) => void

  constructor(tell: (report: AbsenceReport) => void) {
    this.tell = tell
  }
}
