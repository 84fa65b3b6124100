// Dashboard 2: who is told no, and whether every click is accounted for.
import { dashboard } from './dashboard.ts'
import { figure, graph } from './panels.ts'
import { sum, sumBy, worst } from './queries.ts'

const visits = `(${sum('quicklink_visits_detailed_total')} + ${sum('quicklink_visits_weighted_total')})`

export const limits = dashboard({
  uid: 'quicklink-limits',
  title: 'QuickLink: limits and clicks',
  description:
    'Quotas, rate limits and bounds, the clicks that are accepted, written, waiting or lost, and what is told of visits.',
  rows: [
    {
      title: 'Limits',
      panels: [
        graph({
          title: 'Redirects refused: hits used up',
          what: 'Links whose month is over answer 429. Too many: give the tenant another tier, or the link more hits.',
          unit: 'reqps',
          queries: { refused: sum('quicklink_hit_quota_rejections_total') },
        }),
        graph({
          title: 'Requests refused by a rate limit',
          what: 'By tier; aggregate is all standard tenants together, address is somebody who collected too many 404s. One tenant alone: ask what its program does.',
          unit: 'reqps',
          queries: { '{{tier}}': sumBy('tier', 'quicklink_rate_limited_total') },
        }),
        graph({
          title: 'Creates refused: links used up',
          what: 'A tenant has as many links as its tier allows. GET /api/v1/limits says who; PATCH the tenant, or let it delete some.',
          unit: 'reqps',
          queries: { refused: sum('quicklink_tenant_quota_rejections_total') },
        }),
        graph({
          title: 'Work refused because a bound was reached',
          what: 'Overload: redirects answer 503. db_queue: Postgres is too slow for the misses. flights: too many different cold codes. connections: too many clients for one process.',
          unit: 'ops',
          width: 12,
          queries: { '{{reason}}': sumBy('reason', 'quicklink_shed_total') },
        }),
        graph({
          title: '404 and 429',
          what: 'A rise of 404 is usually a scan, or a campaign with a typing error: look at which codes the log of the proxy shows.',
          unit: 'reqps',
          width: 12,
          queries: {
            '{{status}}': sumBy('status', 'quicklink_redirects_total', '{status=~"404|429"}'),
          },
        }),
      ],
    },
    {
      title: 'Clicks',
      panels: [
        figure({
          title: 'Waiting to be written',
          what: 'Grows while Postgres is away and shrinks by itself. Growing with Postgres up: make logs.',
          unit: 'short',
          width: 8,
          queries: { waiting: 'sum(quicklink_clicks_spooled)' },
        }),
        figure({
          title: 'Dropped, over the time shown',
          what: 'Lost for good: the room to keep them was full. Bring Postgres back; raise SPOOL_MAX_MB before the next time.',
          unit: 'short',
          width: 8,
          warning: 1,
          instant: true,
          queries: { dropped: 'sum(increase(quicklink_clicks_dropped_total[$__range]))' },
        }),
        figure({
          title: 'Not accounted for',
          what: 'accepted = written + waiting + dropped, so this is 0 but for clicks that are under way. A lasting gap is what a killed process took with it, at most its last flush interval.',
          unit: 'short',
          width: 8,
          queries: {
            gap: 'sum(quicklink_clicks_accepted_total) - sum(quicklink_clicks_persisted_total) - sum(quicklink_clicks_dropped_total) - sum(quicklink_clicks_spooled)',
          },
        }),
        graph({
          title: 'Clicks',
          what: 'written follows accepted within a second. Apart for long: Postgres. dropped above 0: clicks are being lost. Alert: QuickLinkClicksDropped.',
          unit: 'ops',
          width: 24,
          queries: {
            accepted: sum('quicklink_clicks_accepted_total'),
            written: sum('quicklink_clicks_persisted_total'),
            dropped: sum('quicklink_clicks_dropped_total'),
          },
        }),
        graph({
          title: 'Oldest click that waits',
          what: 'A second on a usual day. Growing: Postgres is away, or does not keep up with what is told of visits.',
          unit: 's',
          width: 24,
          alert: 'QuickLinkSpoolOld',
          reaches: 360,
          queries: { 'worst worker': `max(${worst('quicklink_spool_age_seconds')})` },
        }),
      ],
    },
    {
      title: 'Visits, and what is told of them',
      panels: [
        graph({
          title: 'Told by weight',
          what: "Of a link that is followed very often a sample is looked at: near 1 while one is in everybody's hands. Its answers are estimates then.",
          unit: 'percentunit',
          width: 12,
          max: 1,
          alert: 'QuickLinkVisitsSampled',
          queries: { share: `${sum('quicklink_visits_weighted_total')} / ${visits}` },
        }),
        graph({
          title: 'Found no place, or no time',
          what: 'More links at once than VISITS_DETAIL_PER_S has places for, or a full machine. Raise it where the processors have room.',
          unit: 'percentunit',
          width: 12,
          alert: 'QuickLinkVisitsUnseen',
          reaches: 0.12,
          queries: { share: `${sum('quicklink_visit_ring_dropped_total')} / ${visits}` },
        }),
        graph({
          title: 'Visits',
          what: 'looked at and weighted are all redirects together. untold above 0: the spool is nearly full, or Postgres refuses. Alert: QuickLinkVisitsUntold.',
          unit: 'ops',
          width: 12,
          queries: {
            'looked at': sum('quicklink_visits_detailed_total'),
            weighted: sum('quicklink_visits_weighted_total'),
            untold: sum('quicklink_visits_breakdowns_dropped_total'),
          },
        }),
        graph({
          title: 'What looking at them takes',
          what: 'Of one processor, all workers together; at most 0.15 of each. Lower VISITS_DETAIL_PER_S where that is too much.',
          unit: 'percentunit',
          width: 12,
          queries: { '{{instance}}': sumBy('instance', 'quicklink_visits_consumer_seconds_total') },
        }),
      ],
    },
  ],
})
