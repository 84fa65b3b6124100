import { expect, test } from 'vitest'
import { createMetrics } from '../telemetry/metrics.ts'
import type { MetricData } from '../telemetry/report.ts'
import { figuresOf } from './figures.ts'

async function told(count: (metrics: ReturnType<typeof createMetrics>) => void): Promise<MetricData[]> {
  const metrics = createMetrics()
  count(metrics)
  return await metrics.registry.getMetricsAsJSON()
}

test('counts of all processes are added up, and the age of trust is that of the worst', async () => {
  const one = await told((metrics) => {
    metrics.localHit()
    metrics.cacheHit.inc({ tier: 'redis' }, 2)
    metrics.handovers.inc({ reason: 'partial' }, 3)
    metrics.trustAge.set(0.2)
  })
  const two = await told((metrics) => {
    metrics.localHit()
    metrics.cacheMiss.inc(4)
    metrics.trustAge.set(7)
    metrics.clicksSpooled.set(5)
  })
  expect(figuresOf([one, two], [])).toMatchObject({
    answered: { tier1: 2, redis: 2, postgres: 4 },
    handovers: { partial: 3, api: 0 },
    trustAgeS: 7,
    clicks: { spooled: 5 },
    changes: { seen: 0, p99AtMostS: null },
  })
})

test('the delay of changes is the least bound that 99 of 100 are within', async () => {
  const metrics = await told(({ invalidationDelay }) => {
    for (let n = 0; n < 99; n++) invalidationDelay.observe(0.03)
    invalidationDelay.observe(4)
  })
  expect(figuresOf([metrics], []).changes).toEqual({ seen: 100, p99AtMostS: 0.05 })
  const late = await told(({ invalidationDelay }) => invalidationDelay.observe(1000))
  expect(figuresOf([late], []).changes).toEqual({ seen: 1, p99AtMostS: null })
})

test('a worker that does not answer is told with what the primary knows of it', () => {
  const silent = { number: 2, serving: false, restarts: 1, status: undefined }
  const well = { number: 1, serving: true, restarts: 0, status: { redis: { breaker: 'open', trusted: false }, postgres: { breaker: 'closed' } } } // prettier-ignore
  expect(figuresOf([], [well, silent]).workers).toEqual([
    { number: 1, serving: true, restarts: 0, redis: 'open', postgres: 'closed', trusted: false },
    { number: 2, serving: false, restarts: 1, redis: null, postgres: null, trusted: null },
  ])
})
