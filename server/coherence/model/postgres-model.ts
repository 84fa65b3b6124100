// Postgres as coherence sees it: rows with locks, versions from one sequence, transactions that stay open, snapshots,
// an outbox. What is not modelled (SQL, the trigger) is tested on the real one.
import { absent, type Code, type Known } from '../../link.ts'
import type { Change, Changes, Cursor, Truth } from '../truth.ts'
import type { VirtualTime } from '../../testing/virtual-time.ts'

export interface Flaws {
  /** The version is drawn before the row is locked. */
  readonly earlyVersion?: boolean
  /** The cursor is the highest outbox id seen, not a snapshot. */
  readonly maxIdCursor?: boolean
}

interface OutboxRow {
  readonly xid: number
  readonly id: number
  readonly code: Code
  readonly version: number
}

/** A committed state of a code, and from when it counts as acknowledged. */
export interface State {
  readonly known: Known
  readonly committedMs: number
  acknowledgedMs: number
  /** The process that acknowledged it, where one did. */
  by: number | undefined
}

/** More changes than these are not looked up, and no more than those are taken at a time. */
const few = 2
const bulk = 4

export class PostgresModel {
  readonly history = new Map<Code, State[]>()
  readonly #time: VirtualTime
  readonly #flaws: Flaws
  #epoch = 1
  #version = 0
  #xid = 100
  #outboxId = 0
  #linkId = 0
  #rows = new Map<Code, Known>()
  #active = new Set<number>()
  #outbox: OutboxRow[] = []
  #locks = new Map<Code, Promise<void>>()

  constructor(time: VirtualTime, flaws: Flaws) {
    this.#time = time
    this.#flaws = flaws
  }

  /** Transactions are open. */
  get busy(): boolean {
    return this.#active.size > 0
  }

  state(code: Code): Known {
    return this.#rows.get(code) ?? absent(0)
  }

  /** One transaction. `make` gets the row as it is under the lock and the version drawn for it. */
  async change(
    code: Code,
    make: (before: Known, version: number, newId: () => number) => Known,
    openMs: number,
    rollback = false,
  ): Promise<State | undefined> {
    const epoch = this.#epoch
    const xid = this.#xid++
    this.#active.add(xid)
    const early = this.#flaws.earlyVersion ? ++this.#version : undefined
    if (this.#flaws.earlyVersion) await this.#time.sleep((xid * 7) % 5)
    const previous = this.#locks.get(code)
    let unlock = (): void => undefined
    const lock = new Promise<void>((resolve) => (unlock = resolve))
    this.#locks.set(
      code,
      (previous ?? Promise.resolve()).then(() => lock),
    )
    await previous
    const version = early ?? ++this.#version
    const known = make(this.state(code), version, () => ++this.#linkId)
    const row: OutboxRow = { xid, id: ++this.#outboxId, code, version }
    await this.#time.sleep(openMs)
    this.#active.delete(xid)
    unlock()
    // A restore ends every session of the database that it replaces.
    if (rollback || epoch !== this.#epoch) return undefined
    this.#rows.set(code, known)
    this.#outbox.push(row)
    return this.#remember(code, known)
  }

  dump(): () => void {
    const rows = new Map(this.#rows)
    const version = this.#version
    return () => {
      this.#rows = new Map(rows)
      this.#version = version
      this.#epoch++
      this.#outbox = []
      for (const code of this.history.keys()) this.#remember(code, this.state(code))
    }
  }

  truth(reach: () => Promise<void>): Truth {
    const ask = async <T>(answer: () => T): Promise<T> => {
      await reach()
      const epoch = this.#epoch
      const result = answer()
      await reach()
      if (epoch !== this.#epoch) throw new Error('the connection was lost')
      return result
    }
    return {
      read: (codes) => ask(() => codes.map((code) => this.state(code))),
      changesSince: (cursor) => ask(() => this.#changesSince(cursor)),
    }
  }

  #remember(code: Code, known: Known): State {
    const state = { known, committedMs: this.#time.nowMs, acknowledgedMs: Infinity, by: undefined }
    const states = this.history.get(code)
    if (states) states.push(state)
    else this.history.set(code, [state])
    return state
  }

  #snapshot(): string {
    if (this.#flaws.maxIdCursor) return `1:${Math.max(1, ...this.#outbox.map(({ id }) => id))}:`
    const active = [...this.#active].sort((a, b) => a - b)
    return `${active[0] ?? this.#xid}:${this.#xid}:${active.join(',')}`
  }

  #sees(snapshot: string, row: OutboxRow): boolean {
    const [, xmax = '0', list = ''] = snapshot.split(':')
    if (this.#flaws.maxIdCursor) return row.id <= Number(xmax)
    return row.xid < Number(xmax) && !list.split(',').includes(String(row.xid))
  }

  #changesSince(cursor: Cursor | null): Changes {
    const now = { identity: `epoch ${this.#epoch}`, version: this.#version, atS: this.#time.nowMs / 1000 }
    const target = cursor?.to ?? this.#snapshot()
    const [afterXid, afterId] = cursor?.after ?? ['0', 0]
    const isAfter = (row: OutboxRow): boolean =>
      row.xid > Number(afterXid) || (row.xid === Number(afterXid) && row.id > afterId)
    const found = this.#outbox
      .filter((row) => cursor && isAfter(row) && !this.#sees(cursor.snapshot, row) && this.#sees(target, row))
      .sort((a, b) => a.xid - b.xid || a.id - b.id)
      .slice(0, bulk)
    const last = found.at(-1)
    const changed = [...new Set(found.map(({ code }) => code))]
    const forget = changed.length > few ? changed : []
    const changes: Change[] =
      forget.length > 0 ? [] : changed.map((code) => ({ code, known: this.state(code), ageS: 0 }))
    const next: Cursor =
      cursor && last && found.length === bulk
        ? { ...now, snapshot: cursor.snapshot, to: target, after: [String(last.xid), last.id] }
        : { ...now, snapshot: target }
    return { next, changes, forget }
  }
}
