// What has one look in all panels: a colour for each meaning, and an axis on which a quiet day looks quiet.

/** Of the lines of thresholds, and of what they judge. */
export const level = { good: 'green', warning: 'orange', critical: 'red' } as const

const redis = 'purple'
const postgres = '#00a3a3'

/** What a series is called, or the values of the label that names it. Orange and red are what rings, or fails. */
const colours: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  status: {
    301: 'blue',
    302: 'green',
    400: 'light-purple',
    404: '#8e8e8e',
    405: 'purple',
    429: 'yellow',
    500: 'dark-red',
    503: 'red',
  },
  tier: { local: 'blue', redis },
  source: { redis, postgres, stale: 'yellow', none: 'red' },
  dependency: { redis, postgres },
  /** Why Redis was not asked. */
  reason: { error: 'red', timeout: 'yellow', open: 'blue', untrusted: 'purple' },
  state: { active: 'green', idle: '#8e8e8e', waiting: 'yellow' },
  name: {
    redis,
    postgres,
    p50: 'light-blue',
    p95: 'blue',
    p99: 'dark-blue',
    p999: 'purple',
    'p99, by k6': 'yellow',
    promise: 'red',
    all: '#8e8e8e',
    accepted: 'blue',
    written: 'green',
    waiting: 'yellow',
    dropped: 'red',
    committed: 'green',
    'rolled back': 'red',
    offered: '#8e8e8e',
    'achieved, by k6': 'yellow',
    'achieved, by QuickLink': 'green',
    '1h': 'dark-blue',
    '6h': 'blue',
    '1d': 'purple',
    '3d': 'light-blue',
  },
}

/** Of the series that a legend makes: `p99`, or all of `{{status}}`. */
export function coloursOf(legend: string): (readonly [string, string])[] {
  const [, label] = /^\{\{(\w+)\}\}$/.exec(legend) ?? []
  if (label !== undefined) return Object.entries(colours[label] ?? {})
  const colour = colours['name']?.[legend]
  return colour === undefined ? [] : [[legend, colour]]
}

/** An axis reaches at least so far: next to nothing is not to fill the panel, and nothing is not to be 10,000 %. */
export const reach = { percentunit: 0.01, s: 0.01, reqps: 1, ops: 1, cpm: 10, short: 1, none: 1 } as const

export type Unit = keyof typeof reach
