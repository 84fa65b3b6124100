import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

const lines = async (metrics: ReturnType<typeof createMetrics>): Promise<string[]> =>
  (await metrics.registry.metrics()).split('\n')

test('every counter with known labels is there at 0 before anything happens', async () => {
  const text = await lines(createMetrics())
  for (const line of [
    'quicklink_redirects_total{status="302"} 0',
    'quicklink_redirects_total{status="503"} 0',
    'quicklink_cache_hit_total{tier="local"} 0',
    'quicklink_cache_miss_total 0',
    'quicklink_lookups_total{source="stale"} 0',
    'quicklink_db_fallback_total{reason="untrusted"} 0',
    'quicklink_breaker_transitions_total{dependency="postgres",to="half_open"} 0',
    'quicklink_clicks_dropped_total 0',
    'redis_command_duration_seconds_count{command="get"} 0',
  ]) {
    expect(text).toContain(line)
  }
})

test('a redirect is counted once, by status and in every bucket it fits in', async () => {
  const metrics = createMetrics()
  metrics.redirect(302, 0.00005) // exactly a bound: belongs to it
  metrics.redirect(302, 0.000051)
  metrics.redirect(404, 0.11)
  metrics.redirect(418, 60)
  await lines(metrics) // collecting must not count twice
  const text = await lines(metrics)
  for (const line of [
    'quicklink_redirects_total{status="302"} 2',
    'quicklink_redirects_total{status="404"} 1',
    'quicklink_redirects_total{status="418"} 1',
    'quicklink_redirect_duration_seconds_bucket{le="0.00005"} 1',
    'quicklink_redirect_duration_seconds_bucket{le="0.0001"} 2',
    'quicklink_redirect_duration_seconds_bucket{le="0.1"} 2',
    'quicklink_redirect_duration_seconds_bucket{le="0.12"} 3',
    'quicklink_redirect_duration_seconds_bucket{le="2.5"} 3',
    'quicklink_redirect_duration_seconds_bucket{le="+Inf"} 4',
    'quicklink_redirect_duration_seconds_count 4',
  ]) {
    expect(text).toContain(line)
  }
})

test('local hits and redis hits share a counter', async () => {
  const metrics = createMetrics()
  for (let i = 0; i < 5; i++) metrics.localHit()
  metrics.cacheHit.inc({ tier: 'redis' })
  await lines(metrics)
  metrics.localHit()
  const text = await lines(metrics)
  expect(text).toContain('quicklink_cache_hit_total{tier="local"} 6')
  expect(text).toContain('quicklink_cache_hit_total{tier="redis"} 1')
})

test('a label value that is not listed adds no series', async () => {
  const metrics = createMetrics()
  metrics.shed.inc({ reason: 'from a visitor' as 'other' })
  metrics.redisCommandDuration.observe({ command: 'FLUSHALL' as 'other' }, 1)
  const text = (await lines(metrics)).join('\n')
  expect(text).not.toMatch(/visitor|FLUSHALL/)
  expect(text).not.toContain('NaN')
})

test('a breaker is in one state, and only changes are transitions', async () => {
  const metrics = createMetrics()
  metrics.breaker('redis', 'closed')
  metrics.breaker('redis', 'open')
  const text = await lines(metrics)
  expect(text).toContain('quicklink_breaker_state{dependency="redis",state="closed"} 0')
  expect(text).toContain('quicklink_breaker_state{dependency="redis",state="open"} 1')
  expect(text).toContain('quicklink_breaker_transitions_total{dependency="redis",to="closed"} 0')
  expect(text).toContain('quicklink_breaker_transitions_total{dependency="redis",to="open"} 1')
})

test('gauges are read when somebody collects', async () => {
  const metrics = createMetrics()
  let age = 0
  metrics.onCollect(() => metrics.trustAge.set(++age))
  expect(await lines(metrics)).toContain('quicklink_trust_age_seconds 1')
  expect(await lines(metrics)).toContain('quicklink_trust_age_seconds 2')
})
