// What was measured, as a report.
import { quartilesOf } from '../measure/stats.ts'
import { makeReport, type Check, type Figure, type Phase, type Report, type Table } from '../report/report.ts'
import { percent, short } from '../report/text.ts'
import { chartsOf } from './charts.ts'
import { checksOf, doubtsOf, excusesOf, isLatency, noFaultsOf, stallsOf } from './judge.ts'
import {
  growthIn,
  longestStallMs,
  momentsOf,
  ownQuantileMs,
  promisedPhases,
  tierShares,
  type Measured,
} from './measured.ts'
import { cores, coresTaken, growth, idleShare, othersOf } from './sampler.ts'

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
    marks: measured.marks,
    headline: headlineOf(measured, phases),
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

/** Of the worst phase, and of all. */
function headlineOf(measured: Measured, phases: readonly Phase[]): string {
  const groups = phases.flatMap(({ name }) => measured.answers.groupsOf(name))
  const sum = (of: (group: (typeof groups)[number]) => number): number => groups.reduce((all, each) => all + of(each), 0)
  const said = phases.flatMap(({ name, fromS, toS }) => {
    const [visitors] = measured.answers.groupsOf(name, 'visitors')
    if (visitors === undefined) return []
    const { latencies } = visitors
    const [p50, p99, p999] = [0.5, 0.99, 0.999].map((share) => short(latencies.quantile(share)))
    return [`${phases.length > 1 ? `${name} ` : ''}${short(latencies.count / (toS - fromS))}/s, p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p999} ms`]
  })
  return `${said.join('; ')}. Of ${short(sum(({ latencies }) => latencies.count))} answers ${sum(({ wrong }) => wrong)} were wrong and ${sum(({ failed }) => failed)} failed.`
} // prettier-ignore

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
  const within = measured.answers.seconds.filter(({ atS }) => atS >= phase.fromS && atS + 1 <= phase.toS)
  const spread = quartilesOf(within.map(({ p99Ms }) => p99Ms))
  const figures: Figure[] = [
    { name: `${phase.name}: p50 of visitors`, value: visitors?.latencies.quantile(0.5) ?? NaN, unit: 'ms', better: 'less' },
    { name: `${phase.name}: p99 of visitors`, value: visitors?.latencies.quantile(0.99) ?? NaN, unit: 'ms', better: 'less', ...(spread ? { spread } : {}) },
    { name: `${phase.name}: p99 by the server’s own clock, at most`, value: ownQuantileMs(measured, phase, 0.99), unit: 'ms' },
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
  const [began] = measured.moments
  const names = began === undefined ? [] : [...Object.keys(began.cpu), othersOf(began)]
  return {
    title: 'CPU by phase',
    note: `Cores in use, of ${cores}. Generator is k6 with its checks. A stall is a time in which a program that wanted to run could not.`,
    head: ['phase', ...names, 'idle', 'longest stall, ms', 'server, µs per redirect'],
    rows: phases.flatMap((phase) => {
      const moments = momentsOf(measured, phase)
      const [first, last] = [moments[0], moments.at(-1)]
      if (!first || !last) return []
      const used = coresTaken(first, last)
      return [[phase.name, ...names.map((name) => short(used[name] ?? NaN)), percent(idleShare(first, last)), short(longestStallMs(measured, phase)), short(cpuPerRequestUs(measured, phase))]]
    }),
  } // prettier-ignore
}
