// One connection at the front door, and the steps of its requests: see front-door.ts.
// Long because its states are read together.
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Counter } from '../clicks/counter.ts'
import { limits } from '../limits.ts'
import { asideOf } from './asides.ts'
import type { FrontDoor } from './front-door.ts'
import type { Holder } from './guests.ts'
import { InnerSocket, type Outside } from './inner-socket.ts'
import type { Turns } from './one-at-a-time.ts'
import type { Asker, Decisions, Knower, Told } from './outcome.ts'
import { wireOf, type Outcome } from './prepared.ts'
import { nothingSaid, purposeNames, saidBy, type Said } from '../visits/slots.ts'
import type { OnVisit } from '../visits/visits.ts'
import {
  asked,
  fieldIn,
  fieldsIn,
  hasQuery,
  hostIn,
  namesHost,
  partial,
  pathBehind,
  pathIn,
  queryIn,
  recognise,
  strange,
} from './recognise.ts'
import { tailOf } from './wire.ts'
import { firstOf, heldAs, type Beside, type Site, type Sites } from './sites.ts'

/** Why node:http has a request: it is the API's, the console's or an aside, no GET or HEAD, or has a body; or it was not recognised, or came too slowly. */
export type HandOverReason = Beside | 'aside' | 'method' | 'body' | 'unrecognised' | 'partial'

/** One connection's requests at node:http. */
export interface Served extends Pick<Holder, 'isWaiting'> {
  reason: HandOverReason | undefined
}

export interface VisitorDeps {
  readonly decisions: Pick<Decisions, 'atOnce' | 'ask'>
  readonly sites: Sites
  readonly clicks: Pick<Counter, 'hit'>
  /** Hears of every click; undefined: nobody wants to know more. */
  readonly onVisit: OnVisit | undefined
  /** What comes in one piece is not all answered before others are looked at. */
  readonly turns: Turns
  readonly onAnswer: (status: number, seconds: number, source: Knower) => void
  /** Takes a connection over for good; what was read of it is in its buffer again. */
  readonly handOver: (socket: Duplex, reason: HandOverReason) => void
  /** Serves one request after another, and says when each is answered, and read to its end. */
  readonly serve: (inner: Duplex, onAnswered: () => void) => Served
}

/** Chunks that a request may come in; who sends it in more is as well served by node:http. */
const mostParts = 8

const acceptName = Buffer.from('accept:')
const userAgentName = Buffer.from('user-agent:')
const acceptLanguageName = Buffer.from('accept-language:')
const forwardedForName = Buffer.from('x-forwarded-for:')
const saidNames = ['user-agent:', 'referer:', 'accept-language:', 'dnt:', 'sec-gpc:', ...purposeNames.map((name) => `${name}:`)].map((name) => Buffer.from(name)) // prettier-ignore
const forwardedHostName = Buffer.from('x-forwarded-host:')

const besideCode = (path: string): 'aside' | undefined => (asideOf(path) === undefined ? undefined : 'aside')

/** A connection until it is closed, or handed over for good. No function is made per connection, and none per request. */
export class Visitor implements Holder, Asker, Outside {
  readonly #door: FrontDoor
  readonly socket: Duplex
  lastMs = performance.now()
  #used = false
  #gone = false
  /** A request is worked on, or an answer has no room: what comes meanwhile is kept, and no more is read. */
  #busy = false
  #rest: Buffer | undefined
  #parts = 0
  #full = false
  /** It waits for the ladder, or for a hit. */
  #owed = false
  /** What is asked, until it is answered. */
  #chunk: Buffer | undefined
  #headBegin = 0
  #headEnd = 0
  #isHead = false
  /** What it says of the host that was asked for is believed; undefined: nobody has looked yet. */
  #isBelieved: boolean | undefined
  /** The host that was asked for last, and whose it is: the next request of a connection nearly always names it, too. */
  #host = ''
  #site: Site | undefined
  #siteAsOf = -1
  #closes = false
  /** As node:http sees the connection, once it had a request of it; and whether it has one now. */
  #inner: InnerSocket | undefined
  #served: Served | undefined
  #away = false
  /** Bytes of that request that have not come yet. */
  #missing = 0

  constructor(door: FrontDoor, socket: Duplex) {
    this.#door = door
    this.socket = socket
    ;(socket as Held)[visitor] = this
    socket.on('data', onData).on('drain', onDrain).on('end', onEnd).on('error', onError).on('close', onClose)
  }

  get isWaiting(): boolean {
    return this.#owed || (this.#away && this.#served?.isWaiting === true)
  }

  onData(chunk: Buffer): void {
    if (this.#gone) return
    this.lastMs = performance.now()
    if (this.#away && this.#missing > 0) this.#forward(chunk)
    else if (this.#busy) this.#keep(chunk)
    else if (this.#rest === undefined) this.#take(chunk, this.lastMs)
    else {
      const whole = Buffer.concat([this.#rest, chunk])
      this.#rest = undefined
      this.#take(whole, this.lastMs)
    }
  }

  #take(chunk: Buffer, beganMs: number): void {
    const { decisions, turns, sites } = this.#door.deps
    let at = 0
    for (let n = 0; at < chunk.length && !this.#gone; n++) {
      if (this.#full || (n > 0 && !turns.hasTime())) {
        if (!this.#full) turns.add(this)
        return this.#wait(chunk, at)
      }
      const end = recognise(chunk, at)
      if (end === strange) return this.#handOver(chunk.subarray(at), 'unrecognised')
      if (end === partial) return this.#keepPart(chunk.subarray(at))
      const { method, bodyLength } = asked
      const isHead = method === 'HEAD'
      const isPlain = (isHead || method === 'GET') && bodyLength === 0
      this.#used = true
      this.#parts = 0
      this.#isHead = isHead
      this.#closes = asked.closes
      const site = sites.areMany ? this.#siteOf(chunk, at, end) : sites.main
      const code = sites.areMany ? this.#heldAs(site, chunk) : pathIn(chunk)
      const prepared = isPlain ? decisions.atOnce(code, isHead, beganMs, hasQuery(chunk)) : undefined
      if (prepared !== undefined) {
        this.#asks(chunk, at, end)
        this.#say(prepared, beganMs, beganMs, 'local')
        this.#chunk = undefined
      } else {
        const path = pathIn(chunk)
        const reason = site.besides(path) ?? (isPlain ? besideCode(path) : bodyLength > 0 ? 'body' : 'method')
        if (reason !== undefined) return this.#exchange(chunk.subarray(at), end - at + bodyLength, reason)
        this.#asks(chunk, at, end)
        if (!this.#ask(site, path, beganMs)) return this.#wait(chunk, end)
      }
      at = end
    }
  }

  #siteOf(chunk: Buffer, begin: number, end: number): Site {
    const { sites } = this.#door.deps
    this.#isBelieved ??= sites.believes(this.peer)
    const forwarded = this.#isBelieved ? firstOf(fieldIn(chunk, begin, end, forwardedHostName) ?? '') : ''
    if (forwarded !== '') return sites.of(forwarded)
    if (this.#site !== undefined && this.#siteAsOf === sites.asOf && namesHost(chunk, this.#host)) return this.#site
    const host = hostIn(chunk)
    const site = sites.of(host)
    // Of a connection that is held, little is kept.
    this.#site = host.length > limits.hostLength ? undefined : site
    this.#siteAsOf = sites.asOf
    this.#host = this.#site === undefined ? '' : host
    return site
  }

  #heldAs(site: Site, chunk: Buffer): string {
    const { key, prefix } = site
    return key === undefined ? heldAs(site, pathIn(chunk)) : pathBehind(key, prefix.length, chunk)
  }

  /** Until it is answered. */
  #asks(chunk: Buffer, begin: number, end: number): void {
    this.#chunk = chunk
    this.#headBegin = begin
    this.#headEnd = end
  }

  /** False: the answer has to be waited for. */
  #ask(site: Site, path: string, beganMs: number): boolean {
    const { decisions } = this.#door.deps
    const page = site.small.get(path)
    const told =
      page === undefined ? decisions.ask(site, path, this.#isHead, this) : { outcome: page, source: undefined }
    if (told instanceof Promise) {
      this.#owed = true
      void told.then((found) => this.#hear(found, beganMs))
      return false
    }
    this.#say(told.outcome, beganMs, performance.now(), told.source)
    this.#chunk = undefined
    return true
  }

  #hear({ outcome, source }: Told, beganMs: number): void {
    if (this.#gone) return
    this.#owed = false
    this.#say(outcome, beganMs, performance.now(), source)
    this.#chunk = undefined
    if (!this.#full) this.takeTurn()
  }

  #say(outcome: Outcome, beganMs: number, nowMs: number, source: Knower): void {
    const { deps, date, draining } = this.#door
    const { socket } = this
    const closes = this.#closes || draining
    let hasRoom: boolean
    if (outcome.tally === undefined) {
      hasRoom = outcome.write(socket, this.accept, date(nowMs), closes, this.#isHead)
    } else {
      // A one-byte string goes to the kernel without a Buffer of its own; prepared Buffers were not measurably cheaper.
      const wire = closes ? outcome.head + date(nowMs) + tailOf(true) : wireOf(outcome, date(nowMs))
      hasRoom = socket.write(wire, 'latin1')
      if (!this.#isHead) {
        deps.clicks.hit(outcome.tally)
        deps.onVisit?.(outcome.tally, this, outcome.rule)
      }
    }
    deps.onAnswer(outcome.status, (performance.now() - beganMs) / 1000, source)
    if (closes) this.#endSoon()
    else if (!hasRoom) this.#full = true
  }

  isWanted(): boolean {
    return !this.#gone
  }

  get peer(): string | undefined {
    return (this.socket as Socket).remoteAddress
  }

  get forwardedFor(): string | undefined {
    return this.#field(forwardedForName)
  }

  get accept(): string | undefined {
    return this.#field(acceptName)
  }

  get userAgent(): string | undefined {
    return this.#first(userAgentName)
  }

  get acceptLanguage(): string | undefined {
    return this.#first(acceptLanguageName)
  }

  get query(): string | undefined {
    return this.#chunk === undefined ? undefined : queryIn(this.#chunk, this.#headBegin)
  }

  said(): Said {
    if (this.#chunk === undefined) return nothingSaid
    const values = fieldsIn(this.#chunk, this.#headBegin, this.#headEnd, saidNames)
    const [userAgent, referer, acceptLanguage, dnt, gpc, ...purposes] = values
    return saidBy(userAgent, referer, acceptLanguage, dnt, gpc, purposes)
  }

  #field(name: Buffer): string | undefined {
    return this.#chunk === undefined ? undefined : fieldIn(this.#chunk, this.#headBegin, this.#headEnd, name)
  }

  /** Of several, as statistics read it. */
  #first(name: Buffer): string | undefined {
    return this.#chunk === undefined ? undefined : fieldsIn(this.#chunk, this.#headBegin, this.#headEnd, [name])[0]
  }

  #wait(chunk: Buffer, at: number): void {
    this.#busy = true
    if (at < chunk.length) this.#keep(chunk.subarray(at))
  }

  #keep(chunk: Buffer): void {
    this.#rest = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.socket.pause()
  }

  #keepPart(chunk: Buffer): void {
    if (++this.#parts > mostParts) this.#handOver(chunk, 'partial')
    else this.#rest = chunk
  }

  /** Then no more is read. Otherwise it is, so that a client which leaves before its answer is noticed. */
  get #isBehind(): boolean {
    return this.#gone || this.#full || (this.#busy && this.#rest !== undefined)
  }

  takeTurn(): void {
    if (this.#gone) return
    const rest = this.#rest
    this.#rest = undefined
    this.#busy = false
    if (rest !== undefined) this.#take(rest, performance.now())
    if (!this.#isBehind && this.socket.isPaused()) this.socket.resume()
  }

  onDrain(): void {
    if (!this.#full) return
    this.#full = false
    this.takeTurn()
  }

  #exchange(chunk: Buffer, length: number, reason: HandOverReason): void {
    this.#busy = true
    this.#away = true
    this.#missing = length
    this.#serve(reason)
    this.#forward(chunk)
  }

  #serve(reason: HandOverReason): void {
    if (this.#served === undefined || this.#inner?.destroyed !== false) {
      this.#inner = new InnerSocket(this)
      this.#served = this.#door.deps.serve(this.#inner, () => this.#takeBack())
    }
    this.#served.reason = reason
  }

  #forward(chunk: Buffer): void {
    const part = chunk.subarray(0, this.#missing)
    this.#missing -= part.length
    if (part.length < chunk.length) this.#keep(chunk.subarray(part.length))
    if (this.#inner?.push(part) === false) this.socket.pause()
  }

  /** node:http has answered. */
  #takeBack(): void {
    // Where its answer was the last one, or has not come to its end, it closes the connection.
    if (this.#gone || !this.#away || this.#inner?.writable !== true) return
    this.#away = false
    this.lastMs = performance.now()
    // We would not agree on where the request ends.
    if (this.#missing > 0) this.socket.destroy()
    else this.takeTurn()
  }

  onWanted(): void {
    if (this.#away && this.#missing > 0) this.socket.resume()
  }

  onClosed(soon: boolean): void {
    if (!this.#away) return
    const { socket } = this
    if (!soon) return void socket.destroy()
    // As node:http does it: what has come of a body that nobody waits for is read, or closing would reset the connection,
    // and the client might never see the answer.
    this.#gone = true
    socket.end(() => socket.destroy())
    socket.resume()
  }

  #handOver(chunk: Buffer, reason: HandOverReason): void {
    const { socket } = this
    this.#leave()
    this.#inner?.destroy()
    // Paused, the socket keeps what is put back until the new owner listens.
    socket.pause()
    socket.unshift(chunk)
    this.#door.deps.handOver(socket, reason)
    socket.resume()
  }

  /** The client has said its last. As in node:http, what it still waits for is not delivered. */
  onEnd(): void {
    const begun = this.#rest
    if (this.#away) this.#inner?.push(null)
    else if (begun !== undefined && !this.#busy) {
      // What becomes of half a request is for node:http to say.
      this.#rest = undefined
      this.#exchange(begun, begun.length, 'partial')
      this.#inner?.push(null)
    } else {
      this.#gone = true
      this.socket.end()
    }
  }

  /** Nearly always all is with the kernel, and a close says as much as an end before it. */
  #endSoon(): void {
    const { socket } = this
    this.#gone = true
    if (socket.writableLength === 0) socket.destroy()
    else socket.end(() => socket.destroy())
  }

  onClose(): void {
    this.#leave()
    this.#inner?.destroy()
  }

  #leave(): void {
    this.#gone = true
    this.#away = false
    // Handed over, the socket outlives its use of us by hours.
    this.#rest = undefined
    this.#door.visitors.delete(this)
    const { socket } = this
    socket.removeListener('data', onData).removeListener('drain', onDrain).removeListener('end', onEnd)
    socket.removeListener('error', onError).removeListener('close', onClose)
  }

  closeIfQuiet(nowMs: number, quietMs: number, unusedMs: number): void {
    const isQuiet = nowMs - this.lastMs >= (this.#used ? quietMs : unusedMs)
    if (this.#door.draining && this.socket.writableLength > 0) {
      // It is being told its last: closeAll ends those that do not listen.
      if (!this.#busy && !this.#gone) this.#endSoon()
    } else if (this.#rest !== undefined && !this.#busy) this.#lateInTurn()
    else if (isQuiet && (!this.#busy || this.#full || this.#gone)) this.socket.destroy()
  }

  /** Half a request has no more parts to come here. Of thousands at once, not all are handed over before others are served. */
  #lateInTurn(): void {
    this.#parts = mostParts
    this.#busy = true
    this.socket.pause()
    this.#door.deps.turns.add(this)
  }

  close(): void {
    this.socket.destroy()
  }
}

const visitor = Symbol('visitor')
type Held = Duplex & { [visitor]: Visitor }

function onData(this: Duplex, chunk: Buffer): void {
  ;(this as Held)[visitor].onData(chunk)
}
function onDrain(this: Duplex): void {
  ;(this as Held)[visitor].onDrain()
}
function onEnd(this: Duplex): void {
  ;(this as Held)[visitor].onEnd()
}
function onError(this: Duplex): void {
  this.destroy()
}
function onClose(this: Duplex): void {
  ;(this as Held)[visitor].onClose()
}
