// The few kinds of panels there are. Each has a title, a unit and a sentence that says what to do.
import type { Builder, Dataquery } from '@grafana/grafana-foundation-sdk/cog'
import {
  GraphThresholdsStyleMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingMode,
  TooltipDisplayMode,
  VisibilityMode,
} from '@grafana/grafana-foundation-sdk/common'
import * as common from '@grafana/grafana-foundation-sdk/common'
import {
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type DynamicConfigValue,
  type Panel,
  type Threshold,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stat from '@grafana/grafana-foundation-sdk/stat'
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline'
import * as table from '@grafana/grafana-foundation-sdk/table'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'
import { coloursOf, level, reach, type Unit } from './look.ts'
import { thresholds, type ThresholdAlert, type Thresholds } from './thresholds.ts'

/** The variable at the top of each dashboard; its default is the provisioned source. */
export const datasource = { type: 'prometheus', uid: '${datasource}' } as const

interface Said {
  readonly title: string
  /** What to do, or where to look next. */
  readonly what: string
  /** Of 24 columns. */
  readonly width?: number
}

interface Asked extends Said {
  /** Legend and expression. */
  readonly queries: Readonly<Record<string, string>>
}

interface Drawn extends Asked {
  readonly unit: Unit
  /** Draws the thresholds of this alert. */
  readonly alert?: ThresholdAlert
  /** Orange from here on, or red: for what is no threshold of an alert. */
  readonly warning?: number
  readonly critical?: number
  readonly max?: number
}

interface Graph extends Drawn {
  readonly stacked?: true
  /** A series of its own, which keeps the line in sight on an axis of magnitudes. */
  readonly promise?: number
  /** Magnitudes: half a millisecond and half a second are both to be read. */
  readonly logarithmic?: true
  /** The axis shows at least so much. */
  readonly reaches?: number
}

interface Figure extends Drawn {
  /** Red below this. */
  readonly floor?: number
  /** Asked once, for the whole time shown, instead of over time. */
  readonly instant?: true
  /** Legends of the queries that are a duration. */
  readonly durations?: readonly string[]
}

const step = (value: number | null, color: string): Threshold => ({ value, color })

const linesOf = ({ alert, warning, critical }: Drawn): Thresholds =>
  alert === undefined
    ? { ...(warning !== undefined && { warning }), ...(critical !== undefined && { critical }) }
    : thresholds[alert]

/** A line has the colour of what is worse than it, on whichever side that is. */
function stepsOf(spec: Drawn & { readonly floor?: number }): Threshold[] {
  if (spec.floor !== undefined) return [step(null, level.critical), step(spec.floor, level.good)]
  const { warning, critical } = linesOf(spec)
  const lines = [
    ...(warning === undefined ? [] : [{ value: warning, color: level.warning }]),
    ...(critical === undefined ? [] : [{ value: critical, color: level.critical }]),
  ]
  return [step(null, level.good), ...lines.toSorted((a, b) => a.value - b.value)]
}

const configOf = (spec: Parameters<typeof stepsOf>[0]): ThresholdsConfigBuilder =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(spec))

const describe = ({ what, alert }: Drawn): string => (alert === undefined ? what : `${what} Alert: ${alert}.`)

const targetsOf = (queries: Asked['queries'], instant?: true): Builder<Dataquery>[] =>
  Object.entries(queries).map(([legend, expr], i) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + i))
      .datasource(datasource)
      .expr(expr)
      .legendFormat(legend)
    return instant ? query.instant() : query.range()
  })

const property = (id: string, value: unknown): DynamicConfigValue => ({ id, value })
const inColour = (colour: string): DynamicConfigValue => property('color', { mode: 'fixed', fixedColor: colour })

const legend = (): Builder<common.VizLegendOptions> =>
  new common.VizLegendOptionsBuilder()
    .displayMode(LegendDisplayMode.List)
    .placement(LegendPlacement.Bottom)
    .showLegend(true)
    .calcs([])

/** Over time. */
export function graph(spec: Graph): Builder<Panel> {
  const lines = Object.values(linesOf(spec))
  const panel = new timeseries.PanelBuilder()
    .title(spec.title)
    .description(describe(spec))
    .datasource(datasource)
    .unit(spec.unit)
    .height(8)
    .span(spec.width ?? 8)
    .thresholds(configOf(spec))
    .thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(
        lines.length > 0 ? GraphThresholdsStyleMode.Dashed : GraphThresholdsStyleMode.Off,
      ),
    )
    .legend(legend())
    .tooltip(new common.VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .lineWidth(1)
    .fillOpacity(spec.stacked ? 30 : 5)
    .showPoints(VisibilityMode.Never)
  // Zero is no magnitude.
  if (spec.logarithmic)
    panel.scaleDistribution(new common.ScaleDistributionConfigBuilder().type(common.ScaleDistribution.Log).log(10))
  else panel.min(0)
  if (spec.max !== undefined) panel.max(spec.max)
  else if (!spec.logarithmic) panel.axisSoftMax(spec.reaches ?? reach[spec.unit])
  if (spec.stacked) panel.stacking(new common.StackingConfigBuilder().mode(StackingMode.Normal).group('A'))
  const promised: Asked['queries'] = spec.promise === undefined ? {} : { promise: `vector(${spec.promise})` }
  const queries = { ...spec.queries, ...promised }
  panel.targets(targetsOf(queries))
  const legends = Object.keys(queries)
  for (const [name, colour] of legends.flatMap(coloursOf)) panel.overrideByName(name, [inColour(colour)])
  if (spec.promise !== undefined)
    panel.overrideByName('promise', [
      property('custom.lineStyle', { fill: 'dash', dash: [10, 10] }),
      property('custom.fillOpacity', 0),
    ])
  // Of several, those that are always zero are only in the way; stacked, they would be a line along the top.
  if (legends.length > 1 || legends.some((name) => name.includes('{{')))
    panel.withOverride({
      matcher: { id: 'byValue', options: { reducer: 'allIsZero', op: 'gte', value: 0 } },
      properties: [property('custom.hideFrom', { legend: true, tooltip: true, viz: spec.stacked === true })],
    })
  return panel
}

/** The last value, large. */
export function figure(spec: Figure): Builder<Panel> {
  const panel = new stat.PanelBuilder()
    .title(spec.title)
    .description(describe(spec))
    .datasource(datasource)
    .unit(spec.unit)
    .height(5)
    .span(spec.width ?? 6)
    .targets(targetsOf(spec.queries, spec.instant))
    .thresholds(configOf(spec))
    .min(0)
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(spec.durations ? common.BigValueGraphMode.None : common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
  if (spec.max !== undefined) panel.max(spec.max)
  // Two values side by side, of which the longer one would make both small.
  if (spec.durations) panel.text(new common.VizTextDisplayOptionsBuilder().titleSize(12).valueSize(15))
  for (const name of spec.durations ?? [])
    panel.overrideByName(name, [property('unit', 'dtdurations'), inColour('text')])
  return panel
}

const mapping = (states: readonly (readonly [string, string])[]): ValueMapping => ({
  type: MappingType.ValueToText,
  options: Object.fromEntries(states.map(([text, color], index) => [String(index), { text, color, index }])),
})

interface States extends Asked {
  /** What 0, 1 and 2 mean, and their colours; and of one series, by its name, something else. */
  readonly states: readonly (readonly [string, string])[]
  readonly but?: Readonly<Record<string, readonly (readonly [string, string])[]>>
}

/** What was on, and when. Of an interval the worst is shown, or what was short would be lost. */
export function timeline(spec: States): Builder<Panel> {
  const panel = new statetimeline.PanelBuilder()
    .title(spec.title)
    .description(spec.what)
    .datasource(datasource)
    .unit('none')
    .height(8)
    .span(spec.width ?? 8)
    .targets(targetsOf(spec.queries))
    .thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([step(null, level.good)]))
    .mappings([mapping(spec.states)])
    .legend(legend())
    .mergeValues(true)
    .disablePagination()
    .showValue(VisibilityMode.Auto)
    .lineWidth(0)
    .fillOpacity(80)
  for (const [name, states] of Object.entries(spec.but ?? {}))
    panel.overrideByName(name, [property('mappings', [mapping(states)])])
  return panel
}

interface Alerts extends Said {
  /** Gives a series for each that rings, and since when (Unix time, in ms). */
  readonly expr: string
  /** Where the runbook has a heading for each. */
  readonly runbook: string
}

/** What rings: how bad, which, since when, and a link to its heading in the runbook. */
export function alerts(spec: Alerts): Builder<Panel> {
  const query = new DataqueryBuilder().refId('A').datasource(datasource).expr(spec.expr)
  const severities = [['critical', level.critical], ['warning', level.warning]] as const // prettier-ignore
  const columns = ['severity', 'alertname', 'Value', 'instance', 'task', 'window']
  const names = { severity: 'Severity', alertname: 'Alert', Value: 'Since', instance: 'Of', task: 'Task', window: 'Window' } // prettier-ignore
  return new table.PanelBuilder()
    .title(spec.title)
    .description(spec.what)
    .datasource(datasource)
    .unit('none')
    .height(5)
    .span(spec.width ?? 8)
    .targets([query.format(PromQueryFormat.Table).instant()])
    .noValue('Nothing rings.')
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: { Time: true, __name__: true, job: true },
        indexByName: Object.fromEntries(columns.map((name, i) => [name, i])),
        renameByName: names,
      },
    })
    .sortBy([new common.TableSortByFieldStateBuilder().displayName(names.severity).desc(false)])
    .overrideByName(names.severity, [
      property('mappings', [
        {
          type: MappingType.ValueToText,
          options: Object.fromEntries(severities.map(([text, color], index) => [text, { text, color, index }])),
        },
      ]),
      property('custom.cellOptions', { type: 'color-text' }),
      property('custom.width', 76),
    ])
    .overrideByName(names.alertname, [
      property('links', [
        { title: 'Open the runbook', url: `${spec.runbook}#\${__data.fields.Alert}`, targetBlank: true },
      ]),
    ])
    .overrideByName(names.Value, [property('unit', 'dateTimeFromNow'), property('custom.width', 112)])
}
