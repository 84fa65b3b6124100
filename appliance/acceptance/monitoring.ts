// Prometheus sees everything, every query means something, and alerts ring and end.
import { setTimeout as sleep } from 'node:timers/promises'
import { dashboards } from '../../grafana/dashboards.ts'
import { until } from '../../embedded/wait.ts'
import { exported } from '../../prometheus/exporters.ts'
import { metricsIn, rulesIn } from '../../prometheus/promql.ts'
import { composed, inService } from '../compose.ts'
import { check, step } from './steps.ts'

const read = (service: string, url: string): Promise<string> => inService(service, ['wget', '-q', '-O', '-', url])
const prometheus = async <T>(path: string): Promise<T> =>
  (JSON.parse(await read('prometheus', `http://127.0.0.1:9090/api/v1${path}`)) as { data: T }).data

interface Target {
  readonly health: string
  readonly labels: { readonly job: string }
  readonly lastError: string
}

export async function isMonitored(): Promise<void> {
  await step('Prometheus reaches all its targets, has loaded the rules, and knows Alertmanager', async () => {
    let targets: readonly Target[] = []
    const reached = async (): Promise<boolean> => {
      targets = (await prometheus<{ activeTargets: Target[] }>('/targets')).activeTargets
      return targets.length === 5 && targets.every(({ health }) => health === 'up')
    }
    const allUp = await until(reached, 60_000, 1000)
    check(allUp, JSON.stringify(targets.map(({ labels, health, lastError }) => [labels.job, health, lastError])))
    const { groups } = await prometheus<{ groups: { rules: { health: string }[] }[] }>('/rules')
    const rules = groups.flatMap((group) => group.rules)
    check(rules.length > 20 && rules.every(({ health }) => health !== 'err'), 'rules are missing or fail')
    const { activeAlertmanagers } = await prometheus<{ activeAlertmanagers: unknown[] }>('/alertmanagers')
    check(activeAlertmanagers.length === 1, 'Prometheus does not know Alertmanager')
    return `${targets.length} targets, ${rules.length} rules`
  })
}

interface Query {
  readonly title: string
  readonly expr: string
}

/** Of all panels; Grafana's variables become durations. */
const panelQueries: readonly Query[] = Object.values(dashboards)
  .flatMap(({ panels = [] }) => panels)
  .flatMap((panel) =>
    'targets' in panel
      ? ((panel.targets ?? []) as { expr?: string }[]).map(({ expr = '' }) => ({ title: panel.title ?? '', expr }))
      : [],
  )
  .map(({ title, expr }) => ({ title, expr: expr.replaceAll(/\$__(rate_interval|range)/g, '2m') }))

const rules = [...rulesIn('rules.yml'), ...rulesIn('alerts.yml')]
const metrics = [...new Set([...panelQueries, ...rules].flatMap(({ expr }) => metricsIn(expr)))]
// Only while a load generator of that kind runs, or something rings.
const ofK6 = new Set(exported['k6'])
const absent = new Set([...ofK6, 'ALERTS'])

const samples = async (expr: string): Promise<number> =>
  (await prometheus<{ result: unknown[] }>(`/query?query=${encodeURIComponent(expr)}`)).result.length

async function allAnswer(queries: readonly Query[], withinMs: number): Promise<void> {
  let silent = queries
  const answered = async (): Promise<boolean> => {
    const counts = await Promise.all(silent.map(({ expr }) => samples(expr)))
    silent = silent.filter((_, i) => counts[i] === 0)
    return silent.length === 0
  }
  await until(answered, withinMs, 5000)
  check(silent.length === 0, `no data: ${silent.map(({ title, expr }) => `${title}: ${expr}`).join('\n        ')}`)
}

/** While there is traffic, so that everything that counts has something to count. */
export async function queriesAnswer(): Promise<void> {
  await step('every metric of the rules and dashboards exists, and every panel has data', async () => {
    const expected: readonly Query[] = [
      ...metrics.filter((name) => !absent.has(name)).map((name) => ({ title: 'metric', expr: name })),
      ...panelQueries.filter(({ expr }) => !metricsIn(expr).some((name) => absent.has(name))),
    ]
    // The slowest rules are evaluated every 4 minutes.
    await allAnswer(expected, 300_000)
    // Alerts are silent while all is well: that they can be evaluated is what there is to see.
    for (const { expr } of rules) await samples(expr)
    return `${metrics.length} metrics, ${panelQueries.length} queries of panels, ${rules.length} rules`
  })
}

/** After a load test, which has sent its own figures. */
export async function loadPanelsAnswer(): Promise<string> {
  const expected = panelQueries.filter(({ expr }) => metricsIn(expr).some((name) => ofK6.has(name)))
  check(expected.length > 0, 'no panel shows what k6 measured')
  await allAnswer(expected, 30_000)
  return `${expected.length} queries`
}

interface Alert {
  readonly state: string
  readonly labels: { readonly alertname: string }
}

const firing = async (name: string): Promise<boolean> =>
  (await prometheus<{ alerts: Alert[] }>('/alerts')).alerts.some(
    ({ state, labels }) => state === 'firing' && labels.alertname === name,
  )

async function fires(name: string, withinMs: number): Promise<string> {
  const beganMs = performance.now()
  check(await until(() => firing(name), withinMs, 3000), `${name} does not fire`)
  return `${name} after ${((performance.now() - beganMs) / 1000).toFixed(0)} s`
}

async function ends(name: string, withinMs: number): Promise<string> {
  const beganMs = performance.now()
  check(await until(async () => !(await firing(name)), withinMs, 3000), `${name} still fires`)
  return `${name} after ${((performance.now() - beganMs) / 1000).toFixed(0)} s`
}

/** Redis goes, and two alerts ring; it comes back. */
export async function alertsRing(): Promise<void> {
  await step('without Redis, QuickLinkRedisDown and QuickLinkDbFallbackHigh fire', async () => {
    // Some traffic with Redis first: the rates look back.
    await sleep(20_000)
    await composed(['stop', 'redis'])
    try {
      const said = await Promise.all([fires('QuickLinkRedisDown', 240_000), fires('QuickLinkDbFallbackHigh', 300_000)])
      const known = JSON.parse(await read('alertmanager', 'http://127.0.0.1:9093/api/v2/alerts')) as Alert[]
      check(known.some(({ labels }) => labels.alertname === 'QuickLinkRedisDown'), 'Alertmanager was not told') // prettier-ignore
      return said.join(', ')
    } finally {
      await composed(['start', 'redis'])
    }
  })
}

export async function alertsEnd(): Promise<void> {
  await step('both end after its return', async () =>
    (await Promise.all([ends('QuickLinkRedisDown', 240_000), ends('QuickLinkDbFallbackHigh', 420_000)])).join(', '),
  )
}
