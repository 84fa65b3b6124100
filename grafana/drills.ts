// Dashboard 3: a load run or a drill, while it happens. k6 writes its own figures to Prometheus by remote write
// (experimental-prometheus-rw); drills mark start, fault and heal as annotations with the tags below.
import { dashboard } from './dashboard.ts'
import { graph, timeline } from './panels.ts'
import { breakersAndTrust, increase, quantile, sum, sumBy, worst } from './queries.ts'

const latency = (q: number): string => quantile(q, 'quicklink_redirect_duration_seconds')

export const drills = dashboard({
  uid: 'quicklink-drills',
  title: 'QuickLink: load and drills',
  description:
    'What was offered, what was achieved, and what a fault did. The marks are the start, the fault and the heal of a drill, and load runs from begin to end.',
  from: 'now-15m',
  refresh: '5s',
  marks: [
    { name: 'Start', color: 'blue', tags: ['quicklink-drill', 'start'] },
    { name: 'Fault', color: 'red', tags: ['quicklink-drill', 'fault'] },
    { name: 'Heal', color: 'green', tags: ['quicklink-drill', 'heal'] },
    { name: 'Load run', color: 'purple', tags: ['quicklink', 'load'] },
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
          what: 'The dashed line is the promise. k6 far above QuickLink: the time is lost on the way, or in a queue before the process.',
          unit: 's',
          logarithmic: true,
          promise: 0.1,
          queries: {
            p50: latency(0.5),
            p95: latency(0.95),
            p99: latency(0.99),
            p999: latency(0.999),
            // k6 sends the figure of a phase that is over again and again: only those that still count requests are asked.
            'p99, by k6': `max(k6_http_req_duration_p99 and on (phase) (${sumBy('phase', 'k6_http_reqs_total')} > 0))`,
          },
        }),
        graph({
          title: 'Answers by status',
          what: 'In a drill of Redis there must be no 503 at all. In a drill of Postgres only links that nobody knows answer 503.',
          unit: 'reqps',
          stacked: true,
          queries: { '{{status}}': sumBy('status', 'quicklink_redirects_total') },
        }),
      ],
    },
    {
      title: 'What the fault does',
      panels: [
        timeline({
          title: 'Breakers, and trust in Redis',
          what: 'Opens within a second of the fault under load. After the heal Redis is tried within 30 s, Postgres within 1 s.',
          ...breakersAndTrust,
        }),
        graph({
          title: 'Lookups, by who answered',
          what: 'redis turns into postgres when Redis fails, and postgres into redis or stale when Postgres fails. It has to turn back after the heal.',
          unit: 'ops',
          stacked: true,
          queries: { '{{source}}': sumBy('source', 'quicklink_lookups_total') },
        }),
        graph({
          title: 'Fallbacks to Postgres',
          what: 'timeout and error first, then open: the breaker spares everybody the wait. untrusted right after the heal, for under a second.',
          unit: 'ops',
          stacked: true,
          queries: { '{{reason}}': sumBy('reason', 'quicklink_db_fallback_total') },
        }),
        graph({
          title: 'Since Redis was last made fresh',
          what: 'Grows during the fault and falls below 0.8 s after the heal. If it does not: the runbook, QuickLinkRedisUntrusted.',
          unit: 's',
          alert: 'QuickLinkRedisUntrusted',
          reaches: 1,
          queries: { 'age of trust': `max(${worst('quicklink_trust_age_seconds')})` },
        }),
        graph({
          title: 'Clicks waiting to be written',
          what: 'Grows while Postgres is away; afterwards it has to come back to almost nothing, without a click dropped.',
          unit: 'short',
          queries: {
            waiting: 'sum(quicklink_clicks_spooled)',
            dropped: increase('quicklink_clicks_dropped_total'),
          },
        }),
        graph({
          title: 'Work refused because a bound was reached',
          what: 'Overload that is refused early instead of queueing. In a drill at a load that fits it stays at 0.',
          unit: 'ops',
          queries: { '{{reason}}': sumBy('reason', 'quicklink_shed_total') },
        }),
      ],
    },
  ],
})
