// In a drill, Prometheus counts a tenth of the time, and nothing else is different.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from '../../../embedded/paths.ts'
import { rulesIn, thresholdOf } from '../../../prometheus/promql.ts'
import { factor, milliseconds, ringsWithinMs, shortenedConfig, shortenedExpr, shortenedRules } from './rules.ts'

const read = (name: string): string => readFileSync(join(projectDir, 'prometheus', name), 'utf8')
const windowsOf = (expr: string): number[] =>
  Array.from(expr.matchAll(/\[(\w+)\]/g), ([, window = '']) => milliseconds(window))

test.each(['rules.yml', 'alerts.yml'])('%s: windows and waits are divided by one factor, thresholds are as they were', (file) => {
  const before = rulesIn(file)
  const after = shortenedRules(read(file)).groups.flatMap(({ rules }) => rules)
  expect(after).toHaveLength(before.length)
  for (const [n, rule] of before.entries()) {
    const { expr, for: wait } = after[n]!
    expect(windowsOf(expr).map((ms) => ms * factor)).toEqual(windowsOf(rule.expr))
    expect(expr.replace(/\[\w+\]/g, '')).toBe(rule.expr.replace(/\[\w+\]/g, ''))
    expect(thresholdOf(expr)).toBe(thresholdOf(rule.expr))
    if (rule.for !== undefined) expect(milliseconds(wait ?? '') * factor).toBe(milliseconds(rule.for))
  }
}) // prettier-ignore

test('a window of a second or a month stays one that Prometheus can read', () => {
  expect(shortenedExpr('rate(a[5m]) + rate(b[30d])')).toBe('rate(a[30000ms]) + rate(b[259200000ms])')
  expect(() => shortenedExpr('rate(a[1h30m])')).toThrow('1h30m is no duration with one unit')
})

test('scrapes come as much sooner, none waits longer than until the next one, and nobody is told', () => {
  const config = shortenedConfig(read('prometheus.yml')) as {
    global: Record<string, string>
    alerting: object
    scrape_configs: { job_name: string }[]
  }
  expect(config.global).toEqual({ scrape_interval: '1500ms', scrape_timeout: '1500ms', evaluation_interval: '1500ms' })
  expect(config.alerting).toEqual({})
  expect(config.scrape_configs.map(({ job_name }) => job_name)).toEqual(['quicklink', 'redis', 'postgres', 'prometheus'])
}) // prettier-ignore

test('Grafana knows how often is scraped, in a drill as well: rates look back over four scrapes', () => {
  const scrapedEvery = (file: string): unknown =>
    /^ +SCRAPE_INTERVAL: (\S+)$/m.exec(readFileSync(join(projectDir, file), 'utf8'))?.[1]
  const { global } = shortenedConfig(read('prometheus.yml')) as { global: { scrape_interval: string } }
  expect(read('prometheus.yml')).toContain(`\n  scrape_interval: ${String(scrapedEvery('docker-compose.yml'))}\n`)
  expect(scrapedEvery('docker-compose.drill.yml')).toBe(`${Math.ceil(milliseconds(global.scrape_interval) / 1000)}s`)
  const source = readFileSync(join(projectDir, 'grafana/provisioning/datasources/datasources.yml'), 'utf8')
  expect(source).toContain('timeInterval: $SCRAPE_INTERVAL\n')
})

test('an alert has the time of its window and of the severity that waits less', () => {
  // 5m of window and 2m of `for:` are 42 s here.
  expect(ringsWithinMs('QuickLinkDbFallbackHigh')).toBe(42_000 + 15_000)
})
