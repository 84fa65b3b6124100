// Postgres as coherence sees it: rows with locks, versions from one sequence, transactions that stay open, snapshots,
// an outbox. What is not modelled (SQL, the trigger) is tested on the real one.
import { absent, type Code, type Known } from '../../link.ts'
import type { Cursor } from '../cursor.ts'
import type { Change, Changes, Truth } from '../truth.ts'
import type { VirtualTime } from '../../../testing/virtual-time.ts'

export interface Flaws {
  /** The version is drawn before the row is locked. */
  readonly earlyVersion?: boolean
  /** The cursor is the highest outbox id seen, not a snapshot. */
  readonly maxIdCursor?: boolean
}

/** The row as it will be, under its lock, with the version drawn for it; gone: it is deleted by hand. */
export type Make = (code: Code, before: Known, version: number, newId: () => number) => Known | 'gone'

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
  /** When that process told its tier 1. */
  learnedMs: number
  /** When it was acknowledged, Redis had it. */
  isInRedis: boolean
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

  /** One transaction. What was not committed, or was not there, is not among its states. */
  async change(codes: readonly Code[], make: Make, openMs: number, rollback = false): Promise<State[]> {
    const epoch = this.#epoch
    const xid = this.#xid++
    this.#active.add(xid)
    const written: { code: Code; known: Known | 'gone'; row: OutboxRow }[] = []
    const unlocks: (() => void)[] = []
    for (const code of codes) {
      const early = this.#flaws.earlyVersion ? ++this.#version : undefined
      if (this.#flaws.earlyVersion) await this.#time.sleep((xid * 7) % 5)
      unlocks.push(await this.#lock(code))
      const version = early ?? ++this.#version
      const before = this.state(code)
      const known = make(code, before, version, () => ++this.#linkId)
      if (known === 'gone' && !this.#rows.has(code)) continue
      // A row that is deleted by hand is announced with the version that it had.
      const announced = known === 'gone' ? before.version : version
      written.push({ code, known, row: { xid, id: ++this.#outboxId, code, version: announced } })
    }
    await this.#time.sleep(openMs)
    this.#active.delete(xid)
    for (const unlock of unlocks) unlock()
    // A restore ends every session of the database that it replaces.
    if (rollback || epoch !== this.#epoch) return []
    return written.map(({ code, known, row }) => {
      if (known === 'gone') this.#rows.delete(code)
      else this.#rows.set(code, known)
      this.#outbox.push(row)
      return this.#remember(code, known === 'gone' ? absent(row.version) : known)
    })
  }

  async #lock(code: Code): Promise<() => void> {
    const previous = this.#locks.get(code)
    let unlock = (): void => undefined
    const lock = new Promise<void>((resolve) => (unlock = resolve))
    this.#locks.set(
      code,
      (previous ?? Promise.resolve()).then(() => lock),
    )
    await previous
    return unlock
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
    const state = {
      known,
      committedMs: this.#time.nowMs,
      acknowledgedMs: Infinity,
      by: undefined,
      learnedMs: -Infinity,
      isInRedis: false,
    }
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
    const drawn = (code: Code): number =>
      Math.max(...found.filter((row) => row.code === code).map((row) => row.version))
    const nowOf = (code: Code): Known => this.#rows.get(code) ?? absent(drawn(code))
    const changes: Change[] = forget.length > 0 ? [] : changed.map((code) => ({ code, known: nowOf(code), ageS: 0 }))
    const next: Cursor =
      cursor && last && found.length === bulk
        ? { ...now, snapshot: cursor.snapshot, to: target, after: [String(last.xid), last.id] }
        : { ...now, snapshot: target }
    return { next, changes, forget }
  }
}
