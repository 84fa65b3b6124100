// The only importer of opossum. The rule is the seed's: more than N failures within a window open the breaker.
// opossum's own rule is a percentage, so it is silenced (volumeThreshold) and opossum keeps the states and the clock.
//
//   closed ──(more than N failures in the window)──▶ open ──(openMs)──▶ half open ──(one trial succeeds)──▶ closed
//                                                      ▲                    └──────(it fails)──────┐
//                                                      └───────────────────────────────────────────┘
//
// While closed, calls do not pass through opossum at all: a success that began before the breaker opened can then not
// close it, and the hot path does not pay for opossum's statistics. Failures that overlap in time are one stall and
// count once: a pause of 60 ms under load is not an outage.
import CircuitBreaker from 'opossum'

export type BreakerState = 'closed' | 'open' | 'half_open'

export class BreakerOpen extends Error {
  override readonly name = 'BreakerOpen'
}

export interface BreakerOptions {
  readonly failures: number
  readonly windowMs: number
  readonly openMs: number
  readonly onState?: (state: BreakerState) => void
  readonly nowMs?: () => number
}

export class Breaker {
  readonly #circuit: CircuitBreaker<[() => Promise<unknown>]>
  readonly #options: BreakerOptions
  readonly #nowMs: () => number
  #failedAtMs: number[] = []
  #countedAtMs = -Infinity
  #openings = 0

  constructor(options: BreakerOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#circuit = new CircuitBreaker((call: () => Promise<unknown>) => call(), {
      timeout: false,
      resetTimeout: options.openMs,
      volumeThreshold: Number.MAX_SAFE_INTEGER,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
    })
    this.#circuit.on('open', () => options.onState?.('open'))
    this.#circuit.on('halfOpen', () => options.onState?.('half_open'))
    this.#circuit.on('close', () => {
      this.#failedAtMs = []
      options.onState?.('closed')
    })
  }

  get state(): BreakerState {
    return this.#circuit.closed ? 'closed' : this.#circuit.halfOpen ? 'half_open' : 'open'
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    if (!this.#circuit.closed) return this.#trial(call)
    const openings = this.#openings
    const beganMs = this.#nowMs()
    try {
      return await call()
    } catch (error) {
      if (openings === this.#openings) this.#failed(beganMs)
      throw error
    }
  }

  /** Ends its timers, for the end of the process. */
  shutdown(): void {
    this.#circuit.shutdown()
  }

  async #trial<T>(call: () => Promise<T>): Promise<T> {
    try {
      return (await this.#circuit.fire(call)) as T
    } catch (error) {
      if (CircuitBreaker.isOurError(error as Error)) throw new BreakerOpen('the breaker is open')
      throw error
    }
  }

  #failed(beganMs: number): void {
    const sameStall = beganMs < this.#countedAtMs
    const nowMs = this.#nowMs()
    if (sameStall) return
    this.#countedAtMs = nowMs
    this.#failedAtMs = this.#failedAtMs.filter((atMs) => nowMs - atMs < this.#options.windowMs)
    this.#failedAtMs.push(nowMs)
    if (this.#failedAtMs.length <= this.#options.failures) return
    this.#openings++
    this.#circuit.open()
  }
}
