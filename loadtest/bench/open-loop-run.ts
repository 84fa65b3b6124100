// A schedule that no answer can delay: each request is due at a time of its own, and waits for a free connection if there
// is none. Several servers take turns, a slice of time each, so that what the machine does meanwhile it does to all.
import { connect, type Socket } from 'node:net'
import type { OpenLoopAnswer, OpenLoopOrder } from './open-loop.ts'
import { Latencies } from '../measure/stats.ts'

const { servers, rate, slices, sliceMs, connections } = JSON.parse(process.argv[2] ?? '') as OpenLoopOrder
/** Not counted: connections open, the schedule settles. */
const settling = 4
const perSlice = Math.round((rate * sliceMs) / 1000)
const total = perSlice * (settling + slices)
const firstCounted = perSlice * settling

/** Time in which there was nothing to send and nothing to hear. */
let idleMs = 0
let worked = false

class Caller {
  readonly #turn: Turn
  readonly #socket: Socket
  #n = 0
  #dueMs = 0
  #waiting = false

  constructor(turn: Turn, port: number, onConnect: () => void) {
    this.#turn = turn
    this.#socket = connect(
      // One buffer for all that is read: nothing of an answer is kept.
      { port, host: '127.0.0.1', noDelay: true, onread: { buffer: Buffer.allocUnsafe(8192), callback: this.#heard } },
      onConnect,
    )
    this.#socket.on('close', this.#lost).on('error', () => undefined)
  }

  send(n: number, dueMs: number, request: string): void {
    this.#n = n
    this.#dueMs = dueMs
    this.#waiting = true
    this.#socket.write(request, 'latin1')
  }

  /** Answers have no body and arrive whole. */
  readonly #heard = (length: number, bytes: Uint8Array): boolean => {
    this.#waiting = false
    worked = true
    // The first digit of the status.
    this.#turn.answered(this, this.#n, performance.now() - this.#dueMs, length >= 12 && bytes[9] === 0x33)
    return true
  }

  readonly #lost = (): void => {
    if (this.#waiting) this.#turn.lost()
  }

  end(): void {
    this.#socket.destroy()
  }
}

/** One of the servers, and its part of the time. */
class Turn {
  readonly #position: number
  readonly #request: string
  readonly #port: number
  readonly #latencies = new Latencies()
  readonly #bySlice = Array.from({ length: slices }, () => new Latencies())
  readonly #callers: Caller[] = []
  /** Used in turn: a server may end a connection that has asked for nothing in ten seconds. */
  readonly #free: Caller[] = []
  #next = 0
  #done = 0
  #failed = 0
  #longestMs = 0

  constructor({ port, request }: OpenLoopOrder['servers'][number], position: number) {
    this.#port = port
    this.#request = request
    this.#position = position
  }

  open(): Promise<void> {
    return new Promise((resolve) => {
      for (let n = 0; n < connections; n++) {
        const caller = new Caller(this, this.#port, () => {
          this.#free.push(caller)
          if (this.#free.length === connections) resolve()
        })
        this.#callers.push(caller)
      }
    })
  }

  #dueMs(n: number): number {
    const slice = Math.floor(n / perSlice) * servers.length + this.#position
    return beganMs + slice * sliceMs + ((n % perSlice) * 1000) / rate
  }

  /** What is due. */
  send(nowMs: number): void {
    while (this.#next < total && this.#free.length > 0) {
      const dueMs = this.#dueMs(this.#next)
      if (dueMs > nowMs) return
      ;(this.#free.shift() as Caller).send(this.#next, dueMs, this.#request)
      this.#next++
      worked = true
    }
  }

  answered(caller: Caller, n: number, ms: number, good: boolean): void {
    this.#done++
    this.#free.push(caller)
    if (!good) this.#failed++
    if (n < firstCounted) return
    this.#latencies.add(ms)
    this.#bySlice[Math.floor((n - firstCounted) / perSlice)]?.add(ms)
    if (ms > this.#longestMs) this.#longestMs = ms
  }

  lost(): void {
    this.#done++
    this.#failed++
  }

  get isDone(): boolean {
    return this.#done >= total
  }

  end(): OpenLoopAnswer['servers'][number] {
    for (const caller of this.#callers) caller.end()
    return {
      achieved: this.#latencies.count / ((slices * sliceMs) / 1000),
      p50Ms: this.#latencies.quantile(0.5),
      p99Ms: this.#latencies.quantile(0.99),
      p99BySlice: this.#bySlice.map((slice) => slice.quantile(0.99)),
      p999Ms: this.#latencies.quantile(0.999),
      maxMs: this.#longestMs,
      // What was never answered is a failure too.
      failed: this.#failed + (total - this.#done),
    }
  }
}

const turns = servers.map((server, position) => new Turn(server, position))
await Promise.all(turns.map((turn) => turn.open()))
const beganMs = performance.now()
const endMs = beganMs + (settling + slices) * servers.length * sliceMs + 2000
let turnedMs = beganMs

/** Turns all the time: a timer is a millisecond late, which is what is to be measured. */
function turn(): void {
  const nowMs = performance.now()
  if (!worked) idleMs += nowMs - turnedMs
  turnedMs = nowMs
  worked = false
  for (const each of turns) each.send(nowMs)
  if (nowMs < endMs && turns.some(({ isDone }) => !isDone)) setImmediate(turn)
  else finish(nowMs)
}

function finish(nowMs: number): void {
  const generatorBusy = 1 - idleMs / (nowMs - beganMs)
  const answer: OpenLoopAnswer = { servers: turns.map((each) => each.end()), generatorBusy }
  console.log(JSON.stringify(answer))
}

turn()
