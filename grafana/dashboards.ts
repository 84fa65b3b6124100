// `npm run dashboards` writes what Grafana reads, and the page its links lead to; tests compare the two.
import { writeFileSync } from 'node:fs'
import { runbookFile, runbookPage } from '../prometheus/runbook.ts'
import { drills } from './drills.ts'
import { limits } from './limits.ts'
import { service } from './service.ts'

/** By file name, in grafana/dashboards/. */
export const dashboards = {
  'service.json': service.build(),
  'limits.json': limits.build(),
  'drills.json': drills.build(),
}

interface Query {
  readonly title: string
  readonly expr: string
}

/** Of all panels; Grafana's variables become this duration. */
export const panelQueries = (duration: string): readonly Query[] =>
  Object.values(dashboards)
    .flatMap(({ panels = [] }) => panels)
    .flatMap((panel) =>
      (('targets' in panel ? (panel.targets ?? []) : []) as Partial<Query>[]).map(({ expr = '' }) => ({
        title: panel.title ?? '',
        expr: expr.replaceAll(/\$__(rate_interval|range)/g, duration),
      })),
    )

export const asText = (dashboard: unknown): string => `${JSON.stringify(dashboard, null, 2)}\n`

if (import.meta.main) {
  for (const [name, dashboard] of Object.entries(dashboards)) {
    writeFileSync(new URL(`dashboards/${name}`, import.meta.url), asText(dashboard))
  }
  writeFileSync(runbookFile, runbookPage())
}
