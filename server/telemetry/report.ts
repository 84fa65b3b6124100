// What a worker tells its primary: all of its samples and its status, as plain data, in slices. Between two slices the
// event loop turns, so that a scrape does not hold up the redirects however many samples there are.
import { setImmediate } from 'node:timers/promises'
import type { Registry } from 'prom-client'

export interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

export interface MetricData {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly aggregator: 'omit' | 'sum' | 'first' | 'min' | 'max' | 'average'
  readonly values: readonly Sample[]
}

export type Status = Readonly<Record<string, unknown>>

/** A report is complete with the slice that carries the status. Two reports of one worker may overlap. */
export interface ReportSlice {
  readonly type: 'report'
  readonly report: number
  /** The request it answers; without one, the worker reports by itself. */
  readonly request?: number
  readonly metrics: readonly MetricData[]
  readonly status?: Status
}

/** Samples in one slice: about half a millisecond of work. */
const sliceSamples = 500

async function dataOf(metric: unknown): Promise<MetricData> {
  return (metric as { get(): Promise<MetricData> }).get()
}

/** Every metric, in lists of at most `sliceSamples` samples; a metric with more is continued in the next list. */
async function* slices(registry: Registry): AsyncGenerator<MetricData[]> {
  let slice: MetricData[] = []
  let room = sliceSamples
  for (const metric of registry.getMetricsAsArray()) {
    const data = await dataOf(metric)
    for (let from = 0; from < data.values.length;) {
      const values = data.values.slice(from, from + room)
      slice.push({ name: data.name, help: data.help, type: data.type, aggregator: data.aggregator, values })
      from += values.length
      room -= values.length
      if (room > 0) continue
      yield slice
      slice = []
      room = sliceSamples
    }
  }
  yield slice
}

export interface Reporter {
  report(request?: number): Promise<void>
}

export function createReporter(
  registry: Registry,
  status: () => Status,
  send: (slice: ReportSlice) => Promise<void>,
): Reporter {
  let reports = 0
  return {
    async report(request) {
      const report = ++reports
      const head = { type: 'report' as const, report, ...(request === undefined ? {} : { request }) }
      for await (const metrics of slices(registry)) {
        await send({ ...head, metrics })
        await setImmediate()
      }
      await send({ ...head, metrics: [], status: status() })
    },
  }
}
