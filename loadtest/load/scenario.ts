// What a scenario is to the harness, and what those that judge have in common.
import { checkOf, type Check, type Phase } from '../report/report.ts'
import { spreadOf } from '../measure/stats.ts'
import type { Dataset } from './dataset.ts'
import type { Measured } from './measured.ts'
import type { Target } from './target.ts'

/** What a scenario can do while k6 runs. */
export interface ScenarioContext {
  readonly target: Target
  readonly dataset: Dataset
  readonly phase: (name: string) => Phase
  /** Waits for a second of the run. */
  at(second: number): Promise<void>
  mark(what: string): void
  note(name: string, value: number): void
}

export interface Scenario {
  readonly about: string
  /** Seconds of the short form. */
  readonly shortS: number
  readonly links?: number
  /** What the target has to give, and how it is given. */
  readonly needs?: { readonly of: 'redis' | 'redisService' | 'ownerKey'; readonly how: string }
  readonly during?: (context: ScenarioContext) => Promise<void>
  readonly checks?: (measured: Measured) => Check[]
  /** Why a latency that was too long may be nobody's fault. */
  readonly excuses?: (measured: Measured) => string[]
}

export const atMost = (claim: string, measured: number, bound: number, unit?: string): Check =>
  checkOf(claim, measured, { unit, atMost: bound })

export const phaseOf = (measured: Measured, name: string): Phase =>
  measured.plan.phases.find((phase) => phase.name === name) ?? { name, fromS: NaN, toS: NaN }
export const p99 = ({ answers }: Measured, phase: string): number =>
  answers.groupsOf(phase, 'visitors')[0]?.latencies.quantile(0.99) ?? NaN

export const steadyAgain = { factor: 2, noiseMs: 5 }

/** Nobody is asked to be twice as fast as the noise of a machine. */
export function againstBaseline(measured: Measured, name: string): Check {
  const bound = Math.max(steadyAgain.noiseMs, steadyAgain.factor * p99(measured, 'baseline'))
  return atMost(`${name}: p99 of visitors beside that of the baseline`, p99(measured, name), bound, 'ms')
}

/** The p99 of a usual second of these phases: a stall of the machine spoils its own second, and no other. */
export function usualP99({ answers, plan }: Measured, names: readonly string[]): number {
  const wholly = plan.phases.filter(({ name }) => names.includes(name))
  const of = answers.seconds.filter(({ atS }) => wholly.some(({ fromS, toS }) => atS >= fromS && atS + 1 <= toS))
  return spreadOf(of.map(({ p99Ms }) => p99Ms)).median
}
