// Time that only moves when a model says so. What runs in it keeps its timers, clocks and dice; they are these: one event
// at a time, all microtasks in between. A run is decided by its seed alone, so whatever would let the machine decide is an
// error of the run: a real timer, however it was come by, a clock that is not replaced, a socket, a file.
import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

interface Event {
  readonly atMs: number
  readonly order: number
  run: (() => void) | undefined
}

/** What Date.now() says at the beginning of a run. */
export const epochMs = Date.UTC(2030, 0, 1)

const running = new AsyncLocalStorage<VirtualTime>()
const realImmediate = globalThis.setImmediate

export class VirtualTime {
  nowMs = 0
  readonly random: () => number
  /** What has happened, in order: two runs of the same seed have the same. */
  readonly trace: string[] = []
  #order = 0
  #events: Event[] = []
  #intruder: Error | undefined
  /** Real questions that are not answered yet. */
  #asking = 0

  constructor(seed: number) {
    this.random = random(seed)
  }

  /** The body, and all that it starts, live in this time. The rest of the process keeps its own. */
  run<T>(body: () => Promise<T>): Promise<T> {
    install()
    return running.run(this, async () => {
      const result = await body()
      this.#check()
      return result
    })
  }

  at(atMs: number, run: () => void): Event {
    const event: Event = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run }
    let i = this.#events.length
    while (i > 0 && later(this.#events[i - 1] as Event, event)) i--
    this.#events.splice(i, 0, event)
    return event
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(this.nowMs + ms, resolve))
  }

  /** A question to a real server: time stands still until it is answered, so that it takes none. */
  async outside<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking++
    try {
      return await running.exit(ask)
    } finally {
      this.#asking--
    }
  }

  note(what: string): void {
    this.trace.push(`${this.nowMs} ${what}`)
  }

  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      do await new Promise((resolve) => running.exit(() => realImmediate(resolve)))
      while (this.#asking > 0)
      this.#check()
      const next = this.#events[0]
      if (next === undefined || next.atMs > endMs) break
      this.#events.shift()
      this.nowMs = next.atMs
      if (next.run === undefined) continue
      this.note(`event ${next.order}`)
      next.run()
    }
    this.nowMs = endMs
  }

  /** Kept as well as thrown: the code under test may well catch what is thrown. */
  refuse(what: string): Error {
    return (this.#intruder ??= new Error(`${what} in virtual time`))
  }

  #check(): void {
    if (this.#intruder) throw this.#intruder
  }
}

const later = (a: Event, b: Event): boolean => a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order)

const startTimer = (time: VirtualTime, run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
  const event = time.at(time.nowMs + Math.max(0, ms), () => run(...args))
  return Object.assign(event, { unref: () => event })
}

const startInterval = (time: VirtualTime, run: (...args: unknown[]) => void, ms = 1, ...args: unknown[]) => {
  const everyMs = Math.max(1, ms)
  const timer = { next: undefined as Event | undefined, run: undefined, unref: () => timer }
  const again = (): void => {
    timer.next = time.at(time.nowMs + everyMs, () => {
      again()
      run(...args)
    })
  }
  again()
  return timer
}

const stopTimer = (_: VirtualTime, timer: (Partial<Event> & { next?: Event | undefined }) | null | undefined): void => {
  if (timer) timer.run = undefined
  if (timer?.next) timer.next.run = undefined
}

// Real ones are made by the event loop's own hands, whoever asks for them: `node:timers`, `node:timers/promises`, a
// reference kept from before, AbortSignal.timeout. The same holds for sockets and files.
const withoutEventLoop = new Set(['PROMISE', 'TickObject', 'Microtask'])

type Replace = (time: VirtualTime, ...args: never[]) => unknown

/** In virtual time another function, outside the same one. */
function replace(owner: object, name: string, by: Replace): void {
  const real = Reflect.get(owner, name) as (...args: unknown[]) => unknown
  const instead = new Proxy(real, {
    apply(target, self, args) {
      const time = running.getStore()
      return time ? by(time, ...(args as never[])) : Reflect.apply(target, self, args)
    },
  })
  Object.defineProperty(owner, name, { value: instead, configurable: true, writable: true })
}

const refused =
  (what: string): Replace =>
  (time) => {
    throw time.refuse(what)
  }

let installed = false

function install(): void {
  if (installed) return
  installed = true
  createHook({
    trackPromises: false,
    init(_id, type) {
      if (!withoutEventLoop.has(type)) running.getStore()?.refuse(`a real ${type}`)
    },
  }).enable()

  replace(globalThis, 'setTimeout', startTimer)
  replace(globalThis, 'setInterval', startInterval)
  replace(globalThis, 'setImmediate', (time, run: () => void, ...args: unknown[]) => startTimer(time, run, 0, ...args))
  for (const stop of ['clearTimeout', 'clearInterval', 'clearImmediate']) replace(globalThis, stop, stopTimer)
  replace(performance, 'now', (time) => time.nowMs)
  replace(Date, 'now', (time) => epochMs + time.nowMs)
  replace(globalThis, 'Date', refused('Date()'))
  globalThis.Date = new Proxy(Date, {
    construct(target, args, newTarget) {
      if (args.length === 0) args.push(Date.now())
      return Reflect.construct(target, args, newTarget) as Date
    },
  })

  replace(process.hrtime, 'bigint', refused('process.hrtime.bigint()'))
  replace(process, 'hrtime', refused('process.hrtime()'))
  replace(process, 'uptime', refused('process.uptime()'))
  replace(Math, 'random', (time) => time.random())
  syncBuiltinESMExports()
}

/** A small generator of its own (mulberry32): fast-check gives the seed, so that a run replays. */
function random(seed: number): () => number {
  let a = seed | 0
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
