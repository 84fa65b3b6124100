import { Gauge } from 'prom-client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Fleet } from './fleet.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { Reporter, type ReportSlice } from './report.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** What a message looks like after it has gone through a pipe. */
const piped = (slice: ReportSlice): ReportSlice => JSON.parse(JSON.stringify(slice)) as ReportSlice

const fleetOf = (deadlineMs = 1000): Fleet => {
  const fleet = new Fleet({ deadlineMs })
  join(fleet, 0) // the primary
  return fleet
}

interface FakeWorker {
  readonly metrics: Metrics
  push(): Promise<void>
  /** It has been asked, and has told everything. */
  told(): Promise<unknown>
}

function join(fleet: Fleet, id: number, options: { silent?: boolean } = {}): FakeWorker {
  const metrics = createMetrics()
  const reporter = new Reporter(
    metrics.registry,
    () => ({ worker: id }),
    (slice) => {
      // The primary's own goes through no pipe.
      fleet.received(id, id === 0 ? slice : piped(slice))
      return Promise.resolve()
    },
  )
  const told = Promise.withResolvers<unknown>()
  fleet.joined(id, (request) => {
    if (!options.silent) told.resolve(reporter.report(request))
  })
  return { metrics, push: () => reporter.report(), told: () => told.promise }
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
  worker.metrics.clicks.accepted.inc(41)
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
  const other = join(fleet, 2)
  other.metrics.redirect(302, 0.1)
  const text = fleet.text()
  await vi.advanceTimersByTimeAsync(999)
  await other.told()
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
      [0, { worker: 0 }],
      [1, { worker: 1 }],
      [2, undefined],
    ]),
  )
})

test('with no worker at all the names are there', async () => {
  expect(await sampleOf(fleetOf(), 'quicklink_redirects_total{status="302"}')).toBe(0)
})

test('10,000 samples are reported in small slices, and written without holding up anyone', async () => {
  vi.useRealTimers()
  const values = Array.from({ length: 1000 }, (_, i) => ({ labels: { i }, value: i }))
  const names = Array.from({ length: 10 }, (_, n) => `big_${n}_total`)
  const metrics = createMetrics()
  for (const name of names) {
    const big = { name, help: '', type: 'counter', aggregator: 'sum', values }
    metrics.registry.registerMetric({ name, get: () => Promise.resolve(big) } as never)
  }
  const slices: ReportSlice[] = []
  const fleet = fleetOf()
  fleet.joined(1, () => undefined)
  const reporter = new Reporter(
    metrics.registry,
    () => ({}),
    (slice) => {
      slices.push(slice)
      fleet.received(1, piped(slice))
      return Promise.resolve()
    },
  )
  await reporter.report()
  const sizes = slices.map(({ metrics }) => metrics.reduce((sum, { values }) => sum + values.length, 0))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThanOrEqual(10_000)
  expect(Math.max(...sizes)).toBeLessThan(200)
  fleet.left(1)
  let turns = 0
  const turning = setInterval(() => turns++, 1)
  const text = await fleet.text()
  clearInterval(turning)
  expect(turns).toBeGreaterThanOrEqual(names.length)
  const lines = text.split('\n').filter((line) => line.includes('big_'))
  expect(lines).toEqual(
    names.flatMap((name) => [
      `# HELP ${name} `,
      `# TYPE ${name} counter`,
      ...values.map(({ value }) => `${name}{i="${value}"} ${value}`),
    ]),
  )
})

test('two reports at once do not mix', async () => {
  const fleet = fleetOf()
  const { metrics, push } = join(fleet, 1)
  metrics.redirect(302, 0.1)
  await Promise.all([push(), push()])
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(1)
})

test('one that has nothing to say does not weigh in an average', async () => {
  const fleet = fleetOf()
  for (const [id, value] of [NaN, 3, 5].entries()) {
    const { registry } = join(fleet, id).metrics
    new Gauge({ name: 'lag', help: 'Lag', aggregator: 'average', registers: [registry] }).set(value)
  }
  expect(await sampleOf(fleet, 'lag')).toBe(4)
})

test('a report that fails leaves nothing behind: the next one is not doubled', async () => {
  const fleet = fleetOf()
  const { metrics, push } = join(fleet, 1)
  let broken = true
  const get = (): Promise<unknown> =>
    broken
      ? Promise.reject(new Error('cannot be read'))
      : Promise.resolve({ name: 'late', help: 'Late', type: 'gauge', aggregator: 'max', values: [{ labels: {}, value: 7 }] }) // prettier-ignore
  metrics.registry.registerMetric({ name: 'late', get } as never)
  metrics.redirect(302, 0.1)
  await expect(push()).rejects.toThrow('cannot be read')
  broken = false
  await push()
  expect(await sampleOf(fleet, 'quicklink_redirects_total{status="302"}')).toBe(1)
  expect(await sampleOf(fleet, 'late')).toBe(7)
})
