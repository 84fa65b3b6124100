// Are Redis and Postgres there? Really asked, but at most once a second however many ask, and never waited for longer
// than a second. A dead dependency is 'degraded', not a failure: QuickLink goes on serving what it can.
import { withDeadline } from '../connections/deadline.ts'

export interface HealthReport {
  readonly status: 'ok' | 'degraded'
  readonly redis: 'up' | 'down' | 'off'
  readonly postgres: 'up' | 'down'
}

type Probe = () => Promise<unknown>

interface Probes {
  readonly postgres: Probe
  /** Undefined: the Redis tier is off. */
  readonly redis: Probe | undefined
}

export function createHealth(
  probes: Probes,
  { deadlineMs = 1000, maxAgeMs = 1000, nowMs = (): number => performance.now() } = {},
): () => Promise<HealthReport> {
  let asking: Promise<HealthReport> | undefined
  let last: { report: HealthReport; atMs: number } | undefined

  const answers = async (probe: Probe, what: string): Promise<'up' | 'down'> => {
    try {
      await withDeadline(probe(), deadlineMs, what)
      return 'up'
    } catch {
      return 'down'
    }
  }

  const ask = async (): Promise<HealthReport> => {
    const [postgres, redis] = await Promise.all([
      answers(probes.postgres, 'Postgres'),
      probes.redis === undefined ? ('off' as const) : answers(probes.redis, 'Redis'),
    ])
    const status = postgres === 'down' || redis === 'down' ? 'degraded' : 'ok'
    const report: HealthReport = { status, redis, postgres }
    last = { report, atMs: nowMs() }
    return report
  }

  return async () => {
    if (last !== undefined && nowMs() - last.atMs < maxAgeMs) return last.report
    asking ??= ask().finally(() => (asking = undefined))
    return asking
  }
}
