// Prometheus sees everything, every query means something, and alerts ring and end.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { panelQueries } from '../../grafana/dashboards.ts'
import { exported } from '../../prometheus/exporters.ts'
import { metricsIn, rulesIn } from '../../prometheus/promql.ts'
import { composed, inService } from '../compose.ts'

const read = (service: string, url: string): Promise<string> => inService(service, ['wget', '-q', '-O', '-', url])
const prometheus = async <T>(path: string): Promise<T> =>
  (JSON.parse(await read('prometheus', `http://127.0.0.1:9090/api/v1${path}`)) as { data: T }).data

interface Target {
  readonly health: string
  readonly labels: { readonly job: string }
  readonly lastError: string
}

export function isMonitored(): void {
  test('Prometheus reaches all its targets, has loaded the rules, and knows Alertmanager', async () => {
    const targets = async (): Promise<object> => {
      const { activeTargets: all } = await prometheus<{ activeTargets: Target[] }>('/targets')
      return { count: all.length, away: all.filter(({ health }) => health !== 'up') }
    }
    await expect.poll(targets, { timeout: 60_000, interval: 1000 }).toEqual({ count: 5, away: [] })
    const { groups } = await prometheus<{ groups: { rules: { health: string }[] }[] }>('/rules')
    const rules = groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(20)
    expect(rules.filter(({ health }) => health === 'err')).toEqual([])
    const { activeAlertmanagers } = await prometheus<{ activeAlertmanagers: unknown[] }>('/alertmanagers')
    expect(activeAlertmanagers).toHaveLength(1)
  })
}

const queries = panelQueries('2m')
type Query = (typeof queries)[number]

const rules = [...rulesIn('rules.yml'), ...rulesIn('alerts.yml')]
const metrics = [...new Set([...queries, ...rules].flatMap(({ expr }) => metricsIn(expr)))]
// Only while a load generator of that kind runs, or something rings.
const ofK6 = new Set(exported['k6'])
const absent = new Set([...ofK6, 'ALERTS', 'ALERTS_FOR_STATE'])

const samples = async (expr: string): Promise<number> =>
  (await prometheus<{ result: unknown[] }>(`/query?query=${encodeURIComponent(expr)}`)).result.length

async function allAnswer(asked: readonly Query[], timeout: number): Promise<void> {
  let silent = asked
  const answered = async (): Promise<readonly Query[]> => {
    const counts = await Promise.all(silent.map(({ expr }) => samples(expr)))
    return (silent = silent.filter((_, i) => counts[i] === 0))
  }
  await expect.poll(answered, { timeout, interval: 5000, message: 'no data' }).toEqual([])
}

/** While there is traffic, so that everything that counts has something to count. */
export function queriesAnswer(): void {
  test('every metric of the rules and dashboards exists, and every panel has data', async () => {
    const expected: readonly Query[] = [
      ...metrics.filter((name) => !absent.has(name)).map((name) => ({ title: 'metric', expr: name })),
      ...queries.filter(({ expr }) => !metricsIn(expr).some((name) => absent.has(name))),
    ]
    // The slowest rules are evaluated every 4 minutes.
    await allAnswer(expected, 300_000)
    // Alerts are silent while all is well: that they can be evaluated is what there is to see.
    for (const { expr } of rules) await samples(expr)
  })
}

/** After a load test, which has sent its own figures. */
export async function loadPanelsAnswer(): Promise<void> {
  const expected = queries.filter(({ expr }) => metricsIn(expr).some((name) => ofK6.has(name)))
  expect(expected, 'no panel shows what k6 measured').not.toEqual([])
  await allAnswer(expected, 30_000)
}

interface Alert {
  readonly state: string
  readonly labels: { readonly alertname: string }
}

async function ringing(states: readonly string[]): Promise<string[]> {
  const { alerts } = await prometheus<{ alerts: Alert[] }>('/alerts')
  return alerts.filter(({ state }) => states.includes(state)).map(({ labels }) => labels.alertname)
}
const firing = (): Promise<string[]> => ringing(['firing'])
const begun = (): Promise<string[]> => ringing(['pending', 'firing'])

/** Redis goes, and an alert rings; it comes back. How long each waits, and when it ends, is promtool's matter (alerts.test.yml). */
export function alertsRing(): void {
  test('without Redis, QuickLinkRedisDown fires, and QuickLinkDbFallbackHigh begins', async () => {
    // Some traffic with Redis first: the rates look back.
    await sleep(20_000)
    await composed(['stop', 'redis'])
    try {
      await Promise.all([
        expect.poll(firing, { timeout: 240_000, interval: 3000 }).toContain('QuickLinkRedisDown'),
        expect.poll(begun, { timeout: 240_000, interval: 3000 }).toContain('QuickLinkDbFallbackHigh'),
      ])
      const known = async (): Promise<string[]> =>
        (JSON.parse(await read('alertmanager', 'http://127.0.0.1:9093/api/v2/alerts')) as Alert[]).map(
          ({ labels }) => labels.alertname,
        )
      await expect.poll(known, { timeout: 30_000, interval: 1000 }).toContain('QuickLinkRedisDown')
    } finally {
      await composed(['start', 'redis'])
    }
  })
}

export function alertsEnd(): void {
  test('QuickLinkRedisDown ends after its return', async () => {
    await expect.poll(firing, { timeout: 240_000, interval: 3000 }).not.toContain('QuickLinkRedisDown')
  })
}
