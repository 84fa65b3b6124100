// What a process tells its primary: its samples and its status, in slices. Between two slices the event loop turns, so
// that a scrape does not hold up the redirects however many samples there are. A series is named once, as it will stand
// on the page, and is a number from then on: names are most of what there is to say, and to throw away afterwards.
import { setImmediate } from 'node:timers/promises'
import { Registry, type Metric } from 'prom-client'

type Aggregator = 'omit' | 'sum' | 'first' | 'min' | 'max' | 'average'

interface Sample {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

interface MetricData {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly aggregator: Aggregator
  readonly values: readonly Sample[]
}

export type Status = Readonly<Record<string, unknown>>

/** Series of a metric that this process had not named before. They are numbered, over all, in the order of naming. */
export interface Named {
  readonly metric: string
  /** The lines that introduce the metric. */
  readonly head: string
  readonly aggregator: Exclude<Aggregator, 'omit'>
  /** It only ever grows, and so outlives its process. */
  readonly grows: boolean
  /** `name{label="value"}` */
  readonly series: readonly string[]
}

interface Reading {
  /** By number, and as many values. */
  readonly series: number[]
  readonly values: number[]
}

/** A report is complete with the slice that carries the status. */
export interface ReportSlice extends Reading {
  readonly type: 'report'
  readonly named: readonly Named[]
  /** The request it answers; without one, the process reports by itself. */
  readonly request?: number
  readonly status?: Status
}

/** Fewer than twice as many samples are in a slice: a fraction of a millisecond, and two before the code is compiled. */
const sliceSamples = 100

const empty = (): Reading => ({ series: [], values: [] })

export class Reporter {
  readonly #registry: Registry
  readonly #status: () => Status
  readonly #send: (slice: ReportSlice) => Promise<void>
  readonly #metrics = new Set<string>()
  readonly #numbers = new Map<string, number>()
  /** Goes with the next slice, also when the report that named them failed: all numbers count on it. */
  readonly #unsaid: Named[] = []
  #last: Promise<void> = Promise.resolve()

  constructor(registry: Registry, status: () => Status, send: (slice: ReportSlice) => Promise<void>) {
    this.#registry = registry
    this.#status = status
    this.#send = send
  }

  /** One after the other, because a number must not arrive before its name. */
  report(request?: number): Promise<void> {
    const report = this.#last.then(() => this.#report(request === undefined ? {} : { request }))
    this.#last = report.catch(() => undefined)
    return report
  }

  async #report(request: Pick<ReportSlice, 'request'>): Promise<void> {
    let reading = empty()
    for (const metric of this.#registry.getMetricsAsArray()) {
      const data = await (metric as unknown as { get(): Promise<MetricData> }).get()
      for (let from = 0; from === 0 || from < data.values.length; from += sliceSamples) {
        await this.#read(data, data.values.slice(from, from + sliceSamples), reading)
        if (reading.values.length < sliceSamples) continue
        await this.#send({ type: 'report', ...request, ...reading, named: this.#unsaid.splice(0) })
        await setImmediate()
        reading = empty()
      }
    }
    const status = this.#status()
    await this.#send({ type: 'report', ...request, ...reading, named: this.#unsaid.splice(0), status })
  }

  async #read(metric: MetricData, samples: readonly Sample[], into: Reading): Promise<void> {
    const { name, type, aggregator } = metric
    if (aggregator === 'omit') return
    const keys = samples.map((sample) => keyOf(name, sample))
    const fresh = samples.filter((_, i) => !this.#numbers.has(keys[i] as string))
    if (fresh.length > 0 || !this.#metrics.has(name)) {
      const { head, series } = await lines({ ...metric, values: fresh })
      const grows = type === 'counter' || type === 'histogram'
      this.#unsaid.push({ metric: name, head, aggregator, grows, series })
      for (const sample of fresh) this.#numbers.set(keyOf(name, sample), this.#numbers.size)
      this.#metrics.add(name)
    }
    samples.forEach(({ value }, i) => {
      // Nothing was observed: there is no number to tell.
      if (!Number.isFinite(value)) return
      into.series.push(this.#numbers.get(keys[i] as string) as number)
      into.values.push(value)
    })
  }
}

function keyOf(metric: string, { metricName = metric, labels }: Sample): string {
  let key = metricName
  for (const label in labels) key += `\0${label}\0${labels[label]}`
  return key
}

/** As prom-client writes them, without the values. */
async function lines(metric: MetricData): Promise<{ head: string; series: string[] }> {
  const values = metric.values.map((sample) => ({ ...sample, value: 0 }))
  const page = new Registry()
  page.registerMetric({ name: metric.name, get: () => Promise.resolve({ ...metric, values }) } as unknown as Metric)
  const [help, type, ...series] = (await page.metrics()).trimEnd().split('\n')
  return { head: `${help}\n${type}`, series: series.map((line) => line.slice(0, -' 0'.length)) }
}
