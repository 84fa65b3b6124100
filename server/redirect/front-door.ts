// The front door: redirects are answered on the raw socket, without node:http, for about half of its CPU time.
//
//            ┌───────────────────────── the next request ◀──────────────────────────┐
//            ▼                                                                       │
//   idle ──▶ a chunk: one plain GET of a code ──▶ tier 1 holds a link ──────────▶ written at once
//            │                    │                                                  ▲
//            │                    └─ it does not ──▶ waiting for the ladder ─────────┘ a link
//            │                                            │
//            └─ anything else, or a part of it            └─ any other outcome, or more bytes
//                         ▼                                     ▼
//                  handed over to node:http, bytes and all, for the rest of the connection: no way back
//
// It owns what node:http would otherwise do for these connections: the idle time-out, the bound on what a client does not
// read, the stop. How many connections there may be is said in guests.ts.
import type { Duplex } from 'node:stream'
import type { Counter } from '../clicks/counter.ts'
import type { HitQuota, Lease, Verdict } from '../limits/hit-quota.ts'
import { parseCode, type Code } from '../link.ts'
import type { Holder } from './guests.ts'
import { createDateHeader, isOver, prepareCopy, wireOf, type Prepared } from './prepared.ts'
import { codeIn, plainGet } from './recognise.ts'
import type { Found, Resolver, Source } from './resolve.ts'

export interface FrontDoorDeps {
  readonly resolver: Pick<Resolver, 'local' | 'ask'>
  readonly clicks: Pick<Counter, 'tally' | 'hit'>
  /** Of links with a limit. Without it there are none. */
  readonly hits?: Pick<HitQuota, 'leaseOf' | 'acquire'>
  readonly onAnswer: (status: number, seconds: number, source: Source | 'local') => void
  /** Takes a connection over; what was read of it is in its buffer again. */
  readonly handOver: (socket: Duplex) => void
  readonly keepAliveMs: number
  /** For a connection that has not sent anything yet. */
  readonly firstRequestMs: number
  /** How often idle connections are looked for: one timer for all of them, one store per request. */
  readonly lateCheckMs: number
}

export interface FrontDoor {
  accept(socket: Duplex): Holder
  /** From now on every request is handed over. Closes connections that have been quiet for `quietMs`. */
  drain(quietMs: number): void
  closeAll(): void
  /** Connections that have not been handed over. */
  readonly connections: number
}

class Door {
  readonly deps: FrontDoorDeps
  readonly visitors = new Set<Visitor>()
  readonly date = createDateHeader()
  draining = false

  constructor(deps: FrontDoorDeps) {
    this.deps = deps
  }

  closeQuiet(quietMs: number, unusedMs: number): void {
    const nowMs = performance.now()
    for (const visitor of this.visitors) visitor.closeIfQuiet(nowMs, quietMs, unusedMs)
  }
}

/** A connection until it is handed over. The functions are made once per connection, none per request. */
class Visitor implements Holder {
  readonly #door: Door
  readonly #socket: Duplex
  lastMs = performance.now()
  #used = false
  #waiting: Buffer | undefined
  /** Closed or handed over: what comes late is not for us. */
  #gone = false

  constructor(door: Door, socket: Duplex) {
    this.#door = door
    this.#socket = socket
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  get isWaiting(): boolean {
    return this.#waiting !== undefined
  }

  readonly #onData = (chunk: Buffer): void => {
    const door = this.#door
    const beganMs = performance.now()
    const end = this.#waiting === undefined && !door.draining ? plainGet(chunk) : 0
    if (end === 0) {
      this.#handOver(chunk)
      return
    }
    const code = codeIn(chunk, end) as Code
    this.lastMs = beganMs
    this.#used = true
    // Only parsed codes are ever held, so a copy proves the code.
    const copy = door.deps.resolver.local(code)
    if (copy === undefined) {
      this.#ask(code, chunk)
      return
    }
    const prepared = copy.prepared ?? prepareCopy(copy, door.deps.clicks, door.deps.hits)
    if (prepared === undefined || isOver(prepared, Date.now)) this.#handOver(chunk)
    else if (prepared.lease === undefined || prepared.lease.spend(beganMs)) {
      this.#answer(prepared, beganMs, beganMs, 'local')
    } else this.#waitForHit(chunk, prepared, prepared.lease, 'local')
  }

  #answer(prepared: Prepared, beganMs: number, nowMs: number, source: Source | 'local'): void {
    const { deps, date } = this.#door
    // A one-byte string goes to the kernel without a Buffer of its own; prepared Buffers were not measurably cheaper.
    const hasRoom = this.#socket.write(wireOf(prepared, date(nowMs)), 'latin1')
    deps.clicks.hit(prepared.tally)
    deps.onAnswer(prepared.status, (performance.now() - beganMs) / 1000, source)
    // It asks on and on and does not read: the answers are not kept for it beyond the socket's high-water mark.
    if (!hasRoom) this.#socket.destroy()
  }

  #ask(code: Code, chunk: Buffer): void {
    const asked = parseCode(code) === undefined ? undefined : this.#door.deps.resolver.ask(code)
    if (asked === undefined) {
      this.#handOver(chunk)
      return
    }
    this.#waiting = chunk
    asked.then(this.#onFound, this.#onUnanswered)
  }

  readonly #onFound = ({ copy, source }: Found): void => {
    if (this.#gone) return
    const door = this.#door
    const prepared =
      copy === 'unknown' || door.draining ? undefined : prepareCopy(copy, door.deps.clicks, door.deps.hits)
    if (prepared === undefined || isOver(prepared, Date.now)) {
      this.#handOver()
      return
    }
    const nowMs = performance.now()
    if (prepared.lease === undefined || prepared.lease.spend(nowMs)) this.#answerWaiting(prepared, nowMs, source)
    else this.#waitForHit(this.#waiting, prepared, prepared.lease, source)
  }

  #answerWaiting(prepared: Prepared, nowMs: number, source: Source | 'local'): void {
    this.#waiting = undefined
    this.#answer(prepared, this.lastMs, nowMs, source)
  }

  /** Its link has a limit, and this process holds none of its hits at the moment. */
  #waitForHit(chunk: Buffer | undefined, prepared: Prepared, lease: Lease, source: Source | 'local'): void {
    this.#waiting = chunk
    const heard = (verdict: Verdict): void => {
      if (this.#gone) return
      if (verdict === 'granted') this.#answerWaiting(prepared, performance.now(), source)
      else this.#handOver()
    }
    this.#door.deps.hits?.acquire(lease, this.#isWaiting).then(heard, this.#onUnanswered)
  }

  readonly #isWaiting = (): boolean => !this.#gone && !this.#door.draining

  /** node:http asks again: what is known now, or joins the same flight, and counts the request. */
  readonly #onUnanswered = (): void => {
    if (!this.#gone) this.#handOver()
  }

  #handOver(chunk?: Buffer): void {
    const socket = this.#socket
    this.#leave()
    // Paused, the socket keeps what is put back until the new owner listens.
    socket.pause()
    if (chunk !== undefined) socket.unshift(chunk)
    if (this.#waiting !== undefined) socket.unshift(this.#waiting)
    this.#door.deps.handOver(socket)
    socket.resume()
  }

  /** The client has said its last. As in node:http, what it still waits for is not delivered. */
  readonly #onEnd = (): void => {
    this.#gone = true
    this.#socket.end()
  }

  readonly #onError = (): void => {
    this.#socket.destroy()
  }

  readonly #onClose = (): void => {
    this.#leave()
  }

  #leave(): void {
    const socket = this.#socket
    this.#gone = true
    this.#door.visitors.delete(this)
    socket.removeListener('data', this.#onData)
    socket.removeListener('end', this.#onEnd)
    socket.removeListener('error', this.#onError)
    socket.removeListener('close', this.#onClose)
  }

  closeIfQuiet(nowMs: number, quietMs: number, unusedMs: number): void {
    const quiet = nowMs - this.lastMs >= (this.#used ? quietMs : unusedMs)
    if (quiet && !this.isWaiting) this.#socket.destroy()
  }

  close(): void {
    this.#socket.destroy()
  }
}

export function createFrontDoor(deps: FrontDoorDeps): FrontDoor {
  const door = new Door(deps)
  const sweep = setInterval(() => {
    door.closeQuiet(deps.keepAliveMs, deps.firstRequestMs)
  }, deps.lateCheckMs)
  sweep.unref()
  return {
    accept(socket) {
      const visitor = new Visitor(door, socket)
      door.visitors.add(visitor)
      return visitor
    },
    drain(quietMs) {
      door.draining = true
      door.closeQuiet(quietMs, quietMs)
    },
    closeAll() {
      clearInterval(sweep)
      for (const visitor of door.visitors) visitor.close()
    },
    get connections() {
      return door.visitors.size
    },
  }
}
