// Counters and histograms that the hot path can afford: a property or an array element is incremented, and prom-client
// hears of it only when somebody collects. Label values are listed beforehand: nothing a visitor sends can add a series.
import { Counter, Gauge, type Metric, type Registry } from 'prom-client'

type OneLabel = Readonly<Record<string, readonly string[]>>
export type LabelsOf<L extends OneLabel> = { readonly [K in keyof L]: L[K][number] }

/** `inc({ tier: 'redis' })` */
export interface LabelledTotal<L extends OneLabel> {
  inc(labels: LabelsOf<L>, by?: number): void
}
export interface Total {
  inc(by?: number): void
}
export interface LabelledHistogram<L extends OneLabel> {
  observe(labels: LabelsOf<L>, value: number): void
}
export interface Distribution {
  observe(value: number): void
}
export interface LabelledLevel<L extends OneLabel> {
  set(labels: LabelsOf<L>, value: number): void
}
export interface Level {
  set(value: number): void
}
/** How a gauge of many workers becomes one. */
type Merge = 'sum' | 'max'

/** One label's name and its values, from `{ tier: ['local', 'redis'] }`. */
function only(labels: OneLabel): [string, readonly string[]] {
  const [first, ...others] = Object.entries(labels)
  if (!first || others.length > 0) throw new TypeError('exactly one label is expected')
  return first
}

export function total(registry: Registry, name: string, help: string): Total {
  let pending = 0
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.inc(pending)
      pending = 0
    },
  })
  return {
    inc(by = 1) {
      pending += by
    },
  }
}

export function labelledTotal<const L extends OneLabel>(
  registry: Registry,
  name: string,
  help: string,
  labels: L,
): LabelledTotal<L> {
  const [label, values] = only(labels)
  const pending = Object.fromEntries(values.map((value) => [value, 0]))
  new Counter({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const value of values) {
        this.inc({ [label]: value }, pending[value])
        pending[value] = 0
      }
    },
  })
  return {
    inc(labels, by = 1) {
      const value = labels[label] as string
      const before = pending[value]
      if (before !== undefined) pending[value] = before + by
    },
  }
}

export function level(registry: Registry, name: string, help: string, aggregator: Merge): Level {
  return new Gauge({ name, help, aggregator, registers: [registry] })
}

export function labelledLevel<const L extends OneLabel>(
  registry: Registry,
  name: string,
  help: string,
  aggregator: Merge,
  labels: L,
): LabelledLevel<L> {
  const gauge = new Gauge({ name, help, aggregator, labelNames: Object.keys(labels), registers: [registry] })
  let combinations: Record<string, string>[] = [{}]
  for (const [label, values] of Object.entries(labels)) {
    combinations = combinations.flatMap((others) => values.map((value) => ({ ...others, [label]: value })))
  }
  for (const combination of combinations) gauge.set(combination, 0)
  return {
    set(labels, value) {
      gauge.set(labels, value)
    },
  }
}

class Buckets {
  readonly #bounds: readonly number[]
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  /** Linear, because the usual answer is in one of the first buckets. */
  observe(value: number): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > (bounds[i] as number)) i++
    ;(this.#counts[i] as number)++
    this.#sum += value
  }

  samples(name: string, labels: Record<string, string>): object[] {
    let below = 0
    const samples: object[] = this.#bounds.map((le, i) => {
      below += this.#counts[i] as number
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: below }
    })
    const count = below + (this.#counts[this.#bounds.length] as number)
    samples.push(
      { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    )
    return samples
  }
}

function register(registry: Registry, name: string, help: string, samples: () => object[]): void {
  const metric = {
    name,
    help,
    type: 'histogram',
    aggregator: 'sum',
    get: () => Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values: samples() }),
  }
  // All that the registry asks of a metric is its name and `get`.
  registry.registerMetric(metric as unknown as Metric)
}

export function histogram(registry: Registry, name: string, help: string, bounds: readonly number[]): Distribution {
  const buckets = new Buckets(bounds)
  register(registry, name, help, () => buckets.samples(name, {}))
  return buckets
}

export function labelledHistogram<const L extends OneLabel>(
  registry: Registry,
  name: string,
  help: string,
  bounds: readonly number[],
  labels: L,
): LabelledHistogram<L> {
  const [label, values] = only(labels)
  const children = Object.fromEntries(values.map((value) => [value, new Buckets(bounds)]))
  register(registry, name, help, () =>
    Object.entries(children).flatMap(([value, buckets]) => buckets.samples(name, { [label]: value })),
  )
  return {
    observe(labels, value) {
      children[labels[label] as string]?.observe(value)
    },
  }
}
