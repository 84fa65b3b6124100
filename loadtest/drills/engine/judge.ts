// Figures against promises.
import { checkOf, type Bounds, type Check } from '../../report/report.ts'
import { short } from '../../report/text.ts'
import { standardPromises } from '../promises.ts'
import type { Ringing } from './alerts.ts'
import type { Drill, Promised } from './drill.ts'
import { endsWithinMs, graceMs, ringsWithinMs } from './rules.ts'
import { peak, type Moments, type Phase, type Observed } from './observed.ts'

export interface Judged {
  readonly checks: readonly Check[]
  /** Promises that nobody could look at. */
  readonly doubts: readonly string[]
}

/**
 * p99 of the generator's own lateness, in milliseconds: beyond it the machine, not QuickLink, is measured. In all of the
 * run, and in its worst second, which is what decides a p99.
 */
const latenessBoundMs = 25

/** `isBusy`: the machine had other work already before the fault, so neither late answers nor a 503 instead are held against QuickLink. */
export function judge(
  drill: Drill,
  observed: Observed,
  {
    rung,
    evidence = 1,
    isBusy = false,
  }: { rung?: readonly Ringing[] | undefined; evidence?: number | undefined; isBusy?: boolean } = {},
): Judged {
  const standard = standardPromises(drill)
  const promises = [...standard.during, ...drill.during, ...standard.after, ...drill.after]
  const lateMs = Math.max(observed.all.latenessMs, peak(observed).latenessMs)
  const checks: Check[] = []
  const doubts: string[] = []
  for (const promised of promises) {
    // Of a moment: it never came.
    const check = checkOf(promised.what, promised.figure(observed), boundsOf(promised, evidence), 'never')
    const late =
      promised.latency === true && lateMs > latenessBoundMs ? `the load was sent ${short(lateMs)} ms late` : ''
    const why =
      late ||
      (isBusy && (promised.unit === 'ms' || promised.answers) ? 'it was not steady before the fault either' : '')
    if (!check.ok && why !== '')
      doubts.push(`${promised.what}: ${check.measured}, but ${why}: the machine is busy with something else.`)
    else checks.push(check)
  }
  if (rung) checks.push(...judgeAlerts(drill, rung, observed.moments))
  return { checks, doubts }
}

const boundsOf = (promised: Promised, share: number): Bounds =>
  promised.evidence === true && promised.atLeast !== undefined
    ? { ...promised, atLeast: Math.max(1, Math.floor(promised.atLeast * share)) }
    : promised

/**
 * In any drill, for they are about milliseconds on a machine that also carries the load: the burn rate's window of an hour
 * holds little but the drill, and GET waits its turn in a busy process. The drill's own promises say what is promised of latencies.
 */
export const mayAlwaysRing: readonly string[] = ['QuickLinkRedirectSloBurn', 'QuickLinkRedisLatencyHigh']

/** By when what must ring does, and is over; and that nothing else does. */
function judgeAlerts(drill: Drill, rung: readonly Ringing[], { injectedMs, recoveredMs }: Moments): Check[] {
  const seconds = (ms: number): string => (Number.isFinite(ms) ? `${short(ms / 1000)} s` : 'never')
  const expected = drill.alerts.flatMap((name): Check[] => {
    const all = rung.filter((each) => each.name === name)
    const afterMs = Math.min(...all.map(({ fromMs }) => fromMs)) - injectedMs
    const overMs = Math.max(0, ...all.map(({ toMs = NaN }) => toMs - recoveredMs))
    const [ringMs, endMs] = [ringsWithinMs(name), endsWithinMs + graceMs]
    const ended = { claim: `${name} is over, after it was steady again`, promised: `≤ ${seconds(endMs)}`, measured: seconds(overMs), ok: overMs <= endMs }
    return [
      { claim: `${name} rings, after the fault`, promised: `≤ ${seconds(ringMs)}`, measured: seconds(afterMs), ok: afterMs <= ringMs },
      ...(all.length > 0 ? [ended] : []),
    ]
  })
  const known = [...drill.alerts, ...(drill.mayRing ?? []), ...mayAlwaysRing]
  const others = [...new Set(rung.map(({ name }) => name).filter((name) => !known.includes(name)))]
  const measured = others.length === 0 ? '0' : others.join(', ')
  return [...expected, { claim: 'other alerts that rang', promised: '0', measured, ok: others.length === 0 }]
} // prettier-ignore

/** Why this baseline says nothing about what comes after; empty: it is steady. */
export function unsteady(baseline: Phase, rate: number): string[] {
  const seconds = (baseline.toMs - baseline.fromMs) / 1000
  const p99Ms = baseline.quantile(0.99)
  const percent = (100 * baseline.answers.length) / (rate * seconds)
  const reasons: [boolean, string][] = [
    [baseline.wrong > 0, `${baseline.wrong} answers were wrong`],
    [baseline.failed > 0, `${baseline.failed} requests failed`],
    [percent < 97, `only ${short(percent)} % of the load was answered`],
    [p99Ms > 80, `p99 is ${short(p99Ms)} ms`],
    [baseline.latenessMs > latenessBoundMs, `the load was sent ${short(baseline.latenessMs)} ms late (p99)`],
  ]
  return reasons.flatMap(([is, reason]) => (is ? [reason] : []))
}
