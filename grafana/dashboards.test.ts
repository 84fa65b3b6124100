import { globSync, readFileSync } from 'node:fs'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { exported } from '../prometheus/exporters.ts'
import { metricsIn, rulesIn, thresholdOf } from '../prometheus/promql.ts'
import { createMetrics } from '../server/telemetry/metrics.ts'
import { asText, dashboards } from './dashboards.ts'
import { coloursOf } from './look.ts'
import { burnRates, thresholds } from './thresholds.ts'

const here = new URL('.', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, here), 'utf8')

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description: string
  readonly datasource: { readonly type: string; readonly uid: string }
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: {
    readonly refId: string
    readonly expr: string
    readonly datasource: unknown
  }[]
  readonly fieldConfig: {
    readonly defaults: {
      readonly unit: string
      readonly max?: number
      readonly thresholds: { readonly steps: { readonly value: number | null; readonly color: string }[] }
      readonly custom?: { readonly axisSoftMax?: number; readonly scaleDistribution?: { readonly type: string } }
    }
    readonly overrides: {
      readonly matcher: { readonly id: string; readonly options: unknown }
      readonly properties: { readonly id: string; readonly value: unknown }[]
    }[]
  }
}
interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly panels: Panel[]
  readonly templating: { list: { name: string; type: string; query: string; current: { value: string } }[] }
  readonly links: object[]
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
    expect(['timeseries', 'stat', 'state-timeline', 'table'], title).toContain(type)
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

const alertRules = rulesIn('alerts.yml')
const valueOf = (name: string, severity: string): number | undefined => {
  const rule = alertRules.find(({ alert, labels }) => alert === name && labels?.['severity'] === severity)
  return rule && thresholdOf(rule.expr)
}
const drawnBy = (name: string) =>
  panels
    .filter(({ description }) => description.includes(`Alert: ${name}.`))
    .map(({ fieldConfig }) => fieldConfig.defaults.thresholds.steps)

test('the thresholds of alerts are drawn where their panels are, a warning orange and a critical one red', () => {
  for (const name of Object.keys(thresholds)) {
    const [warning, critical] = [valueOf(name, 'warning'), valueOf(name, 'critical')]
    const lines = [
      ...(warning === undefined ? [] : [{ value: warning, color: 'orange' }]),
      ...(critical === undefined ? [] : [{ value: critical, color: 'red' }]),
    ]
    const steps = [{ value: null, color: 'green' }, ...lines.toSorted((a, b) => a.value - b.value)]
    expect(lines, name).not.toEqual([])
    expect(drawnBy(name), name).not.toEqual([])
    for (const drawn of drawnBy(name)) expect(drawn, name).toEqual(steps)
  }
})

test('a burn is drawn as a share of what rings over its window', () => {
  const rules = alertRules.filter(({ alert }) => alert === 'QuickLinkRedirectSloBurn')
  expect(rules.map(({ labels }) => labels?.['window'])).toEqual(Object.keys(burnRates))
  const [panel] = panels.filter(({ description }) => description.includes('Alert: QuickLinkRedirectSloBurn.'))
  for (const [n, [window, rate]] of Object.entries(burnRates).entries()) {
    expect(thresholdOf(rules[n]?.expr ?? ''), window).toBeCloseTo(rate * 0.001, 9)
    expect(panel?.targets[n]?.expr).toBe(`quicklink:redirect_bad:ratio${window} / (${rate} * 0.001)`)
  }
  expect(panel?.fieldConfig.defaults.thresholds.steps).toEqual([
    { value: null, color: 'green' },
    { value: 1, color: 'red' },
  ])
})

test('a panel names alerts that there are', () => {
  for (const { title, description } of panels) {
    for (const [, names = ''] of description.matchAll(/Alerts?: ([\w, ]+)\./g)) {
      for (const name of names.split(', '))
        expect(
          alertRules.map(({ alert }) => alert),
          title,
        ).toContain(name)
    }
  }
})

test('what a panel shows has one colour wherever it is: each status, tier and source has its own', async () => {
  const samples = await createMetrics().registry.getMetricsAsJSON()
  const valuesOf = (metric: string, label: string): string[] =>
    samples
      .filter(({ name }) => name === metric)
      .flatMap(({ values }) => values.map(({ labels }) => String((labels as Record<string, unknown>)[label])))
  for (const [legend, metric] of Object.entries({
    status: 'quicklink_redirects_total',
    tier: 'quicklink_cache_hit_total',
    source: 'quicklink_lookups_total',
  })) {
    const named = new Map(coloursOf(`{{${legend}}}`))
    const colours = valuesOf(metric, legend).map((value) => named.get(value))
    expect(colours, legend).not.toContain(undefined)
    expect(new Set(colours).size, legend).toBe(colours.length)
  }
  const seen = new Map<unknown, unknown>()
  for (const { title, fieldConfig } of panels) {
    for (const { matcher, properties } of fieldConfig.overrides) {
      const colour = properties.find(({ id }) => id === 'color')?.value
      if (matcher.id !== 'byName' || colour === undefined) continue
      if (seen.has(matcher.options))
        expect(colour, `${String(matcher.options)} in ${title}`).toEqual(seen.get(matcher.options))
      seen.set(matcher.options, colour)
    }
  }
  expect(seen.size).toBeGreaterThan(10)
})

test('next to nothing does not fill an axis, and of several series those that are always zero leave the legend', () => {
  const graphs = panels.filter(({ type }) => type === 'timeseries')
  for (const { title, fieldConfig, targets } of graphs) {
    const { max, custom = {} } = fieldConfig.defaults
    const bounded = max ?? custom.axisSoftMax ?? (custom.scaleDistribution?.type === 'log' ? 'by magnitude' : undefined)
    expect(bounded, title).toBeDefined()
    const hidden = fieldConfig.overrides.some(({ matcher }) => matcher.id === 'byValue')
    if (targets.length > 1) expect(hidden, title).toBe(true)
  }
})

test('links to the other dashboards and the marks are in sight, and not in a menu', () => {
  for (const { title, links, annotations } of checkedIn) {
    expect(links, title).toHaveLength(1)
    for (const each of [...links, ...annotations.list]) expect(each, title).not.toHaveProperty('placement')
  }
})

test('what rings is a table whose links open the runbook at the name of the alert', () => {
  const [rings] = panels.filter(({ type }) => type === 'table')
  const links = rings?.fieldConfig.overrides.flatMap(({ properties }) =>
    properties.filter(({ id }) => id === 'links').flatMap(({ value }) => value as { url: string }[]),
  )
  expect(links?.map(({ url }) => url)).toEqual(['/public/runbook.html#${__data.fields.Alert}'])
})

test('the marks of drills and load runs are annotations of Grafana itself, by tag', () => {
  const drills = checkedIn.find(({ uid }) => uid === 'quicklink-drills')
  expect(drills?.annotations.list.map(({ target }) => target.tags)).toEqual([
    ...['start', 'fault', 'heal'].map((tag) => ['quicklink-drill', tag]),
    ['quicklink', 'load'],
  ])
  for (const { datasource, target } of drills?.annotations.list ?? []) {
    expect(datasource.uid).toBe('-- Grafana --')
    expect(target.type).toBe('tags')
  }
})

test('provisioning names one folder, fixed data sources, and a home that exists; no folder that Grafana looks into is missing', () => {
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
  for (const folder of ['plugins', 'alerting']) {
    expect(globSync(`provisioning/${folder}/*.yml`, { cwd: here.pathname }), folder).toHaveLength(1)
  }
})
