import { globSync, readFileSync } from 'node:fs'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { exported } from '../prometheus/exporters.ts'
import { metricsIn, rulesIn, thresholdOf } from '../prometheus/promql.ts'
import { createMetrics } from '../server/telemetry/metrics.ts'
import { asText, dashboards } from './dashboards.ts'
import { thresholds } from './thresholds.ts'

const here = new URL('.', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, here), 'utf8')

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description: string
  readonly datasource: { readonly type: string; readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: { readonly refId: string; readonly expr: string; readonly datasource: unknown }[]
  readonly fieldConfig: {
    readonly defaults: {
      readonly unit: string
      readonly thresholds: { readonly steps: { readonly value: number | null; readonly color: string }[] }
    }
  }
}
interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: Panel[]
  readonly templating: { list: { name: string; type: string; query: string; current: { value: string } }[] }
  readonly annotations: {
    list: { name: string; datasource: { uid: string }; target: { type: string; tags: string[] } }[]
  }
}

const files = globSync('**/*.json', { cwd: here.pathname }).map((path) => path.replace('dashboards/', ''))
const checkedIn = Object.keys(dashboards).map((name) => JSON.parse(read(`dashboards/${name}`)) as Dashboard)
const panels = checkedIn.flatMap((dashboard) => dashboard.panels).filter(({ type }) => type !== 'row')
const sources = (
  parse(read('provisioning/datasources/datasources.yml')) as { datasources: { uid: string; type: string }[] }
).datasources

test('what is checked in is what the code makes, and there is no other JSON', () => {
  expect(files.toSorted()).toEqual(Object.keys(dashboards).toSorted())
  for (const [name, dashboard] of Object.entries(dashboards)) {
    expect(read(`dashboards/${name}`), `${name}: npm run dashboards`).toBe(asText(dashboard))
  }
})

test('every panel has a title, a unit, and a description that says what to do', () => {
  const units = ['percentunit', 's', 'reqps', 'ops', 'cpm', 'short', 'none']
  for (const { type, title, description, fieldConfig, targets } of panels) {
    expect(['timeseries', 'stat'], title).toContain(type)
    expect(title).toMatch(/^\S/)
    expect(description, title).toMatch(/\S.{20,}\.$/)
    expect(units, title).toContain(fieldConfig.defaults.unit)
    expect(targets.length, title).toBeGreaterThan(0)
  }
})

test('every query goes to the data source of the variable, whose default is the provisioned one', () => {
  for (const { templating } of checkedIn) {
    expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource', query: 'prometheus' }])
    expect(sources).toContainEqual(
      expect.objectContaining({ uid: templating.list[0]?.current.value, type: 'prometheus' }),
    )
  }
  const variable = { type: 'prometheus', uid: '${datasource}' }
  for (const { title, datasource, targets } of panels) {
    expect(datasource, title).toEqual(variable)
    for (const target of targets) expect(target.datasource, title).toEqual(variable)
  }
})

test('ranges follow the time shown: $__rate_interval everywhere', () => {
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      for (const [, range] of expr.matchAll(/\[(.*?)\]/g))
        expect(['$__rate_interval', '$__range'], title).toContain(range)
    }
  }
})

test('ids are unique, and panels lie side by side in the 24 columns', () => {
  for (const { title, panels: all } of checkedIn) {
    expect(new Set(all.map(({ id }) => id)).size, title).toBe(all.length)
    const taken = new Set<string>()
    for (const panel of all) {
      const { x, y, w, h } = panel.gridPos
      expect(x + w, panel.title).toBeLessThanOrEqual(24)
      for (let column = x; column < x + w; column++) {
        for (let line = y; line < y + h; line++) {
          expect(taken.has(`${column},${line}`), `${panel.title} lies over another panel`).toBe(false)
          taken.add(`${column},${line}`)
        }
      }
    }
    for (const { title: panel, targets = [] } of all) {
      expect(new Set(targets.map(({ refId }) => refId)).size, panel).toBe(targets.length)
    }
  }
  expect(new Set(checkedIn.map(({ uid }) => uid)).size).toBe(checkedIn.length)
})

test('each metric that a panel shows exists', () => {
  const processMetrics = new Registry()
  collectDefaultMetrics({ register: processMetrics })
  const own = [createMetrics().registry, processMetrics].flatMap((registry) => registry.getMetricsAsArray())
  processMetrics.clear()
  const known = new Set([
    ...own.flatMap(({ name }) => [name, `${name}_bucket`, `${name}_count`, `${name}_sum`]),
    ...Object.values(exported).flat(),
    ...rulesIn('rules.yml').map(({ record }) => record),
  ])
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      for (const metric of metricsIn(expr)) expect(known, `${metric} in ${title}`).toContain(metric)
    }
  }
})

test('the documented thresholds are drawn, and are those of the alerts', () => {
  const alerts = rulesIn('alerts.yml')
  for (const name of Object.keys(thresholds)) {
    const value = (severity: string): number =>
      thresholdOf(alerts.find(({ alert, labels }) => alert === name && labels?.['severity'] === severity)?.expr ?? '')
    const drawn = panels
      .filter(({ description }) => description.includes(`Alert: ${name}.`))
      .map(({ fieldConfig }) => fieldConfig.defaults.thresholds.steps)
    const [warning, critical] = [value('warning'), value('critical')]
    const higherIsWorse = critical > warning
    expect(drawn, name).toEqual([
      [
        { value: null, color: higherIsWorse ? 'green' : 'red' },
        { value: higherIsWorse ? warning : critical, color: 'orange' },
        { value: higherIsWorse ? critical : warning, color: higherIsWorse ? 'red' : 'green' },
      ],
    ])
  }
  for (const { title, description, fieldConfig } of panels) {
    for (const [, name = ''] of description.matchAll(/Alert: (\w+)/g)) {
      const rules = alerts.filter(({ alert }) => alert === name)
      expect(rules, title).not.toEqual([])
      const [, line] = fieldConfig.defaults.thresholds.steps
      // A burn rate is drawn as such, and compared as a share.
      const unit = name === 'QuickLinkRedirectSloBurn' ? 0.001 : 1
      if (!(name in thresholds) && line)
        expect((line.value ?? 0) * unit, title).toBeCloseTo(thresholdOf(rules[0]?.expr ?? ''), 6)
    }
  }
})

test('the marks of a drill are annotations of Grafana itself, by tag', () => {
  const drills = checkedIn.find(({ uid }) => uid === 'quicklink-drills')
  expect(drills?.annotations.list.map(({ target }) => target.tags)).toEqual(
    ['start', 'fault', 'heal'].map((tag) => ['quicklink-drill', tag]),
  )
  for (const { datasource, target } of drills?.annotations.list ?? []) {
    expect(datasource.uid).toBe('-- Grafana --')
    expect(target.type).toBe('tags')
  }
})

test('provisioning names one folder, fixed data sources, and a home that exists', () => {
  const { providers } = parse(read('provisioning/dashboards/dashboards.yml')) as {
    providers: Record<string, unknown>[]
  }
  expect(providers).toHaveLength(1)
  expect(providers[0]).toMatchObject({ folder: 'QuickLink', options: { path: '/var/lib/grafana/dashboards' } })
  expect(providers[0]).not.toHaveProperty('folderUid')
  expect(sources.map(({ uid, type }) => [uid, type])).toEqual([
    ['quicklink-prometheus', 'prometheus'],
    ['quicklink-alertmanager', 'alertmanager'],
  ])
  const [, home = ''] =
    /^default_home_dashboard_path = \/var\/lib\/grafana\/dashboards\/(.+)$/m.exec(read('grafana.ini')) ?? []
  expect(Object.keys(dashboards)).toContain(home)
})
