// From what was measured to a verdict: the promises of the k6 script, those of the scenario, and whether the run proves
// anything at all.
import type { Check, Phase } from '../report/report.ts'
import { percent, short } from '../report/text.ts'
import type { Threshold } from './k6.ts'
import { longestStallMs, momentsOf, promisedPhases, type Measured } from './measured.ts'
import { cores, coresTaken, idleShare, type Moment } from './sampler.ts'

const claims: Readonly<Record<string, { what: string; unit: string }>> = {
  wrong_answers: { what: 'wrong answers', unit: '' },
  failed_answers: { what: 'failed answers', unit: '' },
  http_req_duration: { what: 'of visitors', unit: ' ms' },
}

/** `p(99)<25` of http_req_duration in phase fault → "fault: p99 of visitors", "< 25 ms". */
export function checksOf(
  thresholds: readonly Threshold[],
  phases: readonly Phase[],
): { checks: Check[]; certain: string[] } {
  const certain: string[] = []
  // k6 has no order of them: by phase, and what is worst first.
  const place = ({ metric, tags, expression }: Threshold): string =>
    `${phases.findIndex(({ name }) => name === tags['phase'])} ${metric === 'wrong_answers' ? 0 : 1} ${metric} ${expression}`
  const checks = thresholds
    .toSorted((a, b) => place(a).localeCompare(place(b)))
    .filter(({ metric }) => metric !== 'dropped_iterations')
    .map(({ metric, tags, expression, measured, ok }): Check => {
      const { what: usual = metric, unit = '' } = claims[metric] ?? {}
      const what = tags['status'] === undefined ? usual : `of answers with ${tags['status']}`
      const [, aggregate = '', comparison = '', bound = ''] = /^\s*([^<>=!\s]+)\s*([<>=!]+)\s*(.+)$/.exec(expression) ?? []
      const subject = aggregate === 'count' ? what : `${aggregate.replace(/[()]/g, '')} ${what}`
      const claim = `${tags['phase'] ?? 'run'}: ${subject}`
      // What a visitor was told wrongly, or not told, was so whatever the machine was busy with.
      if (metric.endsWith('_answers')) certain.push(claim)
      return { claim, promised: `${comparison.replace('==', '')} ${bound}${unit}`.trim(), measured: short(measured) + unit, ok }
    }) // prettier-ignore
  return { checks, certain }
}

/** A second with less than this of the machine idle was nobody's to measure in. */
const leastIdle = 0.03
const mostBusySeconds = 0.1
const leastOfTheRate = 0.99

const mostByOthers = 0.1

/**
 * Who else kept the machine busy. That can make nothing better than it is: it explains a latency that was too long, and
 * takes nothing from one that was short enough.
 */
export function excusesOf(measured: Measured): string[] {
  return promisedPhases(measured).flatMap((phase) => {
    const moments = momentsOf(measured, phase)
    const [first, last] = [moments[0], moments.at(-1)]
    // Elsewhere, or in containers: nobody here knows what is QuickLink's.
    if (!first || !last || !('server' in last.cpu)) return []
    const others = coresTaken(first, last)['other programs'] ?? 0
    if (others <= mostByOthers * cores) return []
    return [`Other programs took ${short(others)} of ${cores} cores in ${phase.name}: run it again when they are done.`]
  })
}

/** In more seconds than this the machine stood still for so long that it decided the p99 of the second. */
const mostStalled = { share: 0.2, ms: 10 }

/** The machine itself kept everybody waiting: as `excusesOf`, it makes nothing better than it is. */
export function stallsOf(measured: Measured): string[] {
  return promisedPhases(measured).flatMap((phase) => {
    const seconds = Array.from({ length: Math.floor(phase.toS - phase.fromS) }, (_, n) => phase.fromS + n)
    const stalled = seconds.filter((atS) => longestStallMs(measured, { fromS: atS, toS: atS + 1 }) >= mostStalled.ms)
    if (stalled.length <= mostStalled.share * seconds.length) return []
    return [`The machine stood still for ${mostStalled.ms} ms and more (at worst ${short(longestStallMs(measured, phase))} ms) in ${stalled.length} of ${seconds.length} seconds of ${phase.name}: run it again when it is quieter.`] // prettier-ignore
  })
}

/** Half of the deadline of a look-up: with the look-up itself, that is one that is missed. So it is without idle CPU. */
const missed = { stallMs: 50, idle: 0.1 }

/**
 * A 503 in time is what a visitor gets when nobody can say in time. When the machine stood still or was full just then,
 * that nobody could is no fault of QuickLink: such a failure proves nothing. By the claim that it breaks, with the reason.
 */
export function noFaultsOf(measured: Measured): Map<string, string> {
  const excused = new Map<string, string>()
  for (const { name, fromS, toS } of promisedPhases(measured)) {
    const failing = measured.answers.seconds.filter(({ atS, failed }) => failed > 0 && atS >= fromS && atS <= toS)
    const excuses = failing.map((second) =>
      (second.statuses['503'] ?? 0) >= second.failed ? noFaultAt(measured, second.atS) : undefined,
    )
    const [first] = excuses
    if (first !== undefined && excuses.every((each) => each !== undefined)) {
      excused.set(`${name}: failed answers`, `${first} when answers of ${name} failed: run it again.`)
    }
  }
  return excused
}

function noFaultAt(measured: Measured, atS: number): string | undefined {
  const around = { fromS: atS - 1, toS: atS + 2 }
  const stallMs = longestStallMs(measured, around)
  if (stallMs >= missed.stallMs) return `The machine stood still for ${short(stallMs)} ms`
  const moments = momentsOf(measured, around)
  const isFull = moments.slice(1).some((moment, n) => idleShare(moments[n]!, moment) < missed.idle)
  return isFull ? 'The machine was full' : undefined
}

export const isLatency = ({ measured }: Check): boolean => measured.endsWith(' ms')

/** Why the run proves nothing, a sentence each that says what to change. */
export function doubtsOf(measured: Measured): string[] {
  const doubts: string[] = []
  const { answers, plan } = measured
  for (const phase of promisedPhases(measured)) {
    const groups = answers.groupsOf(phase.name)
    const dropped = groups.reduce((sum, each) => sum + each.dropped, 0)
    const sent = groups.reduce((sum, each) => sum + each.latencies.count, 0)
    const offered = (plan.rates.get(phase.name) ?? 0) * (phase.toS - phase.fromS)
    if (dropped > 0) doubts.push(`k6 dropped ${dropped} arrivals in ${phase.name}: lower RATE, or give k6 more cores.`)
    else if (sent < leastOfTheRate * offered) {
      doubts.push(`k6 sent ${short(sent)} of ${short(offered)} requests in ${phase.name}: lower RATE.`)
    }
    const moments = momentsOf(measured, phase)
    const pairs = moments.slice(1).map((moment, n) => [moments[n]!, moment] as const)
    const busy = pairs.filter(([from, to]) => idleShare(from, to) < leastIdle)
    if (pairs.length === 0 || busy.length <= mostBusySeconds * pairs.length) continue
    doubts.push(`The machine was full in ${percent(busy.length / pairs.length)} of the seconds of ${phase.name}: ${whose(moments[0]!, moments.at(-1)!)}`) // prettier-ignore
  }
  return doubts
}

/** What to change depends on who took the most. */
const remedies: Readonly<Record<string, string>> = {
  generator: 'lower RATE, or run k6 on another machine (TARGET=…)',
  'other programs': 'run it again when they are done',
}

export function whose(from: Moment, to: Moment): string {
  const taken = Object.entries(coresTaken(from, to)).sort(([, a], [, b]) => b - a)
  const most = taken[0]?.[0] ?? ''
  const named = taken.map(([name, of]) => `${name === 'generator' ? 'k6' : name} ${of.toFixed(2)}`)
  return `of ${cores} cores ${named.join(', ')}. Most of it was ${most === 'generator' ? 'the load generator itself' : most}: ${remedies[most] ?? 'lower RATE'}.`
}
