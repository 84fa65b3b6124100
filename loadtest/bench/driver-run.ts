// One process of the closed loop: `node closed-loop-run.ts <order>`; prints what it has seen as JSON.
import { connect, type Socket } from 'node:net'
import type { ClosedLoopOrder, Driven } from './driver.ts'
import { Latencies } from '../measure/stats.ts'
import { answerIn, requestsOf, type Asked } from './loads.ts'

const { url, load, seconds, connections } = JSON.parse(process.argv[2] ?? '') as ClosedLoopOrder
const { host, hostname, port } = new URL(url)
const draw = requestsOf(load, host, Math.floor(Math.random() * 2 ** 31))

const latencies = new Latencies()
let answered = 0
let failed = 0
let ending = false

/** A connection at a time; where the answer ends it, the next request opens another. */
class Caller {
  #socket: Socket | undefined
  #asked: Asked | undefined
  #sentMs = 0
  /** Of an answer that did not come whole. */
  #held = Buffer.alloc(0)

  open(): void {
    if (ending) return
    this.#held = Buffer.alloc(0)
    const onread = { buffer: Buffer.allocUnsafe(16_384), callback: this.#heard }
    const socket = connect({ port: Number(port), host: hostname, noDelay: true, onread }, this.#ask)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      if (socket === this.#socket) this.#closed()
    })
    this.#socket = socket
  }

  end(): void {
    this.#socket?.destroy()
  }

  readonly #ask = (): void => {
    this.#asked = draw()
    this.#sentMs = performance.now()
    this.#socket?.write(this.#asked.text, 'latin1')
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
    if (ending) return true
    latencies.add(performance.now() - this.#sentMs)
    answered++
    if (answer.status !== asked.status) failed++
    if (load.closes !== true) this.#ask()
    return true
  }

  #closed(): void {
    if (this.#asked !== undefined && !ending) failed++
    this.#asked = undefined
    // Not at once: a server that refuses is not asked as fast as this process can.
    if (load.closes === true) this.open()
    else setTimeout(() => { this.open() }, 10) // prettier-ignore
  }
}

const callers = Array.from({ length: connections }, () => new Caller())
const beganMs = performance.now()
for (const caller of callers) caller.open()

setTimeout(() => {
  ending = true
  const driven: Driven = {
    requests: answered,
    seconds: (performance.now() - beganMs) / 1000,
    failed,
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
    p999Ms: latencies.quantile(0.999),
  }
  console.log(JSON.stringify(driven))
  for (const caller of callers) caller.end()
}, seconds * 1000)
