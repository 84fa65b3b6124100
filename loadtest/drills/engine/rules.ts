// The appliance's Prometheus, in a drill's time: a minute of its rules passes in seconds. One factor divides every window,
// every `for:`, every interval; thresholds are the documented ones.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { projectDir } from '../../../embedded/paths.ts'
import { rulesIn } from '../../../prometheus/promql.ts'

/** A breaker stays open for 30 s: the rules count on that, so a drill divides it as well. */
export const factor = 10

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

export function milliseconds(duration: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m|h|d)$/.exec(duration) ?? []
  const ms = Number(count) * (unitMs[unit] ?? NaN)
  if (Number.isNaN(ms)) throw new Error(`${duration} is no duration with one unit.`)
  return ms
}

const shortened = (duration: string): string => `${milliseconds(duration) / factor}ms`

export const shortenedExpr = (expr: string): string =>
  expr.replace(/\[(\w+)\]/g, (_, window: string) => `[${shortened(window)}]`)

interface Timed {
  readonly expr: string
  readonly for?: string
}

interface RuleFile {
  readonly groups: readonly { readonly interval?: string; readonly rules: readonly Timed[] }[]
}

export function shortenedRules(text: string): RuleFile {
  const { groups } = parse(text) as RuleFile
  return {
    groups: groups.map((group) => ({
      ...group,
      ...(group.interval === undefined ? {} : { interval: shortened(group.interval) }),
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: shortenedExpr(rule.expr),
        ...(rule.for === undefined ? {} : { for: shortened(rule.for) }),
      })),
    })),
  }
}

interface Config {
  readonly global: Readonly<Record<'scrape_interval' | 'evaluation_interval', string>>
  readonly scrape_configs: readonly {
    readonly job_name: string
    readonly dns_sd_configs?: readonly { readonly refresh_interval: string }[]
  }[]
}

/** Without Alertmanager: what rings is looked at, and nobody is told. */
export function shortenedConfig(text: string): object {
  const { global, scrape_configs, ...rest } = parse(text) as Config & { alerting: object }
  const interval = shortened(global.scrape_interval)
  return {
    ...rest,
    alerting: {},
    global: { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: shortened(global.evaluation_interval) },
    scrape_configs: scrape_configs
      .filter(({ job_name }) => job_name !== 'alertmanager')
      .map(({ dns_sd_configs, ...job }) => ({
        ...job,
        ...(dns_sd_configs && {
          dns_sd_configs: dns_sd_configs.map((each) => ({ ...each, refresh_interval: shortened(each.refresh_interval) })),
        }),
      })),
  }
} // prettier-ignore

/** For a Prometheus that has no exporters beside it. */
export const scrapingOnly = (target: string): object => ({
  ...shortenedConfig(readFileSync(join(projectDir, 'prometheus', 'prometheus.yml'), 'utf8')),
  scrape_configs: [{ job_name: 'quicklink', static_configs: [{ targets: [target] }] }],
})

/** Alerts that go by what only the exporters tell: without them they cannot ring. */
export const ofExporters: readonly string[] = ['QuickLinkRedisMemoryHigh', 'QuickLinkEvictionsHigh']

/** Readable by the user of Prometheus, who is another one. */
export function writeRules(dir: string): void {
  const read = (name: string): string => readFileSync(join(projectDir, 'prometheus', name), 'utf8')
  const files = {
    'prometheus.yml': shortenedConfig(read('prometheus.yml')),
    'rules.yml': shortenedRules(read('rules.yml')),
    'alerts.yml': shortenedRules(read('alerts.yml')),
  }
  // JSON is YAML.
  for (const [name, value] of Object.entries(files)) writeFileSync(join(dir, name), JSON.stringify(value), { mode: 0o644 })
} // prettier-ignore

/** The longest window of the alerts that watch a service instead of a budget. */
const windowMs = milliseconds('5m')

/** How soon an alert must ring, in a drill's time: its window and its `for:`, and some scrapes and evaluations. */
export function ringsWithinMs(name: string): number {
  const waits = rulesIn('alerts.yml').flatMap((rule) => (rule.alert === name ? milliseconds(rule.for ?? '0s') : []))
  return (windowMs + Math.min(...waits)) / factor + graceMs
}

/** How soon after the heal it must be over: what its window still holds must have left it. */
export const endsWithinMs = windowMs / factor

/** Scrapes, evaluations, and a machine that has other work. */
export const graceMs = 15_000
