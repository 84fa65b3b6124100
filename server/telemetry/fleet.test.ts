import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Fleet } from './fleet.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createReporter, type MetricData, type ReportSlice } from './report.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** What a message looks like after it has gone through a pipe. */
const piped = (slice: ReportSlice): ReportSlice => JSON.parse(JSON.stringify(slice)) as ReportSlice

const fleetOf = (deadlineMs = 1000): Fleet => {
  const { registry } = createMetrics()
  return new Fleet({ own: async () => (await registry.getMetricsAsJSON()) as unknown as MetricData[], deadlineMs })
}

interface FakeWorker {
  readonly metrics: Metrics
  push(): Promise<void>
}

function join(fleet: Fleet, id: number, options: { silent?: boolean } = {}): FakeWorker {
  const metrics = createMetrics()
  const reporter = createReporter(
    metrics.registry,
    () => ({ worker: id }),
    (slice) => {
      fleet.received(id, piped(slice))
      return Promise.resolve()
    },
  )
  fleet.joined(id, (request) => {
    if (!options.silent) void reporter.report(request)
  })
  return { metrics, push: () => reporter.report() }
}

const sampleOf = async (fleet: Fleet, series: string): Promise<number | undefined> => {
  const line = (await fleet.text()).split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.split(' ')[1])
}

test('counters and histograms of all workers are summed', async () => {
  const fleet = fleetOf()
  for (const id of [1, 2]) {
    const { metrics } = join(fleet, id)
    for (let i = 0; i < id; i++) metrics.redirect(302, 0.00003)
  }
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(3)
  expect(await sampleOf(fleet, 'quicklink_redirect_duration_seconds_bucket{le="0.00005"}')).toBe(3)
  expect(await sampleOf(fleet, 'quicklink_redirect_duration_seconds_count')).toBe(3)
})

test('each gauge has its own aggregation: sizes by sum, states and ages by max', async () => {
  const fleet = fleetOf()
  for (const id of [1, 2]) {
    const { metrics } = join(fleet, id)
    metrics.clicksSpooled.set(10 * id)
    metrics.dbPool.set({ state: 'idle' }, id)
    metrics.trustAge.set(id)
    metrics.negativeCacheKeys.set(1000)
    metrics.breaker('redis', id === 1 ? 'closed' : 'open')
  }
  expect(await sampleOf(fleet, 'quicklink_clicks_spooled')).toBe(30)
  expect(await sampleOf(fleet, 'quicklink_db_pool{state="idle"}')).toBe(3)
  expect(await sampleOf(fleet, 'quicklink_trust_age_seconds')).toBe(2)
  expect(await sampleOf(fleet, 'quicklink_negative_cache_keys')).toBe(1000)
  expect(await sampleOf(fleet, 'quicklink_breaker_state{dependency="redis",state="open"}')).toBe(1)
  expect(await sampleOf(fleet, 'quicklink_build_info{version="unknown",commit="unknown"}')).toBe(1)
})

test('a dead worker leaves its totals and takes its gauges', async () => {
  const fleet = fleetOf()
  const { metrics } = join(fleet, 1)
  metrics.redirect(302, 0.1)
  metrics.clicksSpooled.set(7)
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(1)
  fleet.left(1)
  join(fleet, 2).metrics.redirect(302, 0.1)
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(2)
  expect(await sampleOf(fleet, 'quicklink_redirect_duration_seconds_count')).toBe(2)
  expect(await sampleOf(fleet, 'quicklink_clicks_spooled')).toBe(0)
  fleet.left(2)
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(2)
})

test('what a worker pushed by itself counts, although nobody ever asked', async () => {
  const fleet = fleetOf()
  const worker = join(fleet, 1)
  worker.metrics.clicksAccepted.inc(41)
  await worker.push()
  fleet.left(1)
  expect(await sampleOf(fleet, 'quicklink_clicks_accepted_total')).toBe(41)
})

test('a silent worker delays a scrape by one deadline at most, and its totals do not go back', async () => {
  const fleet = fleetOf()
  const silent = join(fleet, 1, { silent: true })
  silent.metrics.redirect(302, 0.1)
  silent.metrics.clicksSpooled.set(5)
  await silent.push()
  join(fleet, 2).metrics.redirect(302, 0.1)
  const text = fleet.text()
  await vi.advanceTimersByTimeAsync(999)
  const before = await Promise.race([text, Promise.resolve('waiting')])
  expect(before).toBe('waiting')
  await vi.advanceTimersByTimeAsync(1)
  expect(await text).toContain('quicklink_redirects_total{status="302"} 2')
  expect(await text).toContain('quicklink_clicks_spooled 0')
})

test('a worker that dies while it is asked does not hold up the scrape', async () => {
  const fleet = fleetOf()
  join(fleet, 1, { silent: true })
  const text = fleet.text()
  fleet.left(1)
  expect(await text).toContain('quicklink_redirects_total')
})

test('statuses come by worker; a silent one has none', async () => {
  vi.useRealTimers()
  const fleet = fleetOf(50)
  join(fleet, 1)
  join(fleet, 2, { silent: true })
  expect((await fleet.collect()).statuses).toEqual(
    new Map<number, unknown>([
      [1, { worker: 1 }],
      [2, undefined],
    ]),
  )
})

test('with no worker at all the names are there', async () => {
  expect(await sampleOf(fleetOf(), 'quicklink_redirects_total{status="302"}')).toBe(0)
})

test('10,000 samples are reported in slices of at most 500', async () => {
  const values = Array.from({ length: 10_000 }, (_, i) => ({ labels: { i }, value: i }))
  const big = { name: 'big_total', help: '', type: 'counter', aggregator: 'sum', values }
  const metrics = createMetrics()
  metrics.registry.registerMetric({ name: 'big_total', get: () => Promise.resolve(big) } as never)
  const sizes: number[] = []
  const fleet = fleetOf()
  fleet.joined(1, () => undefined)
  const reporter = createReporter(
    metrics.registry,
    () => ({}),
    (slice) => {
      sizes.push(slice.metrics.reduce((all, metric) => all + metric.values.length, 0))
      fleet.received(1, piped(slice))
      return Promise.resolve()
    },
  )
  await reporter.report(1)
  expect(Math.max(...sizes)).toBe(500)
  fleet.left(1)
  const { metrics: merged } = await fleet.collect()
  expect(merged.find(({ name }) => name === 'big_total')?.values).toHaveLength(10_000)
})
