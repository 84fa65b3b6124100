// The database's clock, as far as this process knows it: its own monotonic clock and the difference measured last. Until
// Postgres has answered once, the machine's clock stands in.

export interface Month {
  /** `2026-11`: a calendar month in UTC. */
  readonly name: string
  /** Unix milliseconds at which it is over. */
  readonly endsMs: number
}

export class DatabaseClock {
  readonly #monotonicMs: () => number
  #aheadMs: number

  constructor(monotonicMs: () => number = () => performance.now(), wallMs: () => number = Date.now) {
    this.#monotonicMs = monotonicMs
    this.#aheadMs = wallMs() - monotonicMs()
  }

  /** Postgres said `atMs` to a question that left at `askedMs`: it is at most that much later there than here. */
  heard(atMs: number, askedMs: number): void {
    this.#aheadMs = atMs - askedMs
  }

  /** Never earlier than it is, by at most the round trip of the last answer. */
  nowMs(): number {
    return this.#monotonicMs() + this.#aheadMs
  }

  /** A moment of the database on the monotonic clock. */
  toMonotonicMs(databaseMs: number): number {
    return databaseMs - this.#aheadMs
  }

  month(): Month {
    const now = new Date(this.nowMs())
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    return { name: monthName(year, month), endsMs: Date.UTC(year, month + 1) }
  }
}

const monthName = (year: number, month: number): string => `${year}-${String(month + 1).padStart(2, '0')}`
