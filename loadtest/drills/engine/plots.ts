// A drill as lanes above each other: latency with what was promised of it, answers, who gave them, breakers and trust,
// alerts; and the moments that are marked in all of them.
import { quartilesOf, quantile } from '../../measure/stats.ts'
import { total, type Worker } from '../../measure/ops.ts'
import type { Chart, Limit, Mark, Phase, Series, States } from '../../report/report.ts'
import { duration, short } from '../../report/text.ts'
import { standardPromises } from '../promises.ts'
import type { Ringing } from './alerts.ts'
import type { Drill, Promised } from './drill.ts'
import type { Answered } from './load.ts'
import { bySecond, peak, type Observed } from './observed.ts'
import type { Look } from './watch.ts'

export function phasesOf({ moments: { beganMs, injectedMs, healedMs, recoveredMs, endedMs } }: Observed): Phase[] {
  const phase = (name: string, fromMs: number, toMs: number): Phase => {
    const [fromS, toS] = [(fromMs - beganMs) / 1000, (toMs - beganMs) / 1000]
    return { name, fromS, toS }
  }
  return [
    phase('baseline', beganMs, injectedMs),
    phase('fault', injectedMs, healedMs),
    phase('recovery', healedMs, recoveredMs),
    phase('after', recoveredMs, endedMs),
  ]
}

/** From the fault on, when it was first so for one of the workers. */
export const firstMs = ({ watch, moments }: Observed, isSo: (worker: Worker) => boolean): number =>
  watch.looks.find(({ atMs, workers }) => atMs >= moments.injectedMs && workers.some(isSo))?.atMs ?? NaN

export const isOpen = ({ redis, postgres }: Worker): boolean =>
  redis.breaker !== 'closed' || postgres.breaker !== 'closed'

/** When QuickLink first showed that something is wrong; NaN: before it was over it did not. */
export function noticedMs(observed: Observed): number {
  const ms = firstMs(observed, (worker) => isOpen(worker) || !worker.redis.trusted)
  return ms < observed.moments.recoveredMs ? ms : NaN
}

/** When all workers trusted Redis again; NaN: it was trusted all the time, or never again. */
export function trustedMs({ watch, moments }: Observed): number {
  const within = watch.looks.filter(({ atMs }) => atMs >= moments.injectedMs)
  if (within.every(({ workers }) => workers.every(({ redis }) => redis.trusted))) return NaN
  return watch.first(moments.healedMs, ({ redis }) => redis.trusted) ?? NaN
}

export function marksOf(observed: Observed, rung: readonly Ringing[] | undefined): Mark[] {
  const { moments } = observed
  const worst = peak(observed)
  const trusted = trustedMs(observed)
  const all: [number, string][] = [
    [moments.injectedMs, 'fault'],
    [moments.landedMs, 'it landed'],
    [noticedMs(observed), 'noticed'],
    [rung?.[0]?.fromMs ?? NaN, 'first alert'],
    [worst.atMs, `peak p99 ${short(worst.ms)} ms`],
    [moments.healedMs, 'healed'],
    [trusted, 'Redis trusted'],
    [observed.noted('recovered') === 1 ? moments.recoveredMs : NaN, 'steady'],
  ]
  return all
    .filter(([ms]) => Number.isFinite(ms))
    .map(([ms, what]) => ({ atS: (ms - moments.beganMs) / 1000, what }))
    .sort((a, b) => a.atS - b.atS)
}

/** What somebody wants to know who reads no further. */
export function headlineOf(observed: Observed): string {
  const { moments, all, fault, recovery, after } = observed
  const [noticed, trusted] = [noticedMs(observed), trustedMs(observed)]
  const failed = fault.failed + recovery.failed + after.failed
  const back = [
    ...(Number.isFinite(trusted) ? [`Redis trusted ${duration(trusted - moments.healedMs)} after the heal`] : []),
    observed.noted('recovered') === 1
      ? `steady after ${duration(moments.recoveredMs - moments.healedMs)}`
      : 'not steady again',
  ]
  const parts = [
    ...(Number.isFinite(noticed) ? [`Noticed after ${duration(noticed - moments.injectedMs)}`] : []),
    `${short(all.wrong)} of ${short(all.answers.length)} answers wrong, ${short(failed)} outside the promised ones`,
    `p99 ${short(fault.quantile(0.99))} ms while the fault lasted`,
    back.join(', '),
  ]
  return `${parts.join('; ')}.`
}

export const secondsOfP99 = (answers: readonly Answered[], fromMs: number): readonly [number, number] | undefined =>
  quartilesOf(
    bySecond({ answers, fromMs }).map(([, second]) =>
      quantile(
        second.map(({ ms }) => ms),
        0.99,
      ),
    ),
  )

export function chartsOf(drill: Drill, observed: Observed, rung: readonly Ringing[] | undefined): Chart[] {
  const seconds = wholeSeconds(observed)
  const by = (name: string, of: (second: readonly Answered[]) => number): Series => ({
    name,
    points: seconds.map(([atS, answers]) => [atS, of(answers)]),
  })
  const latency = (share: number) => (second: readonly Answered[]) =>
    quantile(second.map(({ ms }) => ms), share) // prettier-ignore
  const statuses: [string, (status: number) => boolean][] = [
    ['redirects', (status) => status === 301 || status === 302],
    ['404', (status) => status === 404],
    ['503', (status) => status === 503],
    ['other or none', (status) => ![301, 302, 404, 503].includes(status)],
  ]
  const answered = statuses.map(([name, is]) => by(name, (second) => second.filter(({ status }) => is(status)).length))
  return [
    { title: 'Latency from when each request was due', unit: 'ms', logarithmic: true, limits: limitsOf(drill, observed), series: [by('p50', latency(0.5)), by('p99', latency(0.99))] },
    { title: 'Answers', unit: 'per second', series: answered.filter(isSomething).map((series) => ({ ...series, stacked: true })) },
    { title: 'Who answered', unit: 'per second', series: whoAnswered(observed) },
    { title: 'Breakers and trust', unit: '', series: [], states: breakers(observed) },
    ...(rung !== undefined && rung.length > 0 ? [{ title: 'Alerts', unit: '', series: [], states: alertStates(rung, observed) }] : []),
  ] // prettier-ignore
}

/** What is never there has no place in a legend. */
const isSomething = ({ points }: Series): boolean => points.some(([, value]) => value !== null && value > 0)

/** Half a second looks like half of the load. */
function wholeSeconds({ baseline, all, moments: { beganMs, endedMs } }: Observed): [number, Answered[]][] {
  const wholeMs = beganMs + 1000 * Math.floor((endedMs - beganMs) / 1000)
  const answers = [...baseline.answers, ...all.answers].filter(({ dueMs }) => dueMs < wholeMs)
  return bySecond({ answers, fromMs: beganMs }).map(([ms, second]) => [Math.round((ms - beganMs) / 1000), second])
}

function limitsOf(drill: Drill, { moments }: Observed): Limit[] {
  const at = (ms: number): number => (ms - moments.beganMs) / 1000
  const limits = (promises: readonly Promised[], fromMs: number, toMs: number): Limit[] =>
    promises
      .filter(({ latency, what }) => latency === true && what.startsWith('p99'))
      .map(({ atMost = NaN }) => ({ value: atMost, what: `p99 ≤ ${short(atMost)} ms`, fromX: at(fromMs), toX: at(toMs) })) // prettier-ignore
  const standard = standardPromises()
  return [
    ...limits([...standard.during, ...drill.during], moments.injectedMs, moments.healedMs),
    ...limits([...standard.after, ...drill.after], moments.recoveredMs, moments.endedMs),
  ]
}

/** As the server counted, once a second. */
function whoAnswered({ watch, moments: { beganMs, endedMs } }: Observed): Series[] {
  // And the one before, from which the first second counts.
  const counted = watch.counted.filter(({ atMs }) => atMs >= beganMs - 1000 && atMs <= endedMs)
  const tiers = [
    ['tier 1', 'quicklink_cache_hit_total', { tier: 'local' }],
    ['Redis', 'quicklink_cache_hit_total', { tier: 'redis' }],
    ['Postgres', 'quicklink_cache_miss_total', {}],
  ] as const
  return tiers.map(([name, metric, labels]) => ({
    name,
    stacked: true,
    points: counted.slice(1).map(({ atMs, samples }, n) => {
      const before = counted[n]!
      const grew = total(samples, metric, labels) - total(before.samples, metric, labels)
      // A worker that was replaced begins at nothing again.
      return [Number(((atMs - beganMs) / 1000).toFixed(2)), grew < 0 ? null : Number(((1000 * grew) / (atMs - before.atMs)).toFixed(1))] as const // prettier-ignore
    }),
  }))
}

type Tone = States['spans'][number]['tone']
const tones: Readonly<Record<string, Tone>> = {
  closed: 'good',
  trusted: 'good',
  half_open: 'warn',
  'not trusted': 'warn',
}

/** Of the worker that is worst off. */
function breakers({ watch, moments: { beganMs, endedMs } }: Observed): States[] {
  const looks = watch.looks.filter(({ atMs }) => atMs >= beganMs && atMs <= endedMs)
  const worst = (states: readonly string[]): string =>
    ['open', 'half_open', 'closed'].find((state) => states.includes(state)) ?? 'no answer'
  const row = (name: string, of: (look: Look) => string): States => ({ name, spans: spansOf(looks, of, beganMs) })
  const redis = looks.some(({ workers }) => workers.some(({ redis }) => redis.tier !== 'off'))
  return [
    ...(redis
      ? [
          row('breaker of Redis', ({ workers }) => worst(workers.map(({ redis }) => redis.breaker))),
          row('trust in Redis', ({ workers }) =>
            workers.length === 0 ? 'no answer' : workers.every(({ redis }) => redis.trusted) ? 'trusted' : 'not trusted',
          ),
        ]
      : []),
    row('breaker of Postgres', ({ workers }) => worst(workers.map(({ postgres }) => postgres.breaker))),
  ] // prettier-ignore
}

function spansOf(looks: readonly Look[], of: (look: Look) => string, beganMs: number): States['spans'] {
  const spans: { fromX: number; toX: number; state: string; tone: Tone }[] = []
  for (const look of looks) {
    const [state, atS] = [of(look), Number(((look.atMs - beganMs) / 1000).toFixed(2))]
    const last = spans.at(-1)
    if (last) last.toX = atS
    if (last?.state !== state) spans.push({ fromX: atS, toX: atS, state, tone: tones[state] ?? 'bad' })
  }
  return spans.map((span) => ({ ...span, state: span.state.replace('_', ' ') }))
}

function alertStates(rung: readonly Ringing[], { moments: { beganMs, endedMs } }: Observed): States[] {
  const of = ({ name, severity }: Ringing): string => `${name} (${severity})`
  const at = (ms: number): number => Number(((Math.min(ms, endedMs) - beganMs) / 1000).toFixed(2))
  return [...Map.groupBy(rung, of)].map(([name, all]) => ({
    name,
    spans: all.map(({ fromMs, toMs = endedMs, severity }) => ({
      fromX: at(fromMs),
      toX: at(toMs),
      state: 'rings',
      tone: severity === 'critical' ? ('bad' as const) : ('warn' as const),
    })),
  }))
}
