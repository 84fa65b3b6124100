// Time that only moves when the model says so. The code under test keeps its timers and clocks; they are these.
// One event at a time, all microtasks in between: a run is decided by its seed alone.

interface Event {
  readonly atMs: number
  readonly order: number
  run: (() => void) | undefined
}

const realImmediate = globalThis.setImmediate

export class VirtualTime {
  nowMs = 0
  #order = 0
  #events: Event[] = []

  at(atMs: number, run: () => void): Event {
    const event: Event = { atMs: Math.max(atMs, this.nowMs), order: this.#order++, run }
    let i = this.#events.length
    while (i > 0 && later(this.#events[i - 1] as Event, event)) i--
    this.#events.splice(i, 0, event)
    return event
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.at(this.nowMs + ms, resolve)
    })
  }

  async runUntil(endMs: number): Promise<void> {
    for (;;) {
      await new Promise((resolve) => realImmediate(resolve))
      const next = this.#events[0]
      if (next === undefined || next.atMs > endMs) break
      this.#events.shift()
      this.nowMs = next.atMs
      next.run?.()
    }
    this.nowMs = endMs
  }

  /** Replaces the timers and clocks of this realm; gives back what undoes it. */
  install(): () => void {
    const { setTimeout, clearTimeout, setImmediate, setInterval, clearInterval } = globalThis
    const dateNow = Date.now
    const performanceNow = performance.now.bind(performance)
    const start = (run: () => void, ms = 0): unknown => {
      const event = this.at(this.nowMs + Math.max(0, ms), run)
      return Object.assign(event, { unref: () => event })
    }
    const stop = (event: Event | undefined): void => {
      if (event) event.run = undefined
    }
    Object.assign(globalThis, {
      setTimeout: start,
      clearTimeout: stop,
      setImmediate: (run: () => void) => start(run, 0),
      setInterval: () => ({ unref: () => undefined }),
      clearInterval: () => undefined,
    })
    Date.now = () => epochMs + this.nowMs
    performance.now = () => this.nowMs
    return () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, setImmediate, setInterval, clearInterval })
      Date.now = dateNow
      performance.now = performanceNow
    }
  }
}

/** What Date.now() says at the beginning of a run. */
export const epochMs = Date.UTC(2030, 0, 1)

const later = (a: Event, b: Event): boolean => a.atMs > b.atMs || (a.atMs === b.atMs && a.order > b.order)

/** A small generator of its own (mulberry32): fast-check gives the seed, so that a run replays. */
export function random(seed: number): () => number {
  let a = seed | 0
  return () => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
