// Dashboard 3: a load run or a drill, while it happens. k6 writes its own figures to Prometheus by remote write
// (experimental-prometheus-rw); drills mark start, fault and heal as annotations with the tags below.
import { dashboard, graph } from './panels.ts'

const sum = (metric: string, labels = ''): string => `sum(rate(${metric}${labels}[$__rate_interval]))`
const quantile = (q: number): string =>
  `histogram_quantile(${q}, sum by (le) (rate(quicklink_redirect_duration_seconds_bucket[$__rate_interval])))`

export const drills = dashboard({
  uid: 'quicklink-drills',
  title: 'QuickLink: load and drills',
  description:
    'What was offered, what was achieved, and what a fault did. The marks are the start, the fault and the heal.',
  marks: [
    { name: 'Start', color: 'blue', tags: ['quicklink-drill', 'start'] },
    { name: 'Fault', color: 'red', tags: ['quicklink-drill', 'fault'] },
    { name: 'Heal', color: 'green', tags: ['quicklink-drill', 'heal'] },
  ],
  rows: [
    {
      title: 'Load',
      panels: [
        graph({
          title: 'Offered and achieved',
          what: 'achieved below offered: the server, or the generator, is full; dropped iterations mean the generator. Then the latencies are not to be believed.',
          unit: 'reqps',
          queries: {
            offered: `${sum('k6_iterations_total')} + (${sum('k6_dropped_iterations_total')} or vector(0))`,
            'achieved, by k6': sum('k6_http_reqs_total'),
            'achieved, by QuickLink': sum('quicklink_redirects_total'),
          },
        }),
        graph({
          title: 'Latency',
          what: 'The line is the promise. k6 far above QuickLink: the time is lost on the way, or in a queue before the process.',
          unit: 's',
          line: 0.1,
          queries: {
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p999: quantile(0.999),
            'p99, by k6': 'max(k6_http_req_duration_p99)',
          },
        }),
        graph({
          title: 'Answers by status',
          what: 'In a drill of Redis there must be no 503 at all. In a drill of Postgres only links that nobody knows answer 503.',
          unit: 'reqps',
          stacked: true,
          queries: { '{{status}}': 'sum by (status) (rate(quicklink_redirects_total[$__rate_interval]))' },
        }),
      ],
    },
    {
      title: 'What the fault does',
      panels: [
        graph({
          title: 'Breakers open',
          what: 'Opens within a second of the fault under load. After the heal Redis is tried within 30 s, Postgres within 1 s.',
          unit: 'none',
          max: 1,
          queries: { '{{dependency}}': 'max by (dependency) (quicklink_breaker_state{state="open"})' },
        }),
        graph({
          title: 'Lookups, by who answered',
          what: 'redis turns into postgres when Redis fails, and postgres into redis or stale when Postgres fails. It has to turn back after the heal.',
          unit: 'ops',
          stacked: true,
          queries: { '{{source}}': 'sum by (source) (rate(quicklink_lookups_total[$__rate_interval]))' },
        }),
        graph({
          title: 'Fallbacks to Postgres',
          what: 'timeout and error first, then open: the breaker spares everybody the wait. untrusted right after the heal, for under a second.',
          unit: 'ops',
          stacked: true,
          queries: { '{{reason}}': 'sum by (reason) (rate(quicklink_db_fallback_total[$__rate_interval]))' },
        }),
        graph({
          title: 'Since Redis was last made fresh',
          what: 'Grows during the fault and falls below 0.8 s after the heal. If it does not: the runbook, QuickLinkRedisUntrusted.',
          unit: 's',
          line: 5,
          queries: { 'age of trust': 'max(quicklink_trust_age_seconds)' },
        }),
        graph({
          title: 'Clicks waiting to be written',
          what: 'Grows while Postgres is away; afterwards it has to come back to almost nothing, without a click dropped.',
          unit: 'short',
          queries: {
            waiting: 'sum(quicklink_clicks_spooled)',
            dropped: 'sum(increase(quicklink_clicks_dropped_total[$__rate_interval]))',
          },
        }),
        graph({
          title: 'Work refused because a bound was reached',
          what: 'Overload that is refused early instead of queueing. In a drill at a load that fits it stays at 0.',
          unit: 'ops',
          queries: { '{{reason}}': 'sum by (reason) (rate(quicklink_shed_total[$__rate_interval]))' },
        }),
      ],
    },
  ],
})
