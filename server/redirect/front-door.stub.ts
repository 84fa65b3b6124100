// For the tests of the front door: a ladder whose answers are in the code's first letter, and one connection in memory
// that is served once by the front door with node:http behind it, and once by node:http alone.
// Long because every stub of a visitor's way stands here once.
import type { RequestListener } from 'node:http'
import { Duplex } from 'node:stream'
import type { Tally } from '../clicks/counter.ts'
import { sampling } from '../visits/ring.ts'
import type { Caller } from '../visits/visits.ts'
import { limits } from '../limits.ts'
import { Lease } from '../hits/hit-lease.ts'
import { absent, parseCodeAt, slugOf, type Code, type Known, type Link, type Rule } from '../link.ts'
import { createAsides } from './asides.ts'
import { FrontDoor } from './front-door.ts'
import { createRedirectHandler, type RedirectHandler } from './handler.ts'
import { createHttpServer, type HttpServer } from './http-server.ts'
import { Turns, type Line } from './one-at-a-time.ts'
import { Decisions, type DecisionDeps } from './outcome.ts'
import type { Domain } from '../domains/known.ts'
import { Sites } from './sites.ts'
import type { Found, Resolver } from './resolve.ts'
import { copyOf, type Copy } from './tier1-local.ts'

const longAgoS = 1_000_000_000
const inAges = 10_000_000_000

/** L, P: held, 302 or 301. B: the same, with a long URL. X: held, but over. A: held as absent. H: held, but no header. S, T: a link (T: over), later.
 *  M: held, with two hits at hand and more for whoever waits. Q: each hit has to be waited for. D: all its hits are used up.
 *  Y, I: held or later, and not begun. Z, R: held, with an expiredUrl: over, or with all hits used up. F, G: held or later; a query is forwarded.
 *  J: held, with a rule for a query and one for a language. K: held, with a password.
 *  U: nobody can say. O: too many flights. E: the ladder fails. Others: absent, later. */
export function knownOf(whole: string): Known {
  const code = slugOf(whole as Code)
  if (!/^[LPBXSTHMQDYIZRFGJK]/.test(code)) return absent(1)
  const path = code.startsWith('B') ? 'b'.repeat(8000) : whole
  const special = code.startsWith('K') ? 'password' : code.startsWith('J') ? rules : undefined
  const link: Link = {
    code: whole as Code,
    id: 7,
    url: code.startsWith('H') ? 'https://example.com/\r\nSet-Cookie: a=b' : `https://example.com/${path}?a=b&c=%20#d`,
    permanent: code.startsWith('P'),
    startsAtS: /^[YI]/.test(code) ? inAges : null,
    expiresAtS: /^[XTZ]/.test(code) ? longAgoS : null,
    expiredUrl: /^[ZR]/.test(code) ? 'https://example.com/over?a' : null,
    forwardQuery: /^[FG]/.test(code),
    monthlyHits: /^[MQDR]/.test(code) ? 1000 : null,
    version: 1,
    ...(special === undefined ? {} : { special }),
  }
  return link
}

const rules: readonly Rule[] = [
  { when: { query: { x: '1' } }, url: 'https://example.com/x' },
  { when: { language: 'de' }, url: 'https://example.com/de' },
]

/** Event-loop turns that a flight takes. */
export const flightTurns = 3
/** Turns after which everything is answered, also what was handed over. */
export const settled = 3 * flightTurns + 8

export const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

/** b.example is a further domain, gone.example was one; whoever forwards is believed, but for one address. */
export const unbelieved = '127.0.0.9'
export const stubSites = new Sites('http://a.example', undefined, (address) => address !== unbelieved)
const noPages = { rootUrl: null, notFoundUrl: null }
export const stubDomains: readonly Domain[] = [
  {
    ...noPages,
    host: 'b.example',
    rootUrl: 'https://example.com/',
    notFoundUrl: 'https://example.com/none',
    isRemoved: false,
  },
  { ...noPages, host: 'gone.example', isRemoved: true },
]
stubSites.learn(stubDomains)

export function stubResolver(): Resolver {
  const copies = new Map<string, Copy>()
  const foundFor = (code: Code): Found =>
    slugOf(code).startsWith('U')
      ? { copy: 'unknown', source: 'none' }
      : { copy: copyOf(knownOf(code)), source: 'redis' }
  return {
    local(code) {
      if (parseCodeAt(code) === undefined || !/^[LPBXAHMQDYZRFJK]/.test(slugOf(code))) return undefined
      const copy = copies.get(code) ?? { ...copyOf(knownOf(code)), freshUntilMs: Infinity }
      copies.set(code, copy)
      return copy
    },
    ask(code) {
      if (slugOf(code).startsWith('O')) return undefined
      const flight = turns(flightTurns).then(() => foundFor(code))
      return slugOf(code).startsWith('E') ? flight.then(() => Promise.reject(new Error('the ladder broke'))) : flight
    },
    refresh: () => undefined,
    flights: 0,
  }
}

export interface Counted {
  readonly statuses: number[]
  clicks: number
  /** What is heard of each. */
  readonly visits?: string[]
}

function stubHits(): DecisionDeps['hits'] {
  const leases = new Map<Code, Lease>()
  return {
    leaseOf({ code, id, monthlyHits }) {
      if (monthlyHits === null) return undefined
      const lease = leases.get(code) ?? new Lease({ code, linkId: id, version: 1, limit: monthlyHits }, () => undefined)
      leases.set(code, lease)
      if (slugOf(code).startsWith('M')) lease.fill(2, { name: '2030-01', endsMs: Infinity }, Infinity)
      return lease
    },
    // Whether the client is still there is another test's: in the turn in which it goes, both answers are right.
    async acquire({ terms }) {
      await turns(flightTurns)
      return /^[DR]/.test(slugOf(terms.code)) ? 'used_up' : 'granted'
    },
    look: ({ terms }) => Promise.resolve(/^[DR]/.test(slugOf(terms.code)) ? 'used_up' : 'granted'),
    secondsToMonthEnd: () => 4711,
  }
}

export function stubDeps(counted: Counted, given: Partial<Pick<DecisionDeps, 'resolver' | 'hits'>> = {}) {
  const clicks = {
    tally: (linkId: number): Tally => ({ n: 0, ...sampling(linkId) }),
    hit: () => void counted.clicks++,
  }
  const decisions = new Decisions({
    resolver: stubResolver(),
    hits: stubHits(),
    clicks,
    nowMs: Date.now,
    absentCodes: {
      // Who says so is told to stop: that what it says arrives is seen by the answer.
      onNotFound: (_peer, forwardedFor) => ({
        blocked: forwardedFor?.startsWith('203.0.113.') === true,
        retryAfterS: 42,
      }),
    },
    guard: { open: () => Promise.resolve('wrong') },
    onShed: () => undefined,
    onEnded: () => undefined,
    onError: () => undefined,
    ...given,
  })
  return {
    decisions,
    sites: stubSites,
    clicks,
    asides: createAsides({
      decisions,
      shortUrlOf: (code) => `https://go.example.org/${code}`,
      mayPreview: () => Promise.resolve(true),
      onError: () => undefined,
    }),
    onVisit: ({ linkId }: Tally, caller: Caller, rule: number | undefined) => {
      counted.visits?.push(JSON.stringify({ linkId, rule, query: caller.query, ...caller.said() }))
    },
    onForm: (status: number) => {
      counted.statuses.push(status)
    },
    onAnswer: (status: number) => {
      counted.statuses.push(status)
    },
  }
}

/** The server's end of a connection. */
export class Wire extends Duplex {
  readonly written: Buffer[] = []
  fin = false

  constructor() {
    super({ allowHalfOpen: true, highWaterMark: limits.unreadBytes })
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
  readonly visits: readonly string[]
  /** Answers that node:http had no part in. */
  readonly rawAnswers: number
}

/** `Date` is the one field that may differ. */
export const normalise = (bytes: string): string => bytes.replaceAll(/\r\nDate: [^\r]*\r\n/g, '\r\nDate: x\r\n')

/** In place of the API: it reads the body, and says how long it was. */
export const answerLength: RequestListener = (req, res) => {
  let length = 0
  req.on('data', (chunk: Buffer) => (length += chunk.length))
  req.on('end', () => {
    const text = JSON.stringify({ url: req.url, length })
    res.writeHead(200, { 'Content-Length': text.length }).end(text)
  })
}

const handlers = new WeakMap<Duplex, RedirectHandler>()

/** One for all connections, each with a handler of its own. */
export function createPages(): HttpServer {
  return createHttpServer(
    {
      redirects: (req, res) => handlers.get(req.socket)?.(req, res),
      api: answerLength,
      console: answerLength,
      sites: stubSites,
      turns: new Turns(),
      onHandedOver: () => undefined,
      isCrowded: () => false,
    },
    limits,
  )
}

export async function serve(pages: HttpServer, { chunks, gaps, fin }: Case, withDoor: boolean): Promise<Outcome> {
  const counted = { statuses: [], clicks: 0, visits: [] } satisfies Counted
  const deps = stubDeps(counted)
  const wire = new Wire()
  let byNode = 0
  const handler = createRedirectHandler({
    ...deps,
    onAnswer: (status) => {
      byNode++
      deps.onAnswer(status)
    },
  })
  const take = (socket: Duplex, onAnswered?: () => void): Line => {
    handlers.set(socket, handler)
    return pages.take(socket, undefined, onAnswered)
  }
  const times = { keepAliveMs: 1e9, firstRequestMs: 1e9, lateCheckMs: 1e9 }
  const door = new FrontDoor({
    ...deps,
    turns: new Turns(),
    handOver: (socket) => void take(socket),
    serve: take,
    ...times,
  })
  if (withDoor) door.accept(wire)
  else take(wire)
  for (const [i, chunk] of chunks.entries()) {
    if (wire.destroyed || wire.readableEnded) break
    wire.push(chunk)
    // An early FIN overtakes the flights of the last chunk for certain, and those of no other: no case is a race.
    const longer = fin === 'early' && i < chunks.length - 1
    await turns(1 + (longer ? settled : (gaps[i % gaps.length] ?? 0)))
  }
  if (fin === 'late') await turns(settled)
  if (fin !== 'none' && !wire.destroyed) wire.push(null)
  for (let before = -1; before < wire.written.length;) {
    before = wire.written.length
    await turns(settled)
  }
  const bytes = normalise(Buffer.concat(wire.written).toString('latin1'))
  const closed = wire.fin || wire.destroyed
  wire.destroy()
  door.closeAll()
  return { bytes, closed, ...counted, rawAnswers: counted.statuses.length - byNode }
}

/** How node:http ends a connection that sends what is no request. */
export const refusal = /HTTP\/1\.1 4\d\d [^\r]*\r\n(?:Content-Length: 0\r\n)?Connection: close\r\n(?:Date: x\r\n)?\r\n$/

/**
 * The one difference that is allowed: how many answers get out before a broken request ends the connection. What node:http
 * answers to the same bytes when it gets one at a time, and all the time that it wants, is all that anybody may answer.
 */
export async function isBroken(
  pages: HttpServer,
  { chunks, fin }: Pick<Case, 'chunks' | 'fin'>,
  door: Pick<Outcome, 'bytes' | 'closed'>,
  alone: Pick<Outcome, 'bytes' | 'closed'>,
): Promise<boolean> {
  const bytes = Buffer.concat(chunks)
  const one = Array.from(bytes, (byte) => Buffer.from([byte]))
  // Only the end of a line can make a request that has to be waited for.
  const gaps = Array.from(bytes, (byte) => (byte === 10 ? settled : 0))
  const patient = await serve(pages, { chunks: one, gaps, fin: fin === 'none' ? fin : 'late' }, false)
  const all = patient.bytes.replace(refusal, '')
  // Without a refusal it was closed as it was asked to be; what came behind that is broken, and may be called so. A FIN that
  // comes before the answers takes with it what of several it overtakes.
  const isRefused = [patient, door, alone].some((one) => refusal.test(one.bytes))
  const isWhole = isRefused || fin === 'early' || door.bytes.length >= alone.bytes.length
  const isPart = (one: typeof door): boolean => one.closed && all.startsWith(one.bytes.replace(refusal, ''))
  return patient.closed && isWhole && isPart(door) && isPart(alone)
}
