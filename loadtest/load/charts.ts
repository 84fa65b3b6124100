// A load test as lanes above each other, and its percentiles as a curve.
import type { Latencies } from '../measure/stats.ts'
import type { Chart, Limit, Series, States } from '../report/report.ts'
import { promisedPhases, secondsAt, type Measured } from './measured.ts'
import { cores, coresTaken, growth, totalOf, type Moment } from './sampler.ts'

type Pair = readonly [Moment, Moment]
type Second = Measured['answers']['seconds'][number]

const round = (value: number): number | null => (Number.isFinite(value) ? Number(value.toPrecision(4)) : null)
const isSomething = ({ points }: Series): boolean => points.some(([, value]) => value !== null && value > 0)

export function chartsOf(measured: Measured): Chart[] {
  const { answers, moments } = measured
  const pairs = moments.slice(1).map((moment, n): Pair => [moments[n]!, moment])
  // The last look comes at once: a part of a second says little.
  const inTime = pairs.filter(([from, to]) => secondsAt(measured, to.atMs) >= 0 && to.atMs - from.atMs > 500)
  const bySecond = (name: string, of: (second: Second) => number, stacked = false): Series => ({
    name,
    ...(stacked ? { stacked } : {}),
    points: answers.seconds.map((second) => [second.atS, round(of(second))] as const),
  })
  const byMoment = (name: string, of: (from: Moment, to: Moment) => number): Series => ({
    name,
    stacked: true,
    points: inTime.map(([from, to]) => [round(secondsAt(measured, to.atMs)) ?? 0, round(of(from, to))] as const),
  })
  const rate = (name: string, labels?: Record<string, string>) => (from: Moment, to: Moment) =>
    (1000 * growth(from, to, name, labels)) / (to.atMs - from.atMs)
  const statuses = [...new Set(answers.seconds.flatMap((second) => Object.keys(second.statuses)))].sort()
  const answered = [
    ...statuses.map((status) => bySecond(status === '0' ? 'none' : status, (s) => s.statuses[status] ?? 0, true)),
    bySecond('wrong', (s) => s.wrong),
  ].filter(isSomething)
  const last = moments.at(-1)
  const taken = last && moments[0] ? Object.keys(coresTaken(moments[0], last)) : []
  const hit = 'quicklink_cache_hit_total'
  const charts: Chart[] = [
    { title: 'Latency of visitors', unit: 'ms', logarithmic: true, limits: limitsOf(measured), series: [bySecond('p50', (s) => s.p50Ms), bySecond('p99', (s) => s.p99Ms), bySecond('slowest', (s) => s.maxMs)] },
    { title: 'Answers', unit: 'per second', series: [...answered, offered(measured)] },
    { title: 'Who answered', unit: 'per second', series: [byMoment('tier 1', rate(hit, { tier: 'local' })), byMoment('Redis', rate(hit, { tier: 'redis' })), byMoment('Postgres', rate('quicklink_cache_miss_total'))] },
    { title: 'Breakers', unit: '', series: [], states: breakers(measured) },
    { title: `CPU, of ${cores} cores`, unit: '', series: taken.map((name) => byMoment(name, (from, to) => coresTaken(from, to)[name] ?? NaN)) },
    { title: 'Memory of the server', unit: 'MB', series: [{ name: 'resident', points: inTime.map(([, to]) => [round(secondsAt(measured, to.atMs)) ?? 0, round(totalOf(to, 'process_resident_memory_bytes') / 1e6)] as const) }] },
    percentileChart(promisedPhases(measured).flatMap(({ name }) => answers.groupsOf(name, 'visitors').map(({ latencies }) => [name, latencies] as const))),
  ]
  // Without an ops port nobody knows.
  return charts.filter(({ series, states = [] }) => series.some(({ points }) => points.length > 0) || states.length > 0)
} // prettier-ignore

/** What was sent whatever the answers took: where it lies above them, they did not come. */
const offered = ({ plan, answers }: Measured): Series => ({
  name: 'offered',
  points: answers.seconds.map(({ atS }) => {
    const phase = plan.phases.find(({ fromS, toS }) => atS >= fromS && atS < toS)
    return [atS, plan.rates.get(phase?.name ?? '') ?? null] as const
  }),
})

/** Those of the script: `p(99)<25`. */
function limitsOf({ thresholds, plan }: Measured): Limit[] {
  return thresholds.flatMap(({ metric, tags, expression }) => {
    const [, share, value] = /^\s*p\((\d+(?:\.\d+)?)\)\s*<=?\s*(\d+(?:\.\d+)?)/.exec(expression) ?? []
    const phase = plan.phases.find(({ name }) => name === tags['phase'])
    if (metric !== 'http_req_duration' || tags['status'] !== undefined || !phase || value === undefined) return []
    return [{ value: Number(value), what: `p${share} ≤ ${value} ms`, fromX: phase.fromS, toX: phase.toS }]
  })
}

const states = ['closed', 'open', 'half_open'] as const
const tones = { closed: 'good', open: 'bad', half_open: 'warn' } as const

/** To the second. */
function breakers(measured: Measured): States[] {
  const moments = measured.moments.filter(({ atMs }) => secondsAt(measured, atMs) >= 0)
  const known = moments.some(({ samples }) => samples.some(({ name }) => name === 'quicklink_breaker_state'))
  return (known ? ['redis', 'postgres'] : []).map((dependency) => {
    const spans: { fromX: number; toX: number; state: string; tone: (typeof tones)[keyof typeof tones] }[] = []
    for (const moment of moments) {
      const state = states.findLast((each) => totalOf(moment, 'quicklink_breaker_state', { dependency, state: each }) > 0) ?? 'closed'
      const atS = round(secondsAt(measured, moment.atMs)) ?? 0
      const last = spans.at(-1)
      if (last) last.toX = atS
      if (last?.state !== state.replace('_', ' ')) spans.push({ fromX: atS, toX: atS, state: state.replace('_', ' '), tone: tones[state] })
    }
    return { name: `breaker of ${dependency === 'redis' ? 'Redis' : 'Postgres'}`, spans }
  })
} // prettier-ignore

const shares = [0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999]

/** How slow the slowest are: the further to the right, the rarer. As far as there are answers enough to say. */
export const percentileChart = (all: readonly (readonly [string, Latencies])[]): Chart => ({
  title: 'Latency by percentile',
  unit: 'ms',
  against: 'percentile',
  logarithmic: true,
  series: all.map(([name, latencies]) => ({
    name,
    points: shares
      .filter((share) => (1 - share) * latencies.count >= 1)
      .map((share) => [round(-Math.log10(1 - share)) ?? 0, round(latencies.quantile(share))] as const),
  })),
})
