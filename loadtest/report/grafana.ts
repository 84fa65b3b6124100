// Marks on the dashboards, where a Grafana is. Nobody relies on them: what cannot be marked is not.
import type { Report } from './report.ts'

export interface Grafana {
  readonly url: string
  readonly authorization: string
}

/** Of the user whose password it is. */
export const basic = (password: string): string => `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`

interface Annotation {
  readonly time: number
  /** Of a region. */
  readonly timeEnd?: number
  /** By these the dashboards find it (grafana/drills.ts). */
  readonly tags: readonly string[]
  readonly text: string
}

/** False: Grafana did not take it. */
export async function annotate({ url, authorization }: Grafana, annotation: Annotation): Promise<boolean> {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
  const asked = { method: 'POST', headers, body: JSON.stringify(annotation), signal: AbortSignal.timeout(5000) }
  const answer = await fetch(`${url}/api/annotations`, asked).catch(() => undefined)
  return answer?.ok === true
}

/** Unix time in ms. */
function spanOf({ at, phases }: Pick<Report, 'at' | 'phases'>): { time: number; timeEnd: number } {
  const time = Date.parse(at)
  return { time, timeEnd: time + 1000 * Math.max(0, ...phases.map(({ toS }) => toS)) }
}

/** The whole run. */
export const regionOf = (report: Report): Annotation => ({
  ...spanOf(report),
  tags: ['quicklink', report.kind, report.name],
  text: `${report.verdict}: ${report.name}. ${report.title}`,
})

const aroundMs = 30_000

/** Load and drills (grafana/drills.ts), at the time of the run and a little around it. */
export function dashboardUrl(grafanaUrl: string, report: Pick<Report, 'at' | 'phases'>): string {
  const { time, timeEnd } = spanOf(report)
  return `${grafanaUrl.replace(/\/$/, '')}/d/quicklink-drills?from=${time - aroundMs}&to=${timeEnd + aroundMs}`
}
