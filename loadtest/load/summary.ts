// What was measured, as a report.
import { makeReport, type Chart, type Check, type Figure, type Mark, type Phase, type Report, type Table } from '../report/report.ts' // prettier-ignore
import { percent, short } from '../report/text.ts'
import { checksOf, doubtsOf, excusesOf, isLatency, noFaultsOf, stallsOf } from './judge.ts'
import {
  growthIn,
  longestStallMs,
  momentsOf,
  ownQuantileMs,
  promisedPhases,
  secondsAt,
  tierShares,
  type Measured,
} from './measured.ts'
import { cores, coresUsed, growth, idleShare, totalOf, type Moment } from './sampler.ts'

export interface About {
  readonly name: string
  readonly title: string
  readonly own: readonly Check[]
  readonly excuses?: readonly string[]
  readonly environment: Readonly<Record<string, string | number>>
}

export function reportOf(measured: Measured, { name, title, own, excuses = [], environment }: About): Report {
  const { checks, certain } = checksOf(measured.thresholds, promisedPhases(measured))
  const all = [...checks, ...own]
  const noFaults = noFaultsOf(measured)
  const broken = all.filter(({ ok }) => !ok)
  const maybeTheMachine = broken.length > 0 && broken.every((check) => isLatency(check) || noFaults.has(check.claim))
  const why = [...noFaults.values(), ...excusesOf(measured), ...stallsOf(measured), ...excuses]
  const doubts = [...doubtsOf(measured), ...(maybeTheMachine ? why : [])]
  const surely = certain.filter((claim) => !noFaults.has(claim))
  const phases = promisedPhases(measured)
  const report = makeReport({
    kind: 'load',
    name,
    title,
    at: new Date(measured.answers.beganMs).toISOString(),
    checks: all,
    phases,
    marks: [...measured.marks, ...breakerMarks(measured)].sort((a, b) => a.atS - b.atS),
    figures: phases.flatMap((phase) => figuresOf(measured, phase)),
    charts: chartsOf(measured),
    tables: [latencyTable(measured, phases), tierTable(measured, phases), cpuTable(measured, phases)],
    environment,
    doubts,
    certain: surely,
  })
  return {
    ...report,
    reasons: [...report.reasons, ...measured.answers.complaints.map((each) => `For example: ${each}`)],
  }
}

/** What the server took for a request, all its processes together. */
function cpuPerRequestUs(measured: Measured, phase: Phase): number {
  const moments = momentsOf(measured, phase)
  const [first, last] = [moments[0], moments.at(-1)]
  if (!first || !last) return NaN
  const seconds = (last.cpu['server'] ?? NaN) - (first.cpu['server'] ?? NaN)
  return (seconds * 1e6) / growth(first, last, 'quicklink_redirects_total')
}

function figuresOf(measured: Measured, phase: Phase): Figure[] {
  const [visitors] = measured.answers.groupsOf(phase.name, 'visitors')
  const { local, redis, postgres } = tierShares(measured, phase)
  const figures: Figure[] = [
    { name: `${phase.name}: p50 of visitors`, value: visitors?.latencies.quantile(0.5) ?? NaN, unit: 'ms', better: 'less' },
    { name: `${phase.name}: p99 of visitors`, value: visitors?.latencies.quantile(0.99) ?? NaN, unit: 'ms', better: 'less' },
    { name: `${phase.name}: p99 by the server’s own clock, at most`, value: ownQuantileMs(measured, phase, 0.99), unit: 'ms', better: 'less' },
    { name: `${phase.name}: CPU of the server per redirect`, value: cpuPerRequestUs(measured, phase), unit: 'µs', better: 'less' },
    { name: `${phase.name}: answered by tier 1`, value: 100 * local, unit: '%', better: 'more' },
    { name: `${phase.name}: answered by Redis`, value: 100 * redis, unit: '%' },
    { name: `${phase.name}: asked of Postgres`, value: 100 * postgres, unit: '%' },
  ] // prettier-ignore
  return figures.filter(({ value }) => Number.isFinite(value))
}

function latencyTable({ answers }: Measured, phases: readonly Phase[]): Table {
  return {
    title: 'Answers by phase',
    note: 'As k6 saw them, in milliseconds. The load was open: arrivals did not wait for answers.',
    head: ['phase', 'who', 'answers', 'per second', 'p50', 'p95', 'p99', 'p99.9', 'slowest', 'statuses', 'wrong', 'failed', 'dropped'],
    rows: phases.flatMap(({ name, fromS, toS }) =>
      answers.groupsOf(name).map(({ flow, latencies, statuses, wrong, failed, dropped }) => [
        name,
        flow,
        latencies.count.toLocaleString('en'),
        short(latencies.count / (toS - fromS)),
        ...[0.5, 0.95, 0.99, 0.999, 1].map((share) => short(latencies.quantile(share))),
        Object.entries(statuses).map(([status, count]) => `${status}: ${count.toLocaleString('en')}`).join(', '),
        wrong,
        failed,
        dropped,
      ]),
    ),
  } // prettier-ignore
}

function tierTable(measured: Measured, phases: readonly Phase[]): Table {
  const perS = (phase: Phase, name: string, labels?: Record<string, string>): string =>
    short(growthIn(measured, phase, name, labels) / (phase.toS - phase.fromS))
  return {
    title: 'Who answered',
    note: 'As the server counted. Lookups are flights: many requests may have joined one. Its clock runs from the request being read to the answer being written; p50 and p99 are bounds of its histogram.',
    head: ['phase', 'tier 1', 'Redis', 'Postgres', 'p50, ms', 'p99, ms', 'Redis lookups/s', 'Postgres lookups/s', 'fallbacks/s', 'Postgres batches/s', 'shed'],
    rows: phases.map((phase) => {
      const { local, redis, postgres } = tierShares(measured, phase)
      return [
        phase.name,
        ...[local, redis, postgres].map(percent),
        ...[0.5, 0.99].map((share) => `≤ ${short(ownQuantileMs(measured, phase, share))}`),
        perS(phase, 'quicklink_lookups_total', { source: 'redis' }),
        perS(phase, 'quicklink_lookups_total', { source: 'postgres' }),
        perS(phase, 'quicklink_db_fallback_total'),
        perS(phase, 'quicklink_db_batch_size_count'),
        growthIn(measured, phase, 'quicklink_shed_total'),
      ]
    }),
  } // prettier-ignore
}

function cpuTable(measured: Measured, phases: readonly Phase[]): Table {
  const names = Object.keys(measured.moments[0]?.cpu ?? {})
  return {
    title: 'CPU by phase',
    note: `Cores in use, of ${cores}. Generator is k6 with its checks. A stall is a time in which a program that wanted to run could not.`,
    head: ['phase', ...names, 'idle', 'longest stall, ms', 'server, µs per redirect'],
    rows: phases.flatMap((phase) => {
      const moments = momentsOf(measured, phase)
      const [first, last] = [moments[0], moments.at(-1)]
      if (!first || !last) return []
      const used = coresUsed(first, last)
      return [[phase.name, ...names.map((name) => short(used[name] ?? NaN)), percent(idleShare(first, last)), short(longestStallMs(measured, phase)), short(cpuPerRequestUs(measured, phase))]]
    }),
  } // prettier-ignore
}

type Pair = readonly [Moment, Moment]

function chartsOf(measured: Measured): Chart[] {
  const { answers, moments } = measured
  const pairs = moments.slice(1).map((moment, n): Pair => [moments[n]!, moment])
  const inTime = pairs.filter(([, to]) => secondsAt(measured, to.atMs) >= 0)
  const round = (value: number): number | null => (Number.isFinite(value) ? Number(value.toPrecision(4)) : null)
  const bySecond = (name: string, of: (second: Answers) => number) => ({
    name,
    points: answers.seconds.map((second) => [second.atS, round(of(second))] as const),
  })
  const byMoment = (name: string, of: (from: Moment, to: Moment) => number) => ({
    name,
    points: inTime.map(([from, to]) => [round(secondsAt(measured, to.atMs)) ?? 0, round(of(from, to))] as const),
  })
  const rate = (name: string, labels?: Record<string, string>) => (from: Moment, to: Moment) =>
    (1000 * growth(from, to, name, labels)) / (to.atMs - from.atMs)
  const statuses = [...new Set(answers.seconds.flatMap((second) => Object.keys(second.statuses)))].sort()
  const names = Object.keys(moments[0]?.cpu ?? {})
  return [
    { title: 'Latency of visitors', unit: 'ms', logarithmic: true, series: [bySecond('p50', (s) => s.p50Ms), bySecond('p99', (s) => s.p99Ms), bySecond('slowest', (s) => s.maxMs)] },
    { title: 'Answers', unit: 'per second', series: [...statuses.map((status) => bySecond(status === '0' ? 'none' : status, (s) => s.statuses[status] ?? 0)), bySecond('wrong', (s) => s.wrong)] },
    { title: 'Who answered', unit: 'per second', series: [byMoment('tier 1', rate('quicklink_cache_hit_total', { tier: 'local' })), byMoment('Redis', rate('quicklink_cache_hit_total', { tier: 'redis' })), byMoment('Postgres', rate('quicklink_cache_miss_total'))] },
    { title: 'CPU', unit: 'cores', series: [...names.map((name) => byMoment(name, (from, to) => coresUsed(from, to)[name] ?? NaN)), byMoment('idle', (from, to) => cores * idleShare(from, to))] },
    { title: 'Memory of the server', unit: 'MB', series: [{ name: 'resident', points: inTime.map(([, to]) => [round(secondsAt(measured, to.atMs)) ?? 0, round(totalOf(to, 'process_resident_memory_bytes') / 1e6)] as const) }] },
  ] // prettier-ignore
}

type Answers = Measured['answers']['seconds'][number]

const states = ['closed', 'open', 'half_open'] as const

/** When a breaker changed, to the second. */
function breakerMarks(measured: Measured): Mark[] {
  const marks: Mark[] = []
  for (const dependency of ['redis', 'postgres']) {
    const stateOf = (moment: Moment): string =>
      states.findLast((state) => totalOf(moment, 'quicklink_breaker_state', { dependency, state }) > 0) ?? 'closed'
    for (const [n, moment] of measured.moments.entries()) {
      const before = measured.moments[n - 1]
      if (before === undefined || stateOf(before) === stateOf(moment)) continue
      const name = dependency === 'redis' ? 'Redis' : 'Postgres'
      marks.push({
        atS: secondsAt(measured, moment.atMs),
        what: `${name} breaker ${stateOf(moment).replace('_', ' ')}`,
      })
    }
  }
  return marks
}
