// Dashboard 1: is the service well? Rows in the order of a request's path. Long because every panel of it stands here.
import { dashboard } from './dashboard.ts'
import { alerts, figure, graph, timeline } from './panels.ts'
import { breakersAndTrust, increase, quantile, sum, sumBy, worst } from './queries.ts'
import { burnRates } from './thresholds.ts'

const requests = `(${sum('quicklink_cache_hit_total')} + ${sum('quicklink_cache_miss_total')})`
const lookups = sum('quicklink_lookups_total')

export const service = dashboard({
  uid: 'quicklink-service',
  title: 'QuickLink: service',
  description: 'Redirects, and the tiers in the order in which a request meets them. Start at the top.',
  rows: [
    {
      title: 'Redirects, and what is promised: 99.9 % right within 100 ms, over 30 days',
      panels: [
        figure({
          title: 'Redirects',
          what: 'Far below the usual: look at the proxy and DNS in front. Far above: see the cache hit rate.',
          unit: 'reqps',
          width: 4,
          queries: { 'all answers': sum('quicklink_redirects_total') },
        }),
        figure({
          title: 'Workers',
          what: 'Those that serve and answered lately; one per core and replica. Fewer: a worker died or hangs; make logs says why. Alert: QuickLinkNoWorkers.',
          unit: 'none',
          width: 4,
          queries: { workers: 'sum(quicklink_workers_serving)' },
        }),
        figure({
          title: 'Allowance left',
          what: "What is left of the 30 days' 0.1 %, and of how much of the 30 days is known. Near 0: leave risky changes for later. Below 0: the promise is broken; find the tier that is slow or fails.",
          unit: 'percentunit',
          width: 4,
          max: 1,
          floor: 0,
          durations: ['known'],
          queries: {
            left: 'quicklink:redirect_allowance_left:ratio30d',
            known: 'quicklink:redirects_known:seconds30d',
          },
        }),
        figure({
          title: 'Bad ones left',
          what: 'How many more redirects may be slow or fail before the 0.1 % of 30 days are used up, if the traffic stays as it was so far.',
          unit: 'short',
          width: 4,
          floor: 0,
          queries: { left: 'quicklink:redirect_bad_left:count30d' },
        }),
        alerts({
          title: 'Alerts firing',
          what: 'Empty is good. A name leads to its heading in the runbook.',
          width: 8,
          expr: '(ALERTS_FOR_STATE{alertname=~"QuickLink.*"} and ignoring(alertstate) ALERTS{alertstate="firing"}) * 1000',
          runbook: '/public/runbook.html',
        }),
        graph({
          title: 'Answers by status',
          what: '503: nobody could say, see Redis and Postgres below. Many 404: a scan, see the absent codes. 429: see the dashboard of the limits.',
          unit: 'reqps',
          stacked: true,
          queries: { '{{status}}': sumBy('status', 'quicklink_redirects_total') },
        }),
        graph({
          title: 'Latency',
          what: 'From the request being read to its answer being written; the dashed line is the promise. p999 alone high: cold links, see Postgres. All high: the event loop, see the processes.',
          unit: 's',
          logarithmic: true,
          promise: 0.1,
          queries: {
            p50: quantile(0.5, 'quicklink_redirect_duration_seconds'),
            p99: quantile(0.99, 'quicklink_redirect_duration_seconds'),
            p999: quantile(0.999, 'quicklink_redirect_duration_seconds'),
          },
        }),
        graph({
          title: 'Answered 503',
          what: 'Users see these. Which tier failed is below; which bound was reached is on the dashboard of the limits.',
          unit: 'percentunit',
          alert: 'QuickLinkUnavailableAnswers',
          reaches: 0.015,
          queries: {
            'share of 503': `${sum('quicklink_redirects_total', '{status="503"}')} / ${sum('quicklink_redirects_total')}`,
          },
        }),
        timeline({
          title: 'Breakers, and trust in Redis',
          what: 'Open: it fails, and nobody waits for it; Redis is tried again every 30 s, Postgres every second. Not trusted: Postgres is asked instead, see the age of trust. Alerts: QuickLinkRedisDown, QuickLinkPostgresDown.',
          ...breakersAndTrust,
        }),
        graph({
          title: 'Left to node:http by the front door',
          what: 'Requests that cost twice, as a share of all redirects; those of the API, QR codes and previews are meant for it. Above 5 %: unrecognised is a field that the grammar does not take, partial a sender that cuts requests.',
          unit: 'percentunit',
          warning: 0.05,
          reaches: 0.06,
          queries: {
            '{{reason}}': `${sumBy('reason', 'quicklink_front_door_handovers_total', '{reason!~"api|aside"}')} / on() group_left() ${sum('quicklink_redirects_total')}`,
          },
        }),
        graph({
          title: 'Burn rate, of what rings',
          what: "How fast the month's 0.1 % is used up, over each window and as a share of what rings there: above the line it will. Alert: QuickLinkRedirectSloBurn.",
          unit: 'percentunit',
          critical: 1,
          reaches: 1.2,
          queries: Object.fromEntries(
            Object.entries(burnRates).map(([window, rate]) => [
              window,
              `quicklink:redirect_bad:ratio${window} / (${rate} * 0.001)`,
            ]),
          ),
        }),
        graph({
          title: 'Processes: processor',
          what: 'All workers together, in cores. At WORKERS the machine is full: add cores or a replica.',
          unit: 'none',
          queries: { '{{instance}}': sumBy('instance', 'process_cpu_seconds_total', '{job="quicklink"}') },
        }),
        graph({
          title: 'Processes: event loop lag',
          what: 'How long a request waits before anybody looks at it. Above some ms: too few cores, or one slow synchronous step.',
          unit: 's',
          // What is measured is how long a timer of 10 ms takes.
          queries: { p99: 'clamp_min(max(nodejs_eventloop_lag_p99_seconds{job="quicklink"}) - 0.01, 0)' },
        }),
        graph({
          title: 'Workers replaced, log lines dropped',
          what: 'Both are 0 on a usual day. Workers: the log says how they ended. Lines: who reads the log is slow, or its disk full. Alerts: QuickLinkWorkersRestarting, QuickLinkLogDropped.',
          unit: 'none',
          queries: {
            workers: increase('quicklink_worker_restarts_total'),
            lines: increase('quicklink_log_dropped_total'),
          },
        }),
      ],
    },
    {
      title: 'Tier 1, in the process',
      panels: [
        graph({
          title: 'Cache hit rate',
          what: 'Redirects that a cache answered, Redis or the process. Low: look for evictions first, then for many different codes, then at LINK_TTL_S.',
          unit: 'percentunit',
          width: 6,
          max: 1,
          alert: 'QuickLinkCacheHitRateLow',
          queries: { 'hit rate': `${sum('quicklink_cache_hit_total')} / ${requests}` },
        }),
        graph({
          title: 'Answered by',
          what: 'local is a hot link being absorbed. Mostly postgres: the caches are cold or too small.',
          unit: 'reqps',
          width: 6,
          stacked: true,
          queries: {
            '{{tier}}': sumBy('tier', 'quicklink_cache_hit_total'),
            postgres: sum('quicklink_cache_miss_total'),
          },
        }),
        graph({
          title: 'Lookups that left tier 1',
          what: 'One per code and process, however many ask. stale: Postgres is away and old answers are served. none: nobody could say, a 503.',
          unit: 'ops',
          width: 6,
          stacked: true,
          queries: { '{{source}}': sumBy('source', 'quicklink_lookups_total') },
        }),
        graph({
          title: 'Vouched for',
          what: 'Copies in tier 1 that passes vouch for, and look-ups that this saves per second. Near 0 with visitors there: passes fail, look at Postgres.',
          unit: 'short',
          width: 6,
          queries: {
            copies: 'sum(quicklink_vouched_copies)',
            'lookups saved per second': sum('quicklink_lookups_saved_total'),
          },
        }),
      ],
    },
    {
      title: 'Tier 2, Redis',
      panels: [
        graph({
          title: 'GET, as the server sees it',
          what: 'At 50 ms a lookup goes to Postgres instead. High: compare with redis-cli --latency; lower there means network or a busy event loop.',
          unit: 's',
          alert: 'QuickLinkRedisLatencyHigh',
          reaches: 0.006,
          queries: {
            p50: quantile(0.5, 'redis_command_duration_seconds', '{command="get"}'),
            p99: quantile(0.99, 'redis_command_duration_seconds', '{command="get"}'),
          },
        }),
        graph({
          title: 'Lookups that fell back to Postgres',
          what: 'error and open: Redis is away. timeout: it is slow. untrusted: it was not proved fresh, see the last pass. Watch the Postgres pool meanwhile.',
          unit: 'percentunit',
          alert: 'QuickLinkDbFallbackHigh',
          reaches: 0.12,
          queries: {
            all: `${sum('quicklink_db_fallback_total')} / ${lookups}`,
            '{{reason}}': `${sumBy('reason', 'quicklink_db_fallback_total')} / on() group_left() ${lookups}`,
          },
        }),
        graph({
          title: 'Memory, of maxmemory',
          what: 'Full without evictions is the right size. Full with evictions and a falling hit rate: raise maxmemory.',
          unit: 'percentunit',
          max: 1,
          alert: 'QuickLinkRedisMemoryHigh',
          queries: { '{{instance}}': 'redis_memory_used_bytes / (redis_memory_max_bytes > 0)' },
        }),
        graph({
          title: 'Evicted keys per minute',
          what: 'Links that are pushed out and, if asked for again, cost a query. Raise maxmemory if the hit rate falls with it.',
          unit: 'cpm',
          alert: 'QuickLinkEvictionsHigh',
          reaches: 120,
          queries: { evicted: `${sum('redis_evicted_keys_total')} * 60` },
        }),
        graph({
          title: 'Absent codes in Redis',
          what: 'An estimate. Millions: somebody asks for codes that do not exist; find the addresses in the log of the proxy and block them there.',
          unit: 'short',
          alert: 'QuickLinkNegativeCacheLarge',
          queries: { 'absent codes': 'max(quicklink_negative_cache_keys)' },
        }),
        graph({
          title: 'Since Redis was last made fresh',
          what: 'Below 0.8 s it is believed. Growing: passes fail; they need Redis and Postgres, and a Redis that takes writes.',
          unit: 's',
          alert: 'QuickLinkRedisUntrusted',
          reaches: 1,
          queries: { 'age of trust': `max(${worst('quicklink_trust_age_seconds')})` },
        }),
        graph({
          title: 'From a change to its application',
          what: 'A disabled link is gone within a second: the dashed line. Above it: passes are late, look at Postgres and at the age of trust.',
          unit: 's',
          logarithmic: true,
          promise: 1,
          queries: {
            p50: quantile(0.5, 'quicklink_invalidation_delay_seconds'),
            p99: quantile(0.99, 'quicklink_invalidation_delay_seconds'),
          },
        }),
        graph({
          title: 'Wrong answers that the checker found',
          what: 'Must be 0. Above: keep the log line, and invalidate the code (POST /api/v1/cache/invalidate).',
          unit: 'short',
          alert: 'QuickLinkStaleAnswers',
          queries: { found: increase('quicklink_stale_answers_found_total') },
        }),
      ],
    },
    {
      title: 'Tier 3, Postgres',
      panels: [
        graph({
          title: 'Connections of QuickLink',
          what: 'waiting above 0 for long: Postgres is slow, or falls behind; see its transactions and what it waits for (pg_stat_activity).',
          unit: 'short',
          queries: { '{{state}}': 'sum by (state) (quicklink_db_pool)' },
        }),
        graph({
          title: 'Codes in one lookup',
          what: 'Lookups are batched. Near 256: Postgres is asked for more than it answers; warm the cache, or look for a scan.',
          unit: 'short',
          queries: {
            p50: quantile(0.5, 'quicklink_db_batch_size'),
            p99: quantile(0.99, 'quicklink_db_batch_size'),
          },
        }),
        graph({
          title: 'Transactions',
          what: 'Rolled back ones that grow with nothing else: look for errors in make logs.',
          unit: 'ops',
          queries: {
            committed: 'quicklink:postgres_commits:rate1m',
            'rolled back': 'quicklink:postgres_rollbacks:rate1m',
          },
        }),
        graph({
          title: 'Connections of Postgres, of max_connections',
          what: 'Near 1: fewer WORKERS per replica, or a higher max_connections.',
          unit: 'percentunit',
          max: 1,
          queries: { used: 'sum(pg_stat_database_numbackends) / max(pg_settings_max_connections)' },
        }),
        graph({
          title: 'Read from memory',
          what: 'Blocks that Postgres did not read from disk. Low for long: raise shared_buffers, or the machine is too small.',
          unit: 'percentunit',
          max: 1,
          queries: { 'from memory': 'quicklink:postgres_from_memory:ratio1m' },
        }),
      ],
    },
  ],
})
