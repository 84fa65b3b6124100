// The thresholds of the alerts, as the panels draw them. A test compares them with prometheus/alerts.yml.

export interface Thresholds {
  readonly warning?: number
  readonly critical?: number
}

export const thresholds = {
  QuickLinkCacheHitRateLow: { warning: 0.9, critical: 0.8 },
  QuickLinkRedisLatencyHigh: { warning: 0.005, critical: 0.02 },
  QuickLinkRedisMemoryHigh: { warning: 0.7, critical: 0.85 },
  QuickLinkEvictionsHigh: { warning: 100, critical: 1000 },
  QuickLinkDbFallbackHigh: { warning: 0.1, critical: 0.25 },
  QuickLinkNegativeCacheLarge: { warning: 1e6, critical: 5e6 },
  QuickLinkUnavailableAnswers: { critical: 0.01 },
  QuickLinkRedisUntrusted: { warning: 5 },
  QuickLinkSpoolOld: { warning: 300 },
  QuickLinkVisitsUnseen: { warning: 0.1 },
  QuickLinkVisitsSampled: { warning: 0.5 },
  QuickLinkStaleAnswers: { warning: 1 },
} as const satisfies Record<string, Thresholds>

export type ThresholdAlert = keyof typeof thresholds

/** QuickLinkRedirectSloBurn: by its windows, how many times as fast as allowed. */
export const burnRates = { '1h': 14.4, '6h': 6, '1d': 3, '3d': 1 } as const
