// A worker asks its primary how the server is: only the primary knows of all workers.
import type { Figures } from './figures.ts'
import type { HealthReport } from '../telemetry/health.ts'
import type { Phase } from '../telemetry/ops-server.ts'

export interface SystemReport extends Figures {
  readonly uptimeS: number
  readonly phase: Phase
  readonly health: HealthReport
}

export interface SystemQuestion {
  readonly type: 'how-is-all'
}

export interface SystemAnswer {
  readonly type: 'so-is-all'
  readonly report: SystemReport
}

export class SystemChannel {
  readonly #tell: (question: SystemQuestion) => void
  readonly #patienceMs: number
  /** Askers of the same moment share one answer. */
  #asked: (PromiseWithResolvers<SystemReport> & { timer: NodeJS.Timeout }) | undefined

  constructor(tell: (question: SystemQuestion) => void, patienceMs: number) {
    this.#tell = tell
    this.#patienceMs = patienceMs
  }

  /** Rejects when the primary does not answer in time. */
  ask = (): Promise<SystemReport> => {
    if (this.#asked) return this.#asked.promise
    const late = (): void => {
      const asked = this.#asked
      this.#asked = undefined
      asked?.reject(new Error(`the primary process did not answer within ${this.#patienceMs} ms`))
    }
    this.#asked = { ...Promise.withResolvers<SystemReport>(), timer: setTimeout(late, this.#patienceMs) }
    this.#tell({ type: 'how-is-all' })
    return this.#asked.promise
  }

  heard({ report }: SystemAnswer): void {
    clearTimeout(this.#asked?.timer)
    this.#asked?.resolve(report)
    this.#asked = undefined
  }
}
