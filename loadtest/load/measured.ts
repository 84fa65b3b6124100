// All that a run has measured, on one clock: seconds since k6's first answer.
import type { Stall } from '../measure/stalls.ts'
import type { Mark, Phase } from '../report/report.ts'
import type { Answers } from './answers.ts'
import type { K6Plan, Threshold } from './k6.ts'
import { bucketOf } from '../measure/ops.ts'
import { growth, type Moment } from './sampler.ts'

export interface Measured {
  readonly plan: K6Plan
  readonly thresholds: readonly Threshold[]
  readonly answers: Answers
  readonly moments: readonly Moment[]
  readonly stalls: readonly Stall[]
  readonly marks: readonly Mark[]
  readonly workers: number
  /** What the scenario itself has measured while it ran. */
  readonly notes: Readonly<Record<string, number>>
}

/** Warm-up promises nothing. */
export const promisedPhases = ({ plan }: Pick<Measured, 'plan'>): Phase[] =>
  plan.phases.filter(({ name }) => name !== 'warm-up')

export const secondsAt = ({ answers }: Pick<Measured, 'answers'>, atMs: number): number =>
  (atMs - answers.beganMs) / 1000

/** The samples of a phase, the one just before it included. */
export function momentsOf(measured: Measured, { fromS, toS }: { fromS: number; toS: number }): Moment[] {
  const at = (moment: Moment): number => secondsAt(measured, moment.atMs)
  const inside = measured.moments.filter((moment) => at(moment) > fromS && at(moment) <= toS)
  const before = measured.moments.filter((moment) => at(moment) <= fromS).at(-1)
  return before === undefined ? inside : [before, ...inside]
}

/** The longest time that the machine stood still then; 0: never for long. */
export function longestStallMs(measured: Measured, { fromS, toS }: { fromS: number; toS: number }): number {
  const within = measured.stalls.filter(({ fromMs, ms }) => {
    const atS = secondsAt(measured, fromMs)
    return atS + ms / 1000 > fromS && atS < toS
  })
  return Math.max(0, ...within.map(({ ms }) => ms))
}

export function growthIn(
  measured: Measured,
  phase: { fromS: number; toS: number },
  name: string,
  labels?: Readonly<Record<string, string>>,
): number {
  const moments = momentsOf(measured, phase)
  const [first, last] = [moments[0], moments.at(-1)]
  return first && last ? growth(first, last, name, labels) : NaN
}

/** By the server's own clock, from the request being read to the answer being written: not above so many milliseconds. */
export function ownQuantileMs(measured: Measured, phase: Phase, share: number): number {
  const moments = momentsOf(measured, phase)
  const [first, last] = [moments[0], moments.at(-1)]
  return first && last
    ? 1000 * bucketOf(first.samples, last.samples, 'quicklink_redirect_duration_seconds', share)
    : NaN
}

/** By which tier requests were answered, from 0 to 1. */
export function tierShares(measured: Measured, phase: Phase): { local: number; redis: number; postgres: number } {
  const local = growthIn(measured, phase, 'quicklink_cache_hit_total', { tier: 'local' })
  const redis = growthIn(measured, phase, 'quicklink_cache_hit_total', { tier: 'redis' })
  const postgres = growthIn(measured, phase, 'quicklink_cache_miss_total')
  const all = local + redis + postgres
  return { local: local / all, redis: redis / all, postgres: postgres / all }
}
