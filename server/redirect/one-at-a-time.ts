// Behind node:http, one request of a connection is worked on at a time. node:http itself parses whatever one read brings,
// and begins all of it: 64 kB are two thousand requests, whose answers all come to be before the first is sent. Here the
// parser is given a piece at a time, and the next piece when all requests of the last one are answered: sent or closed. What
// lies behind waits in the socket's buffer, and then with the client. Order and answers are those of node:http.
//
// A request that was waiting is begun in a turn of its own, so that others are served in between; all connections' turns
// share a few milliseconds at a time. So do all that send more than a piece at once: a body of tiny chunks takes a hundred
// times longer to parse than its length says.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HandOverReason } from './visitor.ts'

/** Bytes: about 35 of the shortest requests. Most requests are one piece, the largest body is a few dozen. */
const pieceBytes = 1024
/** Milliseconds that turns take before sockets are looked at again. */
const turnMs = 5

/** Who is waiting for a turn, on all connections. */
export class Turns {
  #lines: { takeTurn(): void }[] = []
  #isSet = false
  #untilMs = 0

  /** Whether what has come may be parsed now, or has to wait for a turn. */
  hasTime(): boolean {
    this.#set()
    return performance.now() < this.#untilMs
  }

  add(line: { takeTurn(): void }): void {
    this.#lines.push(line)
    this.#set()
  }

  #set(): void {
    if (this.#isSet) return
    this.#isSet = true
    this.#untilMs = performance.now() + turnMs
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#isSet = false
    const lines = this.#lines
    this.#lines = []
    const untilMs = performance.now() + turnMs
    let taken = 0
    while (taken < lines.length && performance.now() < untilMs) lines[taken++]?.takeTurn()
    if (taken === lines.length) return
    this.#lines = [...lines.slice(taken), ...this.#lines]
    this.#set()
  }
}

type Begin = (req: IncomingMessage, res: ServerResponse, line: Line) => void

/** The requests of one connection that node:http has just been given. */
export class Line {
  readonly #socket: Duplex
  readonly #begin: Begin
  readonly #turns: Turns
  readonly #parse: (chunk: Buffer) => void
  readonly #waiting: [IncomingMessage, ServerResponse][] = []
  #current: ServerResponse | undefined
  #inTurn = false
  /** When its last request was begun. */
  lastMs = performance.now()
  /** Bytes that the client has taken when it was last looked at, and since when they are no more. */
  taken = 0
  takenMs = this.lastMs

  /** Why node:http has the request that is begun; undefined: it has them all. */
  reason: HandOverReason | undefined
  /** Said after each request by whoever has the connection next. */
  readonly onAnswered: (() => void) | undefined

  constructor(
    socket: Duplex,
    begin: Begin,
    turns: Turns,
    reason: HandOverReason | undefined,
    onAnswered: (() => void) | undefined,
  ) {
    this.reason = reason
    this.onAnswered = onAnswered
    this.#socket = socket
    this.#begin = begin
    this.#turns = turns
    const [parse] = socket.listeners('data')
    this.#parse = parse as (chunk: Buffer) => void
    socket.removeListener('data', this.#parse)
    // A listener of another's also ends that node:http reads the socket past all of JavaScript.
    socket.on('data', this.#onData)
    socket.on('drain', this.#onDrain)
  }

  /** Its request has come whole, and its answer is not written yet. A slow client, in either direction, does not count. */
  get isWaiting(): boolean {
    const res = this.#current
    return res?.closed === false && res.req.complete && !res.writableEnded
  }

  /** The answer to a request whose body has not come whole. */
  get unread(): ServerResponse | undefined {
    const res = this.#current
    return res === undefined || res.req.complete || res.req.destroyed ? undefined : res
  }

  get #isFree(): boolean {
    return this.#current?.closed ?? true
  }

  arrive(req: IncomingMessage, res: ServerResponse): void {
    if (this.#isFree && this.#waiting.length === 0) {
      this.#current = res
      this.lastMs = performance.now()
      this.#begin(req, res, this)
    } else if (this.#waiting.push([req, res]) === 1) this.#current?.once('close', this.#wantTurn)
  }

  /** The answer that it waits for is its last. */
  drain(): void {
    if (this.#current?.headersSent === false) this.#current.setHeader('Connection', 'close')
  }

  takeTurn(): void {
    this.#inTurn = false
    if (this.#socket.destroyed) return
    const next = this.#isFree ? this.#waiting.shift() : undefined
    if (next !== undefined) {
      const [req, res] = next
      this.#current = res
      this.lastMs = performance.now()
      if (this.#waiting.length > 0) res.once('close', this.#wantTurn)
      this.#begin(req, res, this)
    }
    // Its body may lie there, or the next ones.
    if (this.#waiting.length === 0) this.#socket.resume()
  }

  readonly #onData = (chunk: Buffer): void => {
    const isPiece = chunk.length <= pieceBytes
    let at = 0
    let hasTime = true
    while (at < chunk.length && !this.#isHeld() && (hasTime = isPiece || this.#turns.hasTime())) {
      this.#parse(isPiece ? chunk : chunk.subarray(at, at + pieceBytes))
      at += pieceBytes
    }
    if (this.#waiting.length === 0 && at >= chunk.length) return
    // Whoever resumes it, as node:http does for bodies, gets no further than here.
    this.#socket.pause()
    if (!hasTime) this.#wantTurn()
    if (at < chunk.length && !this.#socket.destroyed) this.#socket.unshift(chunk.subarray(at))
  }

  /** node:http cannot be given more while an answer waits to be taken, either, nor when it has paused the socket itself. */
  #isHeld(): boolean {
    const socket = this.#socket
    return this.#waiting.length > 0 || socket.writableNeedDrain || socket.isPaused() || socket.destroyed
  }

  readonly #onDrain = (): void => {
    if (this.#waiting.length === 0) this.#wantTurn()
  }

  readonly #wantTurn = (): void => {
    if (this.#inTurn) return
    this.#inTurn = true
    this.#turns.add(this)
  }
}
