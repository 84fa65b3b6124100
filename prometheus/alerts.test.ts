// Alerts, their promtool cases, the runbook and Alertmanager name the same things. promtool itself: make check-alerts.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { panelQueries } from '../grafana/dashboards.ts'
import { createMetrics } from '../server/telemetry/metrics.ts'
import { exported } from './exporters.ts'
import { metricsIn, rulesIn, thresholdOf } from './promql.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const alerts = rulesIn('alerts.yml')
const records = rulesIn('rules.yml')

const title = ({ alert = '', labels = {} }: (typeof alerts)[number]): string =>
  [alert, labels['severity'], labels['window']].filter(Boolean).join(' ')

test('expressions are read as they are meant', () => {
  expect(metricsIn('sum by (le) (rate(a_bucket{x="b_c"}[5m])) / on() q:r:5m > 1e6 and max(d) >= 3')).toEqual([
    'a_bucket',
    'q:r:5m',
    'd',
  ])
  expect(thresholdOf('a > 14.4 * 0.001 and b > 3')).toBeCloseTo(0.0144)
  expect(thresholdOf('max(a) > 5e6')).toBe(5_000_000)
})

test('the six documented alerts have their documented thresholds, each as a warning and as a critical one', () => {
  const documented = {
    QuickLinkCacheHitRateLow: ['<', 0.9, 0.8],
    QuickLinkRedisLatencyHigh: ['>', 0.005, 0.02],
    QuickLinkRedisMemoryHigh: ['>', 0.7, 0.85],
    QuickLinkEvictionsHigh: ['>', 100, 1000],
    QuickLinkDbFallbackHigh: ['>', 0.1, 0.25],
    QuickLinkNegativeCacheLarge: ['>', 1e6, 5e6],
  }
  for (const [name, [operator, ...values]] of Object.entries(documented)) {
    const both = alerts.filter(({ alert }) => alert === name)
    expect(both.map(({ labels }) => labels?.['severity'])).toEqual(['warning', 'critical'])
    expect(
      both.map(({ expr }) => thresholdOf(expr)),
      name,
    ).toEqual(values)
    expect(both.map(({ expr }) => /[<>]/.exec(expr)?.[0])).toEqual([operator, operator])
  }
})

test('each alert says what, why and where to read on, and how long it waits', () => {
  const runbook = new Set(Array.from(read('../RUNBOOK.md').matchAll(/^#+ (.+)$/gm), ([, heading]) => heading))
  for (const rule of alerts) {
    expect(rule.labels?.['severity'], title(rule)).toMatch(/^(warning|critical)$/)
    expect(rule.for, title(rule)).toMatch(/^\d+[mh]$/)
    expect(rule.annotations, title(rule)).toEqual({
      summary: expect.stringMatching(/\S/),
      description: expect.stringMatching(/\S/),
      runbook_url: `{{ $externalLabels.runbook }}#${(rule.alert ?? '').toLowerCase()}`,
    })
    expect(runbook, `RUNBOOK.md has no heading ${rule.alert ?? ''}`).toContain(rule.alert)
  }
  for (const heading of runbook) {
    if (heading?.startsWith('QuickLink')) expect(alerts.map(({ alert }) => alert)).toContain(heading)
  }
})

test('each alert has its three promtool cases', () => {
  const { tests } = parse(read('alerts.test.yml')) as { tests: { name: string }[] }
  const cases = tests.map(({ name }) => name)
  for (const rule of alerts) {
    for (const when of ['fires', 'ends before its for', 'stays just below the threshold']) {
      expect(cases.filter((name) => name === `${title(rule)}: ${when}`)).toHaveLength(1)
    }
  }
})

test('each metric that a rule reads exists', () => {
  const own = createMetrics({ processMetrics: false }).registry.getMetricsAsArray()
  const known = new Set([
    ...own.flatMap(({ name }) => [name, `${name}_bucket`, `${name}_count`, `${name}_sum`]),
    ...Object.values(exported).flat(),
    ...records.map(({ record }) => record),
  ])
  for (const { expr } of [...records, ...alerts]) {
    for (const metric of metricsIn(expr)) expect(known, `${metric} in ${expr}`).toContain(metric)
  }
  const used = [...records, ...alerts, ...panelQueries('1m')].flatMap(({ expr }) => metricsIn(expr))
  for (const { record } of records) expect(used, 'a rule that nobody reads').toContain(record)
})

test('what is about Redis is silent without one, and a ratio is silent without traffic', () => {
  for (const rule of alerts) {
    const expr = rule.expr.replace(/\s+/g, ' ')
    const metrics = metricsIn(expr).join(' ')
    if (/redis|cache|fallback|trust/.test(metrics.replace('quicklink:redis_configured:max15m', ''))) {
      expect(expr, title(rule)).toContain('quicklink:redis_configured:max15m == 1')
    }
    if (/ratio|p99/.test(metrics) && !metrics.includes('memory')) expect(expr, title(rule)).toMatch(/ >= (1|10|1000)\b/)
  }
})

interface Route {
  readonly receiver?: string
  readonly routes?: readonly Route[]
}

test('Alertmanager sends to receivers that there are, and a critical alert mutes its warning', () => {
  const config = parse(read('alertmanager.yml')) as {
    route: Route
    receivers: { name: string }[]
    inhibit_rules: { source_matchers: string[]; target_matchers: string[]; equal?: string[] }[]
  }
  const receiversOf = ({ receiver, routes = [] }: Route): (string | undefined)[] => [
    receiver,
    ...routes.flatMap(receiversOf),
  ]
  for (const receiver of receiversOf(config.route)) expect(config.receivers.map(({ name }) => name)).toContain(receiver)
  expect(config.inhibit_rules[0]).toEqual({
    source_matchers: ['severity="critical"'],
    target_matchers: ['severity="warning"'],
    equal: ['alertname', 'instance'],
  })
  const names = config.inhibit_rules.flatMap((rule) =>
    [...rule.source_matchers, ...rule.target_matchers].flatMap((matcher) => matcher.match(/QuickLink\w+/g) ?? []),
  )
  for (const name of names) expect(alerts.map(({ alert }) => alert)).toContain(name)
})
