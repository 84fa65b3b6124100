// Samples of several processes become one list: counters and histograms summed, each gauge by its own aggregator.
import { Registry, type Metric } from 'prom-client'
import type { MetricData, Sample } from './report.ts'

type Combine = (values: readonly number[]) => number

const sum: Combine = (values) => values.reduce((all, value) => all + value, 0)
const combine: Record<Exclude<MetricData['aggregator'], 'omit'>, Combine> = {
  sum,
  first: (values) => values[0] as number,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  average: (values) => sum(values) / values.length,
}

interface Gathered {
  readonly metric: MetricData
  readonly series: Map<string, { sample: Sample; values: number[] }>
}

function keyOf(sample: Sample): string {
  let key = sample.metricName ?? ''
  for (const label of Object.keys(sample.labels).sort()) key += `\0${label}\0${sample.labels[label]}`
  return key
}

export function merge(lists: readonly (readonly MetricData[])[]): MetricData[] {
  const byName = new Map<string, Gathered>()
  for (const metric of lists.flat()) {
    let gathered = byName.get(metric.name)
    if (!gathered) byName.set(metric.name, (gathered = { metric, series: new Map() }))
    for (const sample of metric.values) {
      const key = keyOf(sample)
      const series = gathered.series.get(key)
      if (series) series.values.push(sample.value)
      else gathered.series.set(key, { sample, values: [sample.value] })
    }
  }
  return [...byName.values()].flatMap(({ metric, series }) => {
    if (metric.aggregator === 'omit') return []
    const combined = combine[metric.aggregator]
    const values = Array.from(series.values(), ({ sample, values }) => ({ ...sample, value: combined(values) }))
    return [{ ...metric, values }]
  })
}

/** What only ever grows: it outlives its process. */
export const totalsOf = (metrics: readonly MetricData[]): MetricData[] =>
  metrics.filter(({ type }) => type === 'counter' || type === 'histogram')

export function toText(metrics: readonly MetricData[]): Promise<string> {
  const registry = new Registry()
  for (const metric of metrics) {
    const wrapped = { name: metric.name, get: () => Promise.resolve(metric) }
    registry.registerMetric(wrapped as unknown as Metric)
  }
  return registry.metrics()
}
