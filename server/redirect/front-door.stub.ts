// For the tests of the front door: a ladder whose answers are in the code's first letter, and one connection in memory
// that is served once by the front door with node:http behind it, and once by node:http alone.
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import type { Tally } from '../clicks/counter.ts'
import { limits } from '../config.ts'
import { Lease } from '../limits/hit-lease.ts'
import { absent, type Code, type Known, type Link } from '../link.ts'
import { createFrontDoor } from './front-door.ts'
import { createRedirectHandler, type RedirectDeps, type RedirectHandler } from './handler.ts'
import { createHttpServer, type HttpServer } from './http-server.ts'
import type { Found, Resolver } from './resolve.ts'
import { copyOf, type Copy } from './tier1-local.ts'

const longAgoS = 1_000_000_000

/** L, P: held, 302 or 301. B: the same, with a long URL. X: held, but over. A: held as absent. H: held, but no header. S, T: a link (T: over), later.
 *  M: held, with two hits at hand and more for whoever waits. Q: each hit has to be waited for. D: all its hits are used up.
 *  U: nobody can say. O: too many flights. E: the ladder fails. Others: absent, later. */
export function knownOf(code: string): Known {
  if (!/^[LPBXSTHMQD]/.test(code)) return absent(1)
  const path = code.startsWith('B') ? 'b'.repeat(8000) : code
  const link: Link = {
    code: code as Code,
    id: 7,
    url: code.startsWith('H') ? 'https://example.com/\r\nSet-Cookie: a=b' : `https://example.com/${path}?a=b&c=%20#d`,
    permanent: code.startsWith('P'),
    expiresAtS: /^[XT]/.test(code) ? longAgoS : null,
    monthlyHits: /^[MQD]/.test(code) ? 1000 : null,
    version: 1,
  }
  return link
}

/** Event-loop turns that a flight takes. */
export const flightTurns = 3
/** Turns after which everything is answered, also what was handed over. */
export const settled = 2 * flightTurns + 4

export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

export function stubResolver(): Resolver {
  const copies = new Map<string, Copy>()
  const flights = new Map<string, Promise<Found>>()
  const foundFor = (code: Code): Found =>
    code.startsWith('U') ? { copy: 'unknown', source: 'none' } : { copy: copyOf(knownOf(code)), source: 'redis' }
  return {
    local(code) {
      if (!/^[LPBXAHMQD]/.test(code)) return undefined
      const copy = copies.get(code) ?? {
        known: knownOf(code),
        storedMs: 0,
        freshUntilMs: Infinity,
        prepared: undefined,
      }
      copies.set(code, copy)
      return copy
    },
    ask(code) {
      if (code.startsWith('O')) return undefined
      // A code that was answered once is answered at once: what is handed over waits no second time.
      const flight = flights.get(code) ?? turns(flightTurns).then(() => foundFor(code))
      flights.set(code, flight)
      return code.startsWith('E') ? flight.then(() => Promise.reject(new Error('the ladder broke'))) : flight
    },
    refresh: () => undefined,
    flights: 0,
  }
}

export interface Counted {
  readonly statuses: number[]
  clicks: number
}

function stubHits(): NonNullable<RedirectDeps['hits']> {
  const leases = new Map<Code, Lease>()
  // As with flights: what is handed over while it waits does not wait for longer than it would have.
  const waits = new Map<Code, Promise<void>>()
  return {
    leaseOf({ code, id, monthlyHits }) {
      if (monthlyHits === null) return undefined
      const lease = leases.get(code) ?? new Lease({ code, linkId: id, version: 1, limit: monthlyHits }, () => undefined)
      leases.set(code, lease)
      if (code.startsWith('M')) lease.fill(2, { name: '2030-01', endsMs: Infinity }, Infinity)
      return lease
    },
    // Whether the client is still there is another test's: in the turn in which it goes, both answers are right.
    async acquire({ terms }) {
      const wait = waits.get(terms.code) ?? turns(flightTurns)
      waits.set(terms.code, wait)
      await wait
      return terms.code.startsWith('D') ? 'used_up' : 'granted'
    },
    look: ({ terms }) => Promise.resolve(terms.code.startsWith('D') ? 'used_up' : 'granted'),
    secondsToMonthEnd: () => 4711,
  }
}

export function stubDeps(counted: Counted) {
  return {
    resolver: stubResolver(),
    hits: stubHits(),
    clicks: {
      tally: (linkId: number): Tally => ({ linkId, n: 0 }),
      hit: () => {
        counted.clicks++
      },
    },
    nowMs: Date.now,
    onAnswer: (status: number) => {
      counted.statuses.push(status)
    },
    onShed: () => undefined,
  }
}

/** The server's end of a connection. */
export class Wire extends Duplex {
  readonly handler: RedirectHandler
  readonly written: Buffer[] = []
  fin = false

  constructor(handler: RedirectHandler) {
    super({ allowHalfOpen: true, highWaterMark: limits.unreadBytes })
    this.handler = handler
  }
  override _read(): void {
    // `push` is called as the bytes come.
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.written.push(chunk)
    done()
  }
  override _final(done: () => void): void {
    this.fin = true
    done()
  }
}

export interface Case {
  readonly chunks: readonly Buffer[]
  /** Turns to wait after each chunk, besides the one that any read has to itself. */
  readonly gaps: readonly number[]
  /** The client's FIN: never, with its last byte, or when it has its answers. */
  readonly fin: 'none' | 'early' | 'late'
}

export interface Outcome {
  readonly bytes: string
  readonly closed: boolean
  readonly statuses: readonly number[]
  readonly clicks: number
  /** Answers that node:http had no part in. */
  readonly rawAnswers: number
}

/** `Date` is the one field that may differ. */
export const normalise = (bytes: string): string => bytes.replaceAll(/\r\nDate: [^\r]*\r\n/g, '\r\nDate: x\r\n')

/** One for all connections, each with a handler of its own. */
export function createPages(): HttpServer {
  const handlerOf = (req: IncomingMessage): RedirectHandler => (req.socket as unknown as Wire).handler
  return createHttpServer(
    {
      redirects: { tryLocal: (req, res) => handlerOf(req).tryLocal(req, res) },
      pages: (req, res) => {
        handlerOf(req)
          .handle(req, res)
          .catch(() => {
            res.writeHead(500, { 'Content-Length': 0 }).end()
          })
      },
    },
    limits,
  )
}

export async function serve(pages: HttpServer, { chunks, gaps, fin }: Case, withDoor: boolean): Promise<Outcome> {
  const counted: Counted = { statuses: [], clicks: 0 }
  const deps = stubDeps(counted)
  const wire = new Wire(createRedirectHandler(deps))
  let rawAnswers: number | undefined
  const handOver = (socket: Duplex): void => {
    rawAnswers = counted.statuses.length
    pages.take(socket)
  }
  const door = createFrontDoor({ ...deps, handOver, keepAliveMs: 1e9, firstRequestMs: 1e9, lateCheckMs: 1e9 })
  if (withDoor) door.accept(wire)
  else handOver(wire)
  for (const [i, chunk] of chunks.entries()) {
    if (wire.destroyed || wire.readableEnded) break
    wire.push(chunk)
    // An early FIN overtakes the flights of the last chunk for certain, and those of no other: no case is a race.
    const longer = fin === 'early' && i < chunks.length - 1
    await turns(1 + (longer ? settled : (gaps[i % gaps.length] ?? 0)))
  }
  if (fin === 'late') await turns(settled)
  if (fin !== 'none' && !wire.destroyed) wire.push(null)
  await turns(settled)
  const bytes = normalise(Buffer.concat(wire.written).toString('latin1'))
  const closed = wire.fin || wire.destroyed
  wire.destroy()
  door.closeAll()
  return { bytes, closed, ...counted, rawAnswers: rawAnswers ?? counted.statuses.length }
}
