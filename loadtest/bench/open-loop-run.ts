// A schedule that no answer can delay: request n is due at n ÷ rate, and waits for a free connection if there is none.
import { connect, type Socket } from 'node:net'
import type { OpenLoopAnswer, OpenLoopOrder } from './open-loop.ts'
import { Latencies } from '../measure/stats.ts'

const { port, request, rate, seconds, connections } = JSON.parse(process.argv[2] ?? '') as OpenLoopOrder
/** Not counted: connections open, the schedule settles. */
const settleS = 1
const total = Math.round(rate * (settleS + seconds))
const firstCounted = Math.round(rate * settleS)

const latencies = new Latencies()
const bySecond = Array.from({ length: seconds }, () => new Latencies())
let failed = 0
let answered = 0
let longestMs = 0
/** Time in which there was nothing to send and nothing to hear. */
let idleMs = 0
let worked = false

class Caller {
  readonly #socket: Socket
  dueMs = 0
  counts = false
  waiting = false

  constructor(onConnect: () => void) {
    this.#socket = connect(
      // One buffer for all that is read: nothing of an answer is kept.
      { port, host: '127.0.0.1', noDelay: true, onread: { buffer: Buffer.allocUnsafe(8192), callback: this.#heard } },
      onConnect,
    )
    this.#socket.on('close', this.#lost).on('error', () => undefined)
  }

  send(dueMs: number, counts: boolean): void {
    this.dueMs = dueMs
    this.counts = counts
    this.waiting = true
    this.#socket.write(request, 'latin1')
  }

  /** Answers have no body and arrive whole. */
  readonly #heard = (length: number, bytes: Uint8Array): boolean => {
    this.waiting = false
    worked = true
    answered++
    if (this.counts) {
      const ms = performance.now() - this.dueMs
      latencies.add(ms)
      bySecond[Math.floor((this.dueMs - countedMs) / 1000)]?.add(ms)
      if (ms > longestMs) longestMs = ms
      // The first digit of the status.
      if (length < 12 || bytes[9] !== 0x33) failed++
    }
    free.push(this)
    return true
  }

  readonly #lost = (): void => {
    if (this.waiting) {
      failed++
      answered++
    }
  }

  end(): void {
    this.#socket.destroy()
  }
}

const free: Caller[] = []
const callers: Caller[] = []
await new Promise<void>((resolve) => {
  let open = 0
  for (let n = 0; n < connections; n++) {
    const caller = new Caller(() => {
      free.push(caller)
      if (++open === connections) resolve()
    })
    callers.push(caller)
  }
})

const beganMs = performance.now()
const countedMs = beganMs + settleS * 1000
const endMs = beganMs + (settleS + seconds) * 1000 + 2000
let next = 0
let turnedMs = beganMs

/** Turns all the time: a timer is a millisecond late, which is what is to be measured. */
function turn(): void {
  const nowMs = performance.now()
  if (!worked) idleMs += nowMs - turnedMs
  turnedMs = nowMs
  worked = false
  while (next < total && free.length > 0) {
    const dueMs = beganMs + (next * 1000) / rate
    if (dueMs > nowMs) break
    const counts = next >= firstCounted
    ;(free.pop() as Caller).send(dueMs, counts)
    next++
    worked = true
  }
  if (answered < total && nowMs < endMs) setImmediate(turn)
  else finish(nowMs)
}

function finish(nowMs: number): void {
  const answer: OpenLoopAnswer = {
    achieved: latencies.count / ((nowMs - countedMs) / 1000),
    p50Ms: latencies.quantile(0.5),
    p99Ms: latencies.quantile(0.99),
    p99BySecond: bySecond.map((second) => second.quantile(0.99)),
    p999Ms: latencies.quantile(0.999),
    maxMs: longestMs,
    // What was never answered is a failure too.
    failed: failed + (total - answered),
    generatorBusy: 1 - idleMs / (nowMs - beganMs),
  }
  console.log(JSON.stringify(answer))
  for (const caller of callers) caller.end()
}

turn()
