// The front door: redirects, and all that is answered in place of one, are written on the raw socket, without node:http,
// for about half of its CPU time.
//
//            ┌──────────────────────────── the next request ◀─────────────────────────────┐
//            ▼                                                                             │
//   idle ──▶ bytes: a request for a code ──▶ tier 1 has a redirect ready ───────▶ written at once
//            │                    │                                                        ▲
//            │                    └─ waiting for the ladder, or for a hit ─▶ what is told ─┤
//            │                                                                             │
//            ├─ a request for somebody else ──▶ node:http answers it over an inner socket ─┘
//            │
//            └─ nothing that recognise.ts knows ──▶ node:http has the connection, bytes and all, for good
//
// One request of a connection is worked on at a time; what comes behind it waits here, and then with the client. The door
// owns what node:http would otherwise do for these connections: the idle time-out, the bound on what a client does not
// read, the stop. How many connections there may be is said in guests.ts.
import type { Duplex } from 'node:stream'
import type { Holder } from './guests.ts'
import { createDateHeader } from './prepared.ts'
import { Visitor, type VisitorDeps } from './visitor.ts'

export interface FrontDoorDeps extends VisitorDeps {
  readonly keepAliveMs: number
  /** For a connection that has not sent anything yet. */
  readonly firstRequestMs: number
  /** How often idle connections are looked for: one timer for all of them, one store per request. */
  readonly lateCheckMs: number
}

export class FrontDoor {
  readonly deps: FrontDoorDeps
  readonly visitors = new Set<Visitor>()
  /** The value of `Date` at a moment of the monotonic clock. */
  readonly date = createDateHeader()
  draining = false
  readonly #sweep: NodeJS.Timeout

  constructor(deps: FrontDoorDeps) {
    this.deps = deps
    this.#sweep = setInterval(() => this.#closeQuiet(deps.keepAliveMs, deps.firstRequestMs), deps.lateCheckMs)
    this.#sweep.unref()
  }

  accept(socket: Duplex): Holder {
    const visitor = new Visitor(this, socket)
    this.visitors.add(visitor)
    return visitor
  }

  /** From now on every answer ends its connection. Closes connections that have been quiet for `quietMs`. */
  drain(quietMs: number): void {
    this.draining = true
    this.#closeQuiet(quietMs, quietMs)
  }

  closeAll(): void {
    clearInterval(this.#sweep)
    for (const visitor of this.visitors) visitor.close()
  }

  #closeQuiet(quietMs: number, unusedMs: number): void {
    const nowMs = performance.now()
    for (const visitor of this.visitors) visitor.closeIfQuiet(nowMs, quietMs, unusedMs)
  }
}
