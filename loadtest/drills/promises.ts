// What is promised in every drill, and the promises that several of them share.
import type { Drill, Promised } from './engine/drill.ts'
import type { Phase, Observed } from './engine/observed.ts'

type Dependency = 'redis' | 'postgres'

/** What else may ring while one of them is away, if that lasts long enough. */
export const consequences: Readonly<Record<Dependency, readonly string[]>> = {
  redis: ['QuickLinkRedisDown', 'QuickLinkDbFallbackHigh', 'QuickLinkRedisUntrusted', 'QuickLinkCacheHitRateLow'],
  // A pass makes Redis fresh from Postgres.
  postgres: ['QuickLinkPostgresDown', 'QuickLinkUnavailableAnswers', 'QuickLinkRedisUntrusted', 'QuickLinkDbFallbackHigh', 'QuickLinkCacheHitRateLow'],
} // prettier-ignore

export function standardPromises({ countsAnew = false }: Pick<Drill, 'countsAnew'> = {}): {
  during: Promised[]
  after: Promised[]
} {
  return {
    during: [
      { what: 'answers that led to a wrong place, fault and after', figure: ({ all }) => all.wrong, atMost: 0 },
      { what: 'answers outside the promised ones', figure: ({ fault }) => fault.failed, atMost: 0, answers: true },
    ],
    after: [
      {
        what: 'heal to steady again: breakers closed, Redis trusted',
        figure: ({ noted, moments }) => (noted('recovered') === 1 ? moments.recoveredMs - moments.healedMs : NaN),
        unit: 'ms',
        atMost: 40_000,
      },
      {
        what: 'answers outside the promised ones, from the heal on',
        figure: ({ recovery, after }) => recovery.failed + after.failed,
        atMost: 0,
        answers: true,
      },
      // The measure of a steady baseline: on two shared cores a comparison with the baseline itself would be noise.
      p99Below('p99 when steady again', ({ after }) => after, 80),
      ...(countsAnew ? [] : books),
    ], // prettier-ignore
  }
}

const books: Promised[] = [
  { what: 'clicks: accepted, but neither persisted, spooled nor dropped', figure: missingClicks, atMost: 0, atLeast: 0 },
  { what: 'redirects answered, but not counted', figure: (observed) => observed.noted('uncounted'), atMost: 0, atLeast: 0 },
  { what: 'clicks dropped', figure: ({ grew }) => grew('quicklink_clicks_dropped_total'), atMost: 0 },
] // prettier-ignore

function missingClicks({ atEnd }: Observed): number {
  const of = (name: string): number => atEnd(`quicklink_clicks_${name}`)
  return of('accepted_total') - of('persisted_total') - of('spooled') - of('dropped_total')
}

const within = (ms: number, what: string, figure: Promised['figure']): Promised => ({
  what,
  figure,
  unit: 'ms',
  atMost: ms,
})

export const opensWithin = (dependency: Dependency, ms: number): Promised =>
  // It may be faster than the proof.
  within(ms, `breaker of ${dependency} open in all workers after the fault landed`, ({ untilAll, moments }) => {
    const openMs = untilAll(moments.injectedMs, (worker) => worker[dependency].breaker !== 'closed')
    return Math.max(0, openMs - (moments.landedMs - moments.injectedMs))
  })

export const closesWithin = (dependency: Dependency, ms: number): Promised =>
  within(ms, `breaker of ${dependency} closed again after the heal`, ({ untilAll, moments }) =>
    untilAll(moments.healedMs, (worker) => worker[dependency].breaker === 'closed'),
  )

/**
 * An open breaker is tried again after its time; a trial that comes before the connection is there costs that time once
 * more, so what counts is how soon the connection is. One look of ours may be late.
 */
export const redisBreakerCloses = (ms = 1000): Promised =>
  within(
    ms,
    'breaker of redis closed again after the heal, later than the time that it stays open',
    ({ untilAll, moments, breakerOpenMs }) =>
      Math.max(0, untilAll(moments.healedMs, ({ redis }) => redis.breaker === 'closed') - breakerOpenMs),
  )

export const trustedWithin = (ms: number): Promised =>
  within(ms, 'Redis trusted by all workers again after the heal', ({ untilAll, moments }) =>
    untilAll(moments.healedMs, ({ redis }) => redis.trusted),
  )

/** Who waits for Redis (50 ms) and then for Postgres (100 ms), and what two shared cores add. */
export const bothDeadlinesMs = 200

export const p99Below = (
  what: string,
  phase: (observed: Observed) => Phase,
  ms: number,
): Promised => ({ what, figure: (observed) => phase(observed).quantile(0.99), unit: 'ms', atMost: ms, latency: true }) // prettier-ignore

/** Of the links that Redis answered before: what it costs to ask Postgres instead. */
export const medianGrowsBy = (group: string, ms: number): Promised => ({
  what: `median of links in Redis (${group}): more than in the baseline`,
  figure: ({ fault, baseline }) => fault.of(group).quantile(0.5) - baseline.of(group).quantile(0.5),
  unit: 'ms',
  atMost: ms,
  latency: true,
})
