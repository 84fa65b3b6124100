// What rings while a drill lasts, by Prometheus's own account.
import { repeat } from '../../measure/repeat.ts'
import { clockMs } from './load.ts'

export interface Ringing {
  readonly name: string
  readonly severity: string
  /** When it was first seen firing, and when it no longer was. */
  readonly fromMs: number
  toMs: number | undefined
}

interface Answer {
  readonly data: {
    readonly alerts: readonly {
      readonly state: 'pending' | 'firing'
      readonly labels: { readonly alertname: string; readonly severity?: string }
    }[]
  }
}

/** More often than its rules are evaluated. */
const usualMs = 500

export type Alerts = ReturnType<typeof watchAlerts>

export function watchAlerts(prometheusUrl: string, everyMs = usualMs) {
  /** In the order in which they began. */
  const rung: Ringing[] = []
  let answeredMs = clockMs()
  let silentMs = 0
  let stoppedMs = Infinity
  const look = async (): Promise<void> => {
    const response = await fetch(`${prometheusUrl}/api/v1/alerts`, { signal: AbortSignal.timeout(2000) })
    const { alerts } = ((await response.json()) as Answer).data
    const atMs = clockMs()
    silentMs = Math.max(silentMs, atMs - answeredMs)
    answeredMs = atMs
    const now = alerts.flatMap(({ state, labels: { alertname, severity = '' } }) =>
      state === 'firing' ? [{ name: alertname, severity }] : [],
    )
    const same = (a: { name: string; severity: string }) => (b: typeof a) => a.name === b.name && a.severity === b.severity
    for (const each of rung) if (each.toMs === undefined && !now.some(same(each))) each.toMs = atMs
    for (const each of now) {
      if (!rung.some((known) => known.toMs === undefined && same(each)(known))) rung.push({ ...each, fromMs: atMs, toMs: undefined })
    }
  } // prettier-ignore
  const stop = repeat(everyMs, () => look().catch(() => undefined))
  return {
    rung: rung as readonly Ringing[],
    /** By the latest look. */
    ringing: (): string[] => [...new Set(rung.filter(({ toMs }) => toMs === undefined).map(({ name }) => name))],
    /** The longest time for which Prometheus did not answer. */
    silentMs: (): number => Math.max(silentMs, Math.min(clockMs(), stoppedMs) - answeredMs),
    stop(): Promise<void> {
      stoppedMs = clockMs()
      return stop()
    },
  }
}
