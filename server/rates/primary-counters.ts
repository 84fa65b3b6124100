// One counter per server, not per worker: it lives in the primary process, and workers ask it.
import { granted, memoryCounters, type Counters, type Held, type Taken } from './counters.ts'

/** What a worker asks; `limit` is there for 'take' only. */
export interface CounterQuestion {
  readonly type: 'count'
  readonly request: number
  readonly verb: 'take' | 'giveBack' | 'read'
  readonly key: string
  readonly limit?: number
}

export interface CounterAnswer {
  readonly type: 'counted'
  readonly request: number
  readonly held: Held & { readonly granted?: boolean }
}

/** In the primary process. */
export function createCounterDesk(windowS: number): (question: CounterQuestion) => Promise<CounterAnswer> {
  const counters = memoryCounters(windowS)
  return async ({ request, verb, key, limit = 0 }) => {
    const answer = (held: CounterAnswer['held']): CounterAnswer => ({ type: 'counted', request, held })
    if (verb === 'take') {
      const { granted, used, endsInMs } = await counters.take(key, limit)
      return answer({ granted, used, endsInMs })
    }
    if (verb === 'giveBack') await counters.giveBack(key)
    return answer(await counters.read(key))
  }
}

interface Waiting {
  readonly resolve: (held: CounterAnswer['held']) => void
  readonly timer: NodeJS.Timeout
}

/** In a worker. Rejects when the primary does not answer in time. */
export class PrimaryCounters implements Counters {
  readonly #tell: (question: CounterQuestion) => void
  readonly #patienceMs: number
  readonly #waiting = new Map<number, Waiting>()
  #requests = 0

  constructor(tell: (question: CounterQuestion) => void, patienceMs: number) {
    this.#tell = tell
    this.#patienceMs = patienceMs
  }

  heard({ request, held }: CounterAnswer): void {
    const waiting = this.#waiting.get(request)
    clearTimeout(waiting?.timer)
    this.#waiting.delete(request)
    waiting?.resolve(held)
  }

  async take(key: string, limit: number): Promise<Taken> {
    const { granted: yes = false, ...held } = await this.#ask({ verb: 'take', key, limit })
    return yes
      ? granted(held, () => this.#ask({ verb: 'giveBack', key }))
      : { ...held, granted: false, giveBack: () => Promise.resolve() }
  }

  read(key: string): Promise<Held> {
    return this.#ask({ verb: 'read', key })
  }

  #ask(question: Pick<CounterQuestion, 'verb' | 'key' | 'limit'>): Promise<CounterAnswer['held']> {
    const request = ++this.#requests
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(request)
        reject(new Error(`the primary process did not answer within ${this.#patienceMs} ms`))
      }, this.#patienceMs)
      this.#waiting.set(request, { resolve, timer })
      this.#tell({ type: 'count', request, ...question })
    })
  }
}
