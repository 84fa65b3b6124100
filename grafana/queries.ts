// What several panels ask in the same way.

const window = '[$__rate_interval]'

export const rate = (metric: string, labels = ''): string => `rate(${metric}${labels}${window})`
export const sum = (metric: string, labels = ''): string => `sum(${rate(metric, labels)})`
export const sumBy = (label: string, metric: string, labels = ''): string =>
  `sum by (${label}) (${rate(metric, labels)})`
export const increase = (metric: string): string => `sum(increase(${metric}${window}))`
export const quantile = (q: number, metric: string, labels = ''): string =>
  `histogram_quantile(${q}, sum by (le) (${rate(`${metric}_bucket`, labels)}))`

/** Of all scrapes since the point before, or what was short would be lost. */
export const worst = (metric: string, labels = ''): string => `max_over_time(${metric}${labels}${window})`

/** 2 is open, 1 half open. A breaker that was closed again by the next scrape has counted that it was open. */
const breakers = [
  `2 * ${worst('quicklink_breaker_state', '{state="open"}')}`,
  worst('quicklink_breaker_state', '{state="half_open"}'),
  `2 * (increase(quicklink_breaker_transitions_total{to="open"}${window}) > bool 0)`,
]

/** For a timeline: what each state is called, and its colour. */
export const breakersAndTrust = {
  states: [
    ['closed', 'green'],
    ['being tried', 'orange'],
    ['open', 'red'],
  ],
  but: {
    'trust in redis': [
      ['trusted', 'green'],
      ['not trusted', 'orange'],
    ],
  },
  queries: {
    '{{dependency}}': `max by (dependency) (${breakers.join(' or ')})`,
    'trust in redis': `max(${worst('quicklink_trust_age_seconds')}) > bool 0.8`,
  },
} as const
