// The only importer of opossum. The rule is the seed's: more than N failures within a window open the breaker.
// opossum's own rule is a percentage, so it is silenced (volumeThreshold); opossum keeps the states and the clock.
//
//   closed ──(more than N failures in the window)──▶ open ──(openMs)──▶ half open ──(one trial succeeds)──▶ closed
//                                                      ▲                    └──────(it fails)──────┐
//                                                      └───────────────────────────────────────────┘
//
// In opossum whatever ends while it is half open is taken for the trial, also a call that began before it opened. So a
// breaker opens as a new circuit: what was under way in the old one ends without a say. Failures that overlap in time are
// one stall and count once: a pause of 60 ms under load is not an outage.
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
  /** Errors that are answers: they do not count. */
  readonly isAnswer?: (error: unknown) => boolean
  readonly nowMs?: () => number
}

type Circuit = CircuitBreaker<[() => Promise<unknown>]>

export class Breaker {
  readonly #options: BreakerOptions
  readonly #nowMs: () => number
  #circuit: Circuit
  #failedAtMs: number[] = []
  #countedAtMs = -Infinity

  constructor(options: BreakerOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#circuit = this.#newCircuit()
  }

  get state(): BreakerState {
    return this.#circuit.closed ? 'closed' : this.#circuit.halfOpen ? 'half_open' : 'open'
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    const circuit = this.#circuit
    const beganMs = this.#nowMs()
    try {
      return (await circuit.fire(call)) as T
    } catch (error) {
      if (CircuitBreaker.isOurError(error as Error)) throw new BreakerOpen('the breaker is open')
      // A trial that fails is opossum's own affair.
      const isAnswer = this.#options.isAnswer?.(error) === true
      if (circuit === this.#circuit && circuit.closed && !isAnswer) this.#failed(beganMs)
      throw error
    }
  }

  /** Ends its timers, for the end of the process. */
  shutdown(): void {
    this.#circuit.shutdown()
  }

  #newCircuit(): Circuit {
    const { openMs, onState, isAnswer } = this.#options
    const circuit: Circuit = new CircuitBreaker((call: () => Promise<unknown>) => call(), {
      timeout: false,
      resetTimeout: openMs,
      volumeThreshold: Number.MAX_SAFE_INTEGER,
      rollingPercentilesEnabled: false,
      enableSnapshots: false,
      ...(isAnswer ? { errorFilter: isAnswer } : {}),
    })
    circuit.on('open', () => onState?.('open'))
    circuit.on('halfOpen', () => onState?.('half_open'))
    circuit.on('close', () => onState?.('closed'))
    return circuit
  }

  #failed(beganMs: number): void {
    const sameStall = beganMs < this.#countedAtMs
    const nowMs = this.#nowMs()
    if (sameStall) return
    this.#countedAtMs = nowMs
    this.#failedAtMs = this.#failedAtMs.filter((atMs) => nowMs - atMs < this.#options.windowMs)
    this.#failedAtMs.push(nowMs)
    if (this.#failedAtMs.length <= this.#options.failures) return
    this.#failedAtMs = []
    this.#circuit.shutdown()
    this.#circuit = this.#newCircuit()
    this.#circuit.open()
  }
}
