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
  AnnotationQueryBuilder,
  // The format of every Grafana since 5; the one that the SDK prefers is read by the newest only.
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type Panel,
  type Threshold,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import * as stat from '@grafana/grafana-foundation-sdk/stat'
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries'
import { thresholds, type ThresholdAlert } from './thresholds.ts'

/** The variable at the top of each dashboard; its default is the provisioned source. */
const datasource = { type: 'prometheus', uid: '${datasource}' } as const
const provisioned = { text: 'Prometheus', value: 'quicklink-prometheus' }

export type Unit = 'percentunit' | 's' | 'reqps' | 'ops' | 'cpm' | 'short' | 'none'

export interface PanelSpec {
  readonly title: string
  /** What to do, or where to look next. */
  readonly what: string
  readonly unit: Unit
  /** Legend and expression. */
  readonly queries: Readonly<Record<string, string>>
  /** Of 24 columns. */
  readonly width?: number
  /** Draws the documented thresholds of this alert. */
  readonly alert?: ThresholdAlert
  /** Draws one line, for an alert (or a promise) with one threshold. */
  readonly line?: number
  /** Red below this. */
  readonly floor?: number
  /** Asked once, for the whole time shown, instead of over time. */
  readonly instant?: true
  readonly max?: number
  readonly stacked?: boolean
}

const line = (value: number | null, color: string): Threshold => ({ value, color })

function stepsOf({ alert, line: single, floor }: PanelSpec): Threshold[] {
  if (alert !== undefined) {
    const { warning, critical } = thresholds[alert]
    return critical > warning
      ? [line(null, 'green'), line(warning, 'orange'), line(critical, 'red')]
      : [line(null, 'red'), line(critical, 'orange'), line(warning, 'green')]
  }
  if (floor !== undefined) return [line(null, 'red'), line(floor, 'green')]
  return single === undefined ? [line(null, 'green')] : [line(null, 'green'), line(single, 'red')]
}

const configOf = (spec: PanelSpec): ThresholdsConfigBuilder =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(spec))

const describe = ({ what, alert }: PanelSpec): string => (alert === undefined ? what : `${what} Alert: ${alert}.`)

const targetsOf = ({ queries, instant }: PanelSpec): Builder<Dataquery>[] =>
  Object.entries(queries).map(([legend, expr], i) => {
    const query = new DataqueryBuilder()
      .refId(String.fromCharCode(65 + i))
      .datasource(datasource)
      .expr(expr)
      .legendFormat(legend)
    return instant ? query.instant() : query.range()
  })

/** Over time. */
export function graph(spec: PanelSpec): Builder<Panel> {
  const marked = spec.alert !== undefined || spec.line !== undefined
  const panel = new timeseries.PanelBuilder()
    .title(spec.title)
    .description(describe(spec))
    .datasource(datasource)
    .unit(spec.unit)
    .min(0)
    .height(8)
    .span(spec.width ?? 8)
    .targets(targetsOf(spec))
    .thresholds(configOf(spec))
    .thresholdsStyle(
      new common.GraphThresholdsStyleConfigBuilder().mode(
        marked ? GraphThresholdsStyleMode.Dashed : GraphThresholdsStyleMode.Off,
      ),
    )
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true)
        .calcs([]),
    )
    .tooltip(new common.VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .lineWidth(1)
    .fillOpacity(spec.stacked ? 30 : 5)
    .showPoints(VisibilityMode.Never)
  if (spec.max !== undefined) panel.max(spec.max)
  if (spec.stacked) panel.stacking(new common.StackingConfigBuilder().mode(StackingMode.Normal).group('A'))
  return panel
}

/** The last value, large. */
export function figure(spec: PanelSpec): Builder<Panel> {
  const panel = new stat.PanelBuilder()
    .title(spec.title)
    .description(describe(spec))
    .datasource(datasource)
    .unit(spec.unit)
    .height(5)
    .span(spec.width ?? 6)
    .targets(targetsOf(spec))
    .thresholds(configOf(spec))
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
  if (spec.max !== undefined) panel.max(spec.max)
  return panel
}

export interface RowSpec {
  readonly title: string
  readonly panels: readonly Builder<Panel>[]
}

export interface DashboardSpec {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly RowSpec[]
  /** Marks in time: name, colour, and the tags that Grafana's own annotations carry. */
  readonly marks?: readonly { readonly name: string; readonly color: string; readonly tags: readonly string[] }[]
}

const grafanaItself = { type: 'grafana', uid: '-- Grafana --' }

function mark({ name, color, tags }: NonNullable<DashboardSpec['marks']>[number]): AnnotationQueryBuilder {
  const target = { type: 'tags', tags: [...tags], matchAny: false, limit: 100 }
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(grafanaItself)
    .enable(true)
    .iconColor(color)
    .target({ build: () => ({ ...target, _implementsDataqueryVariant: () => undefined }) })
}

// eslint-disable-next-line @typescript-eslint/no-deprecated
export function dashboard({ uid, title, description, rows, marks = [] }: DashboardSpec): DashboardBuilder {
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const built = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['quicklink'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: 'now-3h', to: 'now' })
    .timezone('browser')
    .refresh('30s')
    .withVariable(
      new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus').current(provisioned),
    )
    .link(
      new DashboardLinkBuilder('QuickLink')
        .type(DashboardLinkType.Dashboards)
        .tags(['quicklink'])
        .asDropdown(false)
        .keepTime(true)
        .includeVars(true),
    )
    .annotations(marks.map(mark))
  // Given here, because Grafana would count anew at every change, and links to panels would break.
  let id = 0
  for (const row of rows) {
    built.withRow(new RowBuilder(row.title).id(++id))
    for (const panel of row.panels) {
      const numbered = { ...panel.build(), id: ++id }
      built.withPanel({ build: () => numbered })
    }
  }
  return built
}
