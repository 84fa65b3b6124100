// How this server is, in numbers: what all its processes count, and what each worker last said of itself. The primary process makes them, and asks
// nobody anew for it but its workers, as for a scrape.
import type { BreakerState } from '../connections/breaker.ts'
import type { MetricData, Status } from '../telemetry/report.ts'

type Metrics = readonly (readonly MetricData[])[]

export interface WorkerSeen {
  readonly number: number
  readonly serving: boolean
  readonly restarts: number
  /** Undefined: it did not answer in time. */
  readonly status: Status | undefined
}

interface Sample {
  readonly value: number
  readonly labels?: Readonly<Partial<Record<string, string | number>>>
  readonly metricName?: string
}

const samplesOf = (metrics: Metrics, name: string): Sample[] =>
  metrics.flat().filter((metric) => metric.name === name).flatMap(({ values }) => values as Sample[]) // prettier-ignore

const sum = (samples: readonly Sample[]): number => samples.reduce((all, { value }) => all + value, 0)

/** By the values of a label. */
function sums<const T extends string>(samples: readonly Sample[], label: string, names: readonly T[]): Record<T, number> {
  const all = names.map((name) => [name, sum(samples.filter(({ labels }) => labels?.[label] === name))] as const)
  return Object.fromEntries(all) as Record<T, number>
} // prettier-ignore

/** The least bound that so many are within; null: nothing was measured, or it is longer than the longest bound. */
export function boundOf(samples: readonly Sample[], share: number): number | null {
  const within = new Map<number, number>()
  for (const { metricName, labels, value } of samples) {
    if (!metricName?.endsWith('_bucket')) continue
    const bound = labels?.['le'] === '+Inf' ? Infinity : Number(labels?.['le'])
    within.set(bound, (within.get(bound) ?? 0) + value)
  }
  const all = within.get(Infinity) ?? 0
  const bounds = [...within].sort(([a], [b]) => a - b)
  const found = all === 0 ? undefined : bounds.find(([, n]) => n >= share * all)?.[0]
  return found === undefined || found === Infinity ? null : found
}

const handovers = ['api', 'console', 'aside', 'method', 'body', 'unrecognised', 'partial'] as const

function workerOf({ number, serving, restarts, status }: WorkerSeen) {
  const of = (dependency: string) => status?.[dependency] as { breaker?: BreakerState; trusted?: boolean } | undefined
  return {
    number,
    serving,
    restarts,
    redis: of('redis')?.breaker ?? null,
    postgres: of('postgres')?.breaker ?? null,
    trusted: of('redis')?.trusted ?? null,
  }
}

export type Figures = ReturnType<typeof figuresOf>

export function figuresOf(metrics: Metrics, workers: readonly WorkerSeen[]) {
  const of = (name: string): Sample[] => samplesOf(metrics, name)
  const counted = (name: string): number => sum(of(name))
  const hits = sums(of('quicklink_cache_hit_total'), 'tier', ['local', 'redis'])
  const delay = of('quicklink_invalidation_delay_seconds')
  const ages = of('quicklink_trust_age_seconds').map(({ value }) => value)
  return {
    workers: workers.map(workerOf),
    redirects: counted('quicklink_redirects_total'),
    answered: { tier1: hits.local, redis: hits.redis, postgres: counted('quicklink_cache_miss_total') },
    lookups: sums(of('quicklink_lookups_total'), 'source', ['redis', 'postgres', 'stale', 'none']),
    fallbacks: sums(of('quicklink_db_fallback_total'), 'reason', ['error', 'timeout', 'open', 'untrusted']),
    handovers: sums(of('quicklink_front_door_handovers_total'), 'reason', handovers),
    vouchedCopies: counted('quicklink_vouched_copies'),
    trustAgeS: ages.length === 0 ? null : Math.max(...ages),
    changes: {
      seen: sum(delay.filter(({ metricName }) => metricName?.endsWith('_count'))),
      p99AtMostS: boundOf(delay, 0.99),
    },
    clicks: {
      accepted: counted('quicklink_clicks_accepted_total'),
      persisted: counted('quicklink_clicks_persisted_total'),
      dropped: counted('quicklink_clicks_dropped_total'),
      spooled: counted('quicklink_clicks_spooled'),
    },
    staleAnswersFound: counted('quicklink_stale_answers_found_total'),
    shed: counted('quicklink_shed_total'),
    upkeepFailures: counted('quicklink_upkeep_failures_total'),
    logDropped: counted('quicklink_log_dropped_total'),
    workerRestarts: counted('quicklink_worker_restarts_total'),
  }
}
