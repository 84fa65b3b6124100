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

/** The whole run. */
export function regionOf({ kind, name, verdict, title, at, phases }: Report): Annotation {
  const time = Date.parse(at)
  const timeEnd = time + 1000 * Math.max(0, ...phases.map(({ toS }) => toS))
  return { time, timeEnd, tags: ['quicklink', kind, name], text: `${verdict}: ${name}. ${title}` }
}
