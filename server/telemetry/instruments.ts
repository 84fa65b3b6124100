// Counters and histograms that the hot path can afford: a property or an array element is incremented, and prom-client
// hears of it only when somebody collects. Label values are listed beforehand: nothing a visitor sends can add a series.
import { Counter, Gauge, type Metric, type Registry } from 'prom-client'

/** Labels with all their values: `{ tier: ['local', 'redis'] }`. */
type Labels = Readonly<Record<string, readonly string[]>>
/** One value of each: `inc({ tier: 'redis' })`. */
type LabelsOf<L extends Labels> = { readonly [K in keyof L]: L[K][number] }

/** One label's name and its values. */
function only(labels: Labels): [string, readonly string[]] {
  const [first, ...others] = Object.entries(labels)
  if (!first || others.length > 0) throw new TypeError('exactly one label is expected')
  return first
}

export function instruments(registry: Registry) {
  const registers = [registry]
  const register = (name: string, help: string, samples: () => object[]): void => {
    const about = { name, help, type: 'histogram', aggregator: 'sum' }
    // All that the registry asks of a metric is its name and `get`.
    const metric = { ...about, get: () => Promise.resolve({ ...about, values: samples() }) }
    registry.registerMetric(metric as unknown as Metric)
  }

  return {
    counter(name: string, help: string) {
      let pending = 0
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.inc(pending)
          pending = 0
        },
      })
      return { inc: (by = 1): void => void (pending += by) }
    },

    /** With one label. */
    counters<const L extends Labels>(name: string, help: string, labels: L) {
      const [label, values] = only(labels)
      const pending = Object.fromEntries(values.map((value) => [value, 0]))
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          for (const value of values) {
            this.inc({ [label]: value }, pending[value])
            pending[value] = 0
          }
        },
      })
      return {
        inc(labels: LabelsOf<L>, by = 1) {
          const value = labels[label] as string
          const before = pending[value]
          if (before !== undefined) pending[value] = before + by
        },
      }
    },

    /** `aggregator`: how a gauge of many workers becomes one. */
    gauge: (name: string, help: string, aggregator: 'sum' | 'max') => new Gauge({ name, help, aggregator, registers }),

    gauges<const L extends Labels>(name: string, help: string, aggregator: 'sum' | 'max', labels: L) {
      const gauge = new Gauge({ name, help, aggregator, labelNames: Object.keys(labels), registers })
      let combinations: Record<string, string>[] = [{}]
      for (const [label, values] of Object.entries(labels)) {
        combinations = combinations.flatMap((others) => values.map((value) => ({ ...others, [label]: value })))
      }
      for (const combination of combinations) gauge.set(combination, 0)
      return { set: (labels: LabelsOf<L>, value: number): void => gauge.set(labels, value) }
    },

    histogram(name: string, help: string, bounds: readonly number[]) {
      const buckets = new Buckets(bounds)
      register(name, help, () => buckets.samples(name, {}))
      return buckets
    },

    /** With one label. */
    histograms<const L extends Labels>(name: string, help: string, bounds: readonly number[], labels: L) {
      const [label, values] = only(labels)
      const children = new Map(values.map((value) => [value, new Buckets(bounds)]))
      register(name, help, () => [...children].flatMap(([value, each]) => each.samples(name, { [label]: value })))
      return {
        observe: (labels: LabelsOf<L>, value: number) => children.get(labels[label] as string)?.observe(value),
      }
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
