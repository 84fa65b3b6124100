// Every metric, in one place. Each is there, at 0, from the start, so that rates and alerts work from the first scrape.
// Long because every metric stands here. A worker counts for itself; fleet.ts adds the workers up: counters and histograms summed, gauges as they say here.
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client'
import { instruments } from './instruments.ts'

/** Of a password's form: led on, or why not. */
const formStatuses = ['302', '303', '400', '401', '403', '404', '413', '429', '500', '503'] as const
export type FormStatus = (typeof formStatuses)[number]
const redirectStatuses = [301, 302, 400, 404, 405, 429, 500, 503] as const
const tiers = ['local', 'redis'] as const
const sources = ['redis', 'postgres', 'stale', 'none'] as const
const fallbackReasons = ['error', 'timeout', 'open', 'untrusted'] as const
/** Lookups may be stale; passes follow the standby while it is at most REPLICA_LAG_MAX_S behind. */
const replicaAnswers = ['lookup', 'pass'] as const
const dependencies = ['redis', 'postgres'] as const
const breakerStates = ['closed', 'open', 'half_open'] as const
const redisCommands = ['get', 'set', 'del', 'eval', 'scan', 'publish', 'ping', 'other'] as const
const upkeepParts = ['indexes', 'links', 'keys', 'sessions', 'signInLinks', 'audit', 'auditAddresses', 'deadClicks', 'imports', 'visitPartitions', 'deadVisits', 'visitDays', 'visitsOld', 'visitRegisters', 'visitSums', 'visitSumsOld', 'clickDays', 'clickMonths', 'clickOrder', 'tagCounts', 'idempotencyKeys', 'outbox', 'hits', 'spools'] as const // prettier-ignore
export type UpkeepPart = (typeof upkeepParts)[number]
const shedReasons = ['flights', 'db_queue', 'redis_queue', 'api_queue', 'fills', 'connections', 'other'] as const
/** As in redirect/visitor.ts, which has the meaning of each. */
const handOverReasons = ['api', 'console', 'aside', 'method', 'body', 'unrecognised', 'partial'] as const
const tenantTiers = ['standard', 'plus', 'unlimited', 'aggregate', 'address'] as const

/** Seconds. Dense where redirects are: from a tier-1 hit (tens of µs) to both deadlines (50 and 100 ms). */
const redirectBounds = [
  0.00005, 0.0001, 0.00015, 0.00025, 0.0004, 0.0006, 0.001, 0.0015, 0.0025, 0.004, 0.006, 0.01, 0.015, 0.02, 0.03, 0.04,
  0.05, 0.06, 0.075, 0.1, 0.12, 0.15, 0.25, 0.5, 1, 2.5,
] as const
/** Seconds. 5 and 20 ms are the alert's thresholds, 50 ms is the deadline. */
const redisBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1] as const
/** Seconds. A change is to be seen within one. */
const invalidationBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 2, 5, 15, 60, 300] as const
const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256] as const

interface MetricsOptions {
  /** prom-client's process and Node metrics. Off in unit tests: they hold observers and timers. */
  readonly processMetrics?: boolean
  readonly version?: string
  readonly commit?: string
}

export type Metrics = ReturnType<typeof createMetrics>

export function createMetrics(options: MetricsOptions = {}) {
  const registry = new Registry()
  const reads: (() => void)[] = []
  // Registered first, so that the gauges read here are up to date when their turn comes.
  const buildInfo = new Gauge({
    name: 'quicklink_build_info',
    help: 'Always 1; the labels say what runs',
    labelNames: ['version', 'commit'],
    aggregator: 'max',
    registers: [registry],
    collect: () => {
      for (const read of reads) read()
    },
  })
  buildInfo.set({ version: options.version ?? 'unknown', commit: options.commit ?? 'unknown' }, 1)
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  const { counter, counters, gauge, gauges, histogram, histograms } = instruments(registry)
  const cacheHit = counters('quicklink_cache_hit_total', 'Requests answered by a cache', { tier: tiers })
  let localHits = 0
  reads.push(() => {
    cacheHit.inc({ tier: 'local' }, localHits)
    localHits = 0
  })
  return {
    registry,
    /** Called at the start of every collection: the place to read a gauge. Must not wait and must not throw. */
    onCollect: (read: () => void): void => void reads.push(read),

    redirect: redirects(registry),
    handovers: counters(
      'quicklink_front_door_handovers_total',
      'Requests that the front door left to node:http, by what they are',
      { reason: handOverReasons },
    ),
    cacheHit,
    /** Answered by tier 1: costs a variable. */
    localHit: (): void => void localHits++,
    cacheMiss: counter('quicklink_cache_miss_total', 'Requests for which Postgres had to be asked'),
    lookups: counters('quicklink_lookups_total', 'Lookups that left tier 1, by who answered', { source: sources }),
    lookupsSaved: counter(
      'quicklink_lookups_saved_total',
      'Lives of a copy that went on without a lookup, because passes vouch for it',
    ),
    vouchedCopies: gauge('quicklink_vouched_copies', 'Copies in tier 1 that passes vouch for', 'sum'),
    dbFallback: counters(
      'quicklink_db_fallback_total',
      'Lookups that went to Postgres because Redis could not answer',
      { reason: fallbackReasons },
    ),
    redisCommandDuration: histograms(
      'redis_command_duration_seconds',
      'Redis commands, as the server sees them',
      redisBounds,
      { command: redisCommands },
    ),
    tierConfigured: gauges('quicklink_tier_configured', '1 if this tier is in use', 'max', {
      tier: ['local', 'redis', 'replica', 'postgres'],
    }),

    breaker: breakers(registry),

    // Every worker looks at the same Redis, so the estimates are not added up.
    negativeCacheKeys: gauge('quicklink_negative_cache_keys', 'Estimated number of ql:v1:404:* keys', 'max'),
    invalidationDelay: histogram(
      'quicklink_invalidation_delay_seconds',
      'From the commit of a change to its application in a cache',
      invalidationBounds,
    ),
    replicaLag: gauge(
      'quicklink_replica_lag_seconds',
      'How far the standby is behind the primary; worst worker',
      'max',
    ),
    replicaAlone: counters('quicklink_replica_alone_total', 'Answers of the standby because the primary gave none', {
      what: replicaAnswers,
    }),
    trustAge: gauge('quicklink_trust_age_seconds', 'Since Redis was last made fresh; worst worker', 'max'),
    staleAnswersFound: counter('quicklink_stale_answers_found_total', 'Cached answers the checker found wrong'),

    clicks: {
      accepted: counter('quicklink_clicks_accepted_total', 'Clicks counted by a redirect'),
      persisted: counter('quicklink_clicks_persisted_total', 'Clicks that are in Postgres'),
      dropped: counter('quicklink_clicks_dropped_total', 'Clicks given up, because a bound was reached'),
    },
    clicksSpooled: gauge('quicklink_clicks_spooled', 'Clicks accepted that are not in Postgres yet', 'sum'),
    spoolAge: gauge('quicklink_spool_age_seconds', 'Since the oldest of these clicks was counted; worst worker', 'max'),
    spoolDamaged: counter('quicklink_spool_damaged_total', 'Batches of clicks that could not be read again'),

    visits: {
      detailed: counter('quicklink_visits_detailed_total', 'Visits that were looked at'),
      weighted: counter('quicklink_visits_weighted_total', 'Visits that are told by the weight of those looked at'),
      ringDropped: counter(
        'quicklink_visit_ring_dropped_total',
        'Visits that had no place to be looked at, or no time',
      ),
      untold: counter(
        'quicklink_visits_breakdowns_dropped_total',
        'Visits that were looked at, of which only the click came through',
      ),
      seconds: counter(
        'quicklink_visits_consumer_seconds_total',
        'Time that looking at visits took, outside of requests',
      ),
    },

    endedRedirects: counter(
      'quicklink_ended_redirects_total',
      'Visitors sent to the expiredUrl of a link that has ended, or whose hits are used up',
    ),
    hitsUngranted: counter('quicklink_hits_ungranted_total', 'Hits served while nobody could grant them'),
    hitQuotaRejections: counter('quicklink_hit_quota_rejections_total', 'Redirects refused: hits used up'),
    rateLimited: counters('quicklink_rate_limited_total', 'Requests refused by a rate limit', { tier: tenantTiers }),
    forwardedUnheeded: counters(
      'quicklink_forwarded_unheeded_total',
      'Absent codes asked for with an X-Forwarded-For by a hop that TRUST_PROXY does not name',
      { peer: ['private', 'public'] },
    ),
    tenantQuotaRejections: counter('quicklink_tenant_quota_rejections_total', 'Creates refused: links used up'),

    dbPool: gauges('quicklink_db_pool', 'Postgres connections, and who waits for one', 'sum', {
      state: ['active', 'idle', 'waiting'],
    }),
    dbBatchSize: histogram('quicklink_db_batch_size', 'Codes in one Postgres lookup', batchBounds),
    passwordForms: counters('quicklink_password_forms_total', "Forms with a link's password, by the answer", {
      status: formStatuses,
    }),
    shed: counters('quicklink_shed_total', 'Work refused because a bound was reached', { reason: shedReasons }),

    // Of the primary process.
    upkeepFailures: counters('quicklink_upkeep_failures_total', 'Parts of the hourly upkeep that failed', {
      task: upkeepParts,
    }),
    workerRestarts: counter('quicklink_worker_restarts_total', 'Workers that died and were replaced'),
    workersServing: gauge('quicklink_workers_serving', 'Workers that accept connections, and answered lately', 'sum'),
    logDropped: counter('quicklink_log_dropped_total', 'Log lines that nobody took, or no disk'),
  }
}

/** An answer of the redirect path costs an array element and a bucket. */
function redirects(registry: Registry) {
  // Index: the status. Drained into the counter at every collection.
  const pending = new Float64Array(600)
  new Counter({
    name: 'quicklink_redirects_total',
    help: 'Answers of the redirect path',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      for (const status of redirectStatuses) this.inc({ status }, 0)
      pending.forEach((count, status) => {
        if (count > 0) this.inc({ status }, count)
      })
      pending.fill(0)
    },
  })
  const help = 'From the request being read to its answer being written'
  const duration = instruments(registry).histogram('quicklink_redirect_duration_seconds', help, redirectBounds)
  return (status: number, seconds: number): void => {
    ;(pending[status] as number)++
    duration.observe(seconds)
  }
}

/** Sets the three states of a breaker, and counts the transition unless it is the first state. */
function breakers(registry: Registry) {
  const states = instruments(registry).gauges('quicklink_breaker_state', '1 for the state it is in', 'max', {
    dependency: dependencies,
    state: breakerStates,
  })
  const transitions = new Counter({
    name: 'quicklink_breaker_transitions_total',
    help: 'Changes of a breaker, by the state it went to',
    labelNames: ['dependency', 'to'],
    registers: [registry],
  })
  for (const dependency of dependencies) for (const to of breakerStates) transitions.inc({ dependency, to }, 0)
  const seen = new Set<string>()
  return (dependency: (typeof dependencies)[number], to: (typeof breakerStates)[number]): void => {
    for (const state of breakerStates) states.set({ dependency, state }, state === to ? 1 : 0)
    if (seen.has(dependency)) transitions.inc({ dependency, to })
    seen.add(dependency)
  }
}
