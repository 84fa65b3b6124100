// One counter per server, not per worker: it lives in the primary process, and workers ask it.
import { type Count, type Counter, type Held } from './counters.ts'

type Verb = keyof Count
type Args<V extends Verb> = Parameters<Count[V]>
type Answer<V extends Verb> = Awaited<ReturnType<Count[V]>>

/** What is counted: what tenants write, and passwords that are tried. */
export type Desk = 'rates' | 'guesses'

/** What a worker asks. */
export interface CounterQuestion {
  readonly type: 'count'
  readonly desk: Desk
  readonly request: number
  readonly verb: Verb
  readonly args: Args<Verb>
}

export interface CounterAnswer {
  readonly type: 'counted'
  readonly desk: Desk
  readonly request: number
  readonly answer: Answer<Verb>
}

/** In the primary process. */
export function createCounterDesk(
  counts: Readonly<Record<Desk, Count>>,
): (question: CounterQuestion) => Promise<CounterAnswer> {
  return async ({ desk, request, verb, args }) => {
    const ask = counts[desk][verb] as (...args: Args<Verb>) => Promise<Answer<Verb>>
    return { type: 'counted', desk, request, answer: await ask(...args) }
  }
}

interface Waiting {
  readonly resolve: (answer: Answer<Verb>) => void
  readonly timer: NodeJS.Timeout
}

/** In a worker. Rejects when the primary does not answer in time. */
export class PrimaryCounters implements Count {
  readonly #tell: (question: CounterQuestion) => void
  readonly #patienceMs: number
  readonly #desk: Desk
  readonly #waiting = new Map<number, Waiting>()
  #requests = 0

  constructor(tell: (question: CounterQuestion) => void, patienceMs: number, desk: Desk) {
    this.#tell = tell
    this.#desk = desk
    this.#patienceMs = patienceMs
  }

  heard({ request, answer }: CounterAnswer): void {
    const waiting = this.#waiting.get(request)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(request)
    waiting?.resolve(answer)
  }

  take = (counters: readonly Counter[], units: number): ReturnType<Count['take']> => this.#ask('take', counters, units)
  giveBack = (key: string, units: number): Promise<unknown> => this.#ask('giveBack', key, units)
  read = (key: string): Promise<Held> => this.#ask('read', key)

  #ask<V extends Verb>(verb: V, ...args: Args<V>): Promise<Answer<V>> {
    const request = ++this.#requests
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(request)
        reject(new Error(`the primary process did not answer within ${this.#patienceMs} ms`))
      }, this.#patienceMs)
      this.#waiting.set(request, { resolve: resolve as Waiting['resolve'], timer })
      this.#tell({ type: 'count', desk: this.#desk, request, verb, args })
    })
  }
}
