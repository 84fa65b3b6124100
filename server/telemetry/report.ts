// What a process tells its primary: its metrics and its status, in slices. Between two slices the event loop turns, so that a
// scrape does not hold up the redirects however many samples there are.
import { setImmediate } from 'node:timers/promises'
import type { Counter, Registry } from 'prom-client'

/** As prom-client's `get` says it, and its `aggregate` takes it. */
export type MetricData = Awaited<ReturnType<Counter['get']>>
export type Status = Readonly<Record<string, unknown>>

/** A report is complete with the slice that carries the status. */
export interface ReportSlice {
  readonly type: 'report'
  /** The first of a report: what came of an earlier one, which failed, is void. */
  readonly first: boolean
  /** One with many samples comes in several parts, under the same name. */
  readonly metrics: readonly MetricData[]
  /** The request it answers; without one, the process reports by itself. */
  readonly request?: number
  readonly status?: Status
}

/** Fewer than twice as many samples are in a slice: a fraction of a millisecond, and two before the code is compiled. */
const sliceSamples = 100

export class Reporter {
  readonly #registry: Registry
  readonly #status: () => Status
  readonly #send: (slice: ReportSlice) => Promise<void>
  #last: Promise<void> = Promise.resolve()

  constructor(registry: Registry, status: () => Status, send: (slice: ReportSlice) => Promise<void>) {
    this.#registry = registry
    this.#status = status
    this.#send = send
  }

  /** One after the other: slices of two reports would mix. */
  report(request?: number): Promise<void> {
    const report = this.#last.then(() => this.#report(request === undefined ? {} : { request }))
    this.#last = report.catch(() => undefined)
    return report
  }

  async #report(request: Pick<ReportSlice, 'request'>): Promise<void> {
    let metrics: MetricData[] = []
    let samples = 0
    let first = true
    for (const metric of this.#registry.getMetricsAsArray() as unknown as Pick<Counter, 'get'>[]) {
      const data = await metric.get()
      if (data.aggregator === 'omit') continue
      // Nothing was observed: there is no number to tell.
      const values = data.values.filter(({ value }) => Number.isFinite(value))
      for (let from = 0; from === 0 || from < values.length; from += sliceSamples) {
        const part = values.slice(from, from + sliceSamples)
        metrics.push({ ...data, values: part })
        samples += part.length
        if (samples < sliceSamples) continue
        await this.#send({ type: 'report', ...request, first, metrics })
        await setImmediate()
        metrics = []
        samples = 0
        first = false
      }
    }
    await this.#send({ type: 'report', ...request, first, metrics, status: this.#status() })
  }
}
