// Postgres as coherence sees it: rows with locks, versions from one sequence, transactions that stay open, snapshots,
// an outbox. What is not modelled (SQL, the trigger) is tested on the real one.
import { absent, type Code, type Known } from '../../link.ts'
import type { Cursor } from '../cursor.ts'
import type { Beat, Change, Changes, NearTruth, Truth } from '../truth.ts'
import type { VirtualTime } from '../../../testing/virtual-time.ts'

export interface Flaws {
  /** The version is drawn before the row is locked. */
  readonly earlyVersion?: boolean
  /** The cursor is the highest outbox id seen, not a snapshot. */
  readonly maxIdCursor?: boolean
  /** A standby says what it knows by a snapshot of its own, in which nothing runs, instead of by the heartbeat. */
  readonly ownSnapshot?: boolean
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

/** What a pass looks at: a server as it is at a moment. */
interface View {
  readonly rows: ReadonlyMap<Code, Known>
  readonly outbox: readonly OutboxRow[]
  readonly now: Cursor
}

interface HeartBeat extends Beat, Cursor {}

/** What the log says to a standby. */
type Logged =
  | { readonly xid: number; readonly rows: readonly [Code, Known | 'gone'][]; readonly outbox: readonly OutboxRow[] }
  | { readonly beat: HeartBeat }
  | { readonly restored: ReadonlyMap<Code, Known> }

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
  #beat: HeartBeat | undefined
  readonly log: Logged[] = []

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
    const rows = written.map(({ code, known }): [Code, Known | 'gone'] => [code, known])
    this.log.push({ xid, rows, outbox: written.map(({ row }) => row) })
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
      this.log.push({ restored: rows })
      for (const code of this.history.keys()) this.#remember(code, this.state(code))
    }
  }

  async #ask<T>(reach: () => Promise<void>, answer: () => T): Promise<T> {
    await reach()
    const epoch = this.#epoch
    const result = answer()
    await reach()
    if (epoch !== this.#epoch) throw new Error('the connection was lost')
    return result
  }

  truth(reach: () => Promise<void>): Truth {
    const view = (): View => ({ rows: this.#rows, outbox: this.#outbox, now: this.#now() })
    return {
      read: (codes) => this.#ask(reach, () => codes.map((code) => this.state(code))),
      changesSince: (cursor) => this.#ask(reach, () => changesSince(view(), cursor, this.#flaws)),
    }
  }

  /** A heartbeat, where the one before is old enough. */
  beat(reach: () => Promise<void>): Promise<void> {
    return this.#ask(reach, () => {
      const { n = 0, atS = -Infinity } = this.#beat ?? {}
      if (this.#time.nowMs / 1000 - atS < 0.1) return
      this.#beat = { ...this.#now(), n: n + 1, atS: this.#time.nowMs / 1000, isStandby: true }
      this.log.push({ beat: this.#beat })
    })
  }

  #now(): Cursor {
    const identity = `epoch ${this.#epoch}`
    return { identity, version: this.#version, snapshot: this.#snapshot(), atS: this.#time.nowMs / 1000 }
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
}

function sees(snapshot: string, row: OutboxRow, flaws: Flaws): boolean {
  const [, xmax = '0', list = ''] = snapshot.split(':')
  if (flaws.maxIdCursor) return row.id <= Number(xmax)
  return row.xid < Number(xmax) && !list.split(',').includes(String(row.xid))
}

function changesSince({ rows, outbox, now }: View, cursor: Cursor | null, flaws: Flaws): Changes {
  const target = cursor?.to ?? now.snapshot
  const [afterXid, afterId] = cursor?.after ?? ['0', 0]
  const isAfter = (row: OutboxRow): boolean =>
    row.xid > Number(afterXid) || (row.xid === Number(afterXid) && row.id > afterId)
  const found = outbox
    .filter((row) => cursor && isAfter(row) && !sees(cursor.snapshot, row, flaws) && sees(target, row, flaws))
    .sort((a, b) => a.xid - b.xid || a.id - b.id)
    .slice(0, bulk)
  const last = found.at(-1)
  const changed = [...new Set(found.map(({ code }) => code))]
  const forget = changed.length > few ? changed : []
  const drawn = (code: Code): number => Math.max(...found.filter((row) => row.code === code).map((row) => row.version))
  const xidsOf = (code: Code): string[] => found.filter((row) => row.code === code).map(({ xid }) => String(xid))
  const nowOf = (code: Code): Known => rows.get(code) ?? absent(drawn(code))
  const changes: Change[] =
    forget.length > 0 ? [] : changed.map((code) => ({ code, known: nowOf(code), xids: xidsOf(code), ageS: 0 }))
  const next: Cursor =
    cursor && last && found.length === bulk
      ? { ...now, snapshot: cursor.snapshot, to: target, after: [String(last.xid), last.id] }
      : { ...now, snapshot: target }
  return { next, changes, forget }
}

/** A server that does what the log of another says, in its order and after a while. */
export class StandbyModel {
  isPaused = false
  readonly #of: PostgresModel
  readonly #time: VirtualTime
  readonly #flaws: Flaws
  #at = 0
  #rows = new Map<Code, Known>()
  #outbox: OutboxRow[] = []
  #lastXid = 99
  #beat: HeartBeat | undefined

  constructor(of: PostgresModel, time: VirtualTime, flaws: Flaws) {
    this.#of = of
    this.#time = time
    this.#flaws = flaws
  }

  /** Until then; each step takes its time. */
  follow(untilMs: number): void {
    const { nowMs, random } = this.#time
    if (nowMs > untilMs) return
    // What came meanwhile comes together.
    if (!this.isPaused) while (this.#at < this.#of.log.length) this.#do(this.#of.log[this.#at++] as Logged)
    this.#time.at(nowMs + (random() < 0.95 ? 1 + random() * 9 : random() * 150), () => this.follow(untilMs))
  }

  #do(logged: Logged): void {
    if ('beat' in logged) this.#beat = logged.beat
    else if ('restored' in logged) {
      this.#rows = new Map(logged.restored)
      this.#outbox = []
    } else {
      for (const [code, known] of logged.rows) {
        if (known === 'gone') this.#rows.delete(code)
        else this.#rows.set(code, known)
      }
      this.#outbox.push(...logged.outbox)
      this.#lastXid = Math.max(this.#lastXid, logged.xid)
    }
  }

  /** What its heartbeat says. */
  #now(): HeartBeat {
    if (!this.#beat) throw new Error('the standby has no heartbeat')
    const xmax = this.#lastXid + 1
    return this.#flaws.ownSnapshot ? { ...this.#beat, snapshot: `${xmax}:${xmax}:` } : this.#beat
  }

  truth(reach: () => Promise<void>): NearTruth {
    const ask = async <T>(answer: () => T): Promise<T> => {
      await reach()
      const result = answer()
      await reach()
      return result
    }
    return {
      read: (codes) =>
        ask(() => ({ knowns: codes.map((code) => this.#rows.get(code) ?? absent(0)), asOf: this.#now() })),
      changesSince: (cursor) =>
        ask(() => changesSince({ rows: this.#rows, outbox: this.#outbox, now: this.#now() }, cursor, this.#flaws)),
      beat: () => ask(() => this.#beat ?? { n: 0, atS: 0, isStandby: true }),
    }
  }
}
