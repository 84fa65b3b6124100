// What all dashboards have: a data source to choose, links to each other, rows of panels, marks in time.
import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import {
  AnnotationQueryBuilder,
  // The format of every Grafana since 5; the one that the SDK prefers is read by the newest only.
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  RowBuilder,
  type Panel,
} from '@grafana/grafana-foundation-sdk/dashboard'

const provisioned = { text: 'Prometheus', value: 'quicklink-prometheus' }

interface Row {
  readonly title: string
  readonly panels: readonly Builder<Panel>[]
}

interface Mark {
  readonly name: string
  readonly color: string
  /** That Grafana's own annotations carry. */
  readonly tags: readonly string[]
}

interface DashboardSpec {
  readonly uid: string
  readonly title: string
  readonly description: string
  readonly rows: readonly Row[]
  readonly marks?: readonly Mark[]
  /** What is shown at first, and how often it is asked anew. */
  readonly from?: string
  readonly refresh?: string
}

/** The SDK would put what has a placement into a menu; what has none is in sight. */
const inSight = <T extends { placement?: unknown }>(builder: Builder<T>): Builder<T> => {
  const built = builder.build()
  delete built.placement
  return { build: () => built }
}

const grafanaItself = { type: 'grafana', uid: '-- Grafana --' }

function mark({ name, color, tags }: Mark) {
  const target = { type: 'tags', tags: [...tags], matchAny: false, limit: 100 }
  return inSight(
    new AnnotationQueryBuilder()
      .name(name)
      .datasource(grafanaItself)
      .enable(true)
      .iconColor(color)
      .target({ build: () => ({ ...target, _implementsDataqueryVariant: () => undefined }) }),
  )
}

// eslint-disable-next-line @typescript-eslint/no-deprecated
export function dashboard(spec: DashboardSpec): DashboardBuilder {
  const { uid, title, description, rows, marks = [] } = spec
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const built = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['quicklink'])
    .readonly()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: spec.from ?? 'now-3h', to: 'now' })
    .timezone('browser')
    .refresh(spec.refresh ?? '30s')
    .withVariable(
      new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus').current(provisioned),
    )
    .link(
      inSight(
        new DashboardLinkBuilder('QuickLink')
          .type(DashboardLinkType.Dashboards)
          .tags(['quicklink'])
          .asDropdown(false)
          .keepTime(true)
          .includeVars(true),
      ),
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
