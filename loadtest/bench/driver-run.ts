// One process of load: `node driver-run.ts <order>`; prints what it has seen as JSON. Without a rate each connection asks
// again as soon as it is answered. With one, each request is due at a time of its own, which no answer can delay, and waits
// for a free connection if there is none. Several servers take turns, a slice of time each, so that what the machine
// does meanwhile it does to all.
import { connect, type Socket } from 'node:net'
import type { Driven, Order, DriverResult } from './driver.ts'
import { Latencies } from '../measure/stats.ts'
import { answerIn, requestsOf, type Asked } from './loads.ts'

const { servers, rate, slices, sliceMs, connections } = JSON.parse(process.argv[2] ?? '') as Order
/** Not counted: connections open, the schedule settles. */
const settling = rate === undefined ? 0 : 4
const perSlice = rate === undefined ? Infinity : Math.round((rate * sliceMs) / 1000)
const total = perSlice * (settling + slices)

let beganMs = performance.now()
/** Time in which there was nothing to send and nothing to hear. */
let idleMs = 0
let worked = false
let over = false

/** A connection, with one request at a time; where the answer ends it, there is another. */
class Caller {
  readonly #server: Server
  #socket: Socket | undefined
  #asked: Asked | undefined
  #n = 0
  #dueMs = 0
  /** Of an answer that did not come whole. */
  #held: Buffer = Buffer.alloc(0)

  constructor(server: Server) {
    this.#server = server
    this.#open()
  }

  #open(): void {
    if (over) return
    this.#held = Buffer.alloc(0)
    const { hostname, port } = this.#server.url
    const onread = { buffer: Buffer.allocUnsafe(16_384), callback: this.#heard }
    const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread }, () =>
      this.#server.freed(this),
    )
    socket.on('error', () => undefined).on('close', this.#closed)
    this.#socket = socket
  }

  ask(n: number, dueMs: number): void {
    this.#asked = this.#server.draw()
    this.#n = n
    this.#dueMs = dueMs
    this.#socket?.write(this.#asked.text, 'latin1')
    worked = true
  }

  readonly #heard = (length: number, buffer: Uint8Array): boolean => {
    const asked = this.#asked
    if (asked === undefined) return true
    const fresh = Buffer.from(buffer.buffer, buffer.byteOffset, length)
    const bytes = this.#held.length === 0 ? fresh : Buffer.concat([this.#held, fresh])
    const answer = answerIn(bytes, asked.isHead)
    if (answer === undefined) {
      this.#held = Buffer.from(bytes)
      return true
    }
    if (this.#held.length > 0) this.#held = Buffer.alloc(0)
    this.#asked = undefined
    worked = true
    this.#server.answered(this.#n, performance.now() - this.#dueMs, answer.status === asked.status)
    if (!this.#server.closes) this.#server.freed(this)
    return true
  }

  readonly #closed = (): void => {
    if (this.#asked !== undefined && !over) this.#server.lost()
    this.#asked = undefined
    // Not at once: a server that refuses is not asked as fast as this process can.
    if (this.#server.closes) this.#open()
    else setTimeout(() => this.#open(), 10)
  }

  end(): void {
    this.#socket?.destroy()
  }
}

/** Who is asked, in its part of the time, and what it answered. */
class Server {
  readonly url: URL
  readonly draw: () => Asked
  readonly closes: boolean
  readonly #position: number
  readonly #latencies = new Latencies()
  readonly #bySlice = Array.from({ length: slices }, () => new Latencies())
  readonly #callers: Caller[]
  /** Used in turn: a server may end a connection that has asked for nothing in ten seconds. */
  readonly #free: Caller[] = []
  #next = 0
  #done = 0
  #failed = 0
  /** Without a rate: it is asked now. */
  #isTurn = false

  constructor({ url, load }: Order['servers'][number], position: number) {
    this.url = new URL(url)
    this.draw = requestsOf(load, this.url.host, Math.floor(Math.random() * 2 ** 31))
    this.closes = load.closes === true
    this.#position = position
    this.#callers = Array.from({ length: connections }, () => new Caller(this))
  }

  freed(caller: Caller): void {
    if (rate !== undefined || !this.#isTurn) this.#free.push(caller)
    else if (!over) caller.ask(0, performance.now())
  }

  set isTurn(isTurn: boolean) {
    this.#isTurn = isTurn
    if (!isTurn) return
    for (const caller of this.#free.splice(0)) caller.ask(0, performance.now())
  }

  /** What is due. */
  send(rate: number, nowMs: number): void {
    while (this.#next < total && this.#free.length > 0) {
      const slice = Math.floor(this.#next / perSlice) * servers.length + this.#position
      const dueMs = beganMs + slice * sliceMs + ((this.#next % perSlice) * 1000) / rate
      if (dueMs > nowMs) return
      ;(this.#free.shift() as Caller).ask(this.#next++, dueMs)
    }
  }

  answered(n: number, ms: number, good: boolean): void {
    if (over) return
    this.#done++
    if (!good) this.#failed++
    const slice = Math.floor(n / perSlice) - settling
    if (slice < 0) return
    this.#latencies.add(ms)
    this.#bySlice[slice]?.add(ms)
  }

  lost(): void {
    this.#done++
    this.#failed++
  }

  get isOpen(): boolean {
    return this.#free.length === connections
  }

  get isDone(): boolean {
    return this.#done >= total
  }

  end(seconds: number): Driven {
    for (const caller of this.#callers) caller.end()
    const [p50Ms, p99Ms, p999Ms, maxMs] = [0.5, 0.99, 0.999, 1].map((share) => this.#latencies.quantile(share)) as [number, number, number, number] // prettier-ignore
    const p99BySlice = this.#bySlice.map((slice) => slice.quantile(0.99))
    // What was due and never answered is a failure too.
    const failed = this.#failed + (rate === undefined ? 0 : total - this.#done)
    return { requests: this.#latencies.count, seconds, failed, p50Ms, p99Ms, p999Ms, maxMs, p99BySlice }
  }
}

const all = servers.map((server, position) => new Server(server, position))

function finish(seconds: number): void {
  over = true
  const seen: DriverResult = {
    servers: all.map((server) => server.end(seconds)),
    generatorBusy: 1 - idleMs / (performance.now() - beganMs),
  }
  console.log(JSON.stringify(seen))
}

/** Turns all the time: a timer is a millisecond late, which is what is to be measured. */
function turn(rate: number, turnedMs: number): void {
  const nowMs = performance.now()
  if (!worked) idleMs += nowMs - turnedMs
  worked = false
  for (const server of all) server.send(rate, nowMs)
  const lastMs = beganMs + (settling + slices) * servers.length * sliceMs + 2000
  if (nowMs < lastMs && all.some(({ isDone }) => !isDone)) setImmediate(turn, rate, nowMs)
  else finish((slices * sliceMs) / 1000)
}

/** Slice by slice: who is asked next, as soon as its turn begins. */
function takeTurns(n: number): void {
  for (const [position, server] of all.entries()) server.isTurn = n < slices * all.length && position === n % all.length
  if (n < slices * all.length) setTimeout(takeTurns, sliceMs, n + 1)
  else finish((performance.now() - beganMs) / 1000 / all.length)
}

if (rate === undefined) takeTurns(0)
else {
  while (all.some(({ isOpen }) => !isOpen)) await new Promise(setImmediate)
  beganMs = performance.now()
  turn(rate, beganMs)
}
