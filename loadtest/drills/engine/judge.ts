// Figures against promises, and what follows from them.
import type { Drill, Promised } from './drill.ts'
import { standardPromises } from '../promises.ts'
import type { Phase, Seen } from './seen.ts'

export type Verdict = 'PASS' | 'FAIL' | 'INCONCLUSIVE'

export interface Judged {
  readonly when: 'before' | 'during' | 'after'
  readonly what: string
  readonly promised: string
  /** null: it could not be measured. */
  readonly figure: number | null
  readonly unit: string
  readonly kept: boolean | null
}

/** p99 of the generator's own lateness, in milliseconds: beyond it the machine, not QuickLink, is measured. */
export const latenessBoundMs = 25

export function judge(drill: Drill, seen: Seen): Judged[] {
  const busy = seen.all.latenessMs > latenessBoundMs
  const rate = (when: Judged['when']) => (promised: Promised) => judgeOne(when, promised, seen, busy)
  const standard = standardPromises(drill)
  return [
    ...[...standard.during, ...drill.during].map(rate('during')),
    ...[...standard.after, ...drill.after].map(rate('after')),
  ]
}

function judgeOne(when: Judged['when'], promised: Promised, seen: Seen, busy: boolean): Judged {
  const { what, unit = '', atMost = Infinity, atLeast = -Infinity, latency = false } = promised
  const figure = promised.figure(seen)
  const within = figure <= atMost && figure >= atLeast
  const unknown = Number.isNaN(figure) || (!within && latency && busy)
  return {
    when,
    what,
    promised: bound(promised),
    figure: Number.isFinite(figure) ? figure : null,
    unit,
    // A moment that never came is a promise that was broken, not one that nobody could look at.
    kept: unknown && !(Number.isNaN(figure) && promised.unit === 'ms' && !latency) ? null : within,
  }
}

function bound({ atMost, atLeast, unit }: Promised): string {
  const text = (n: number): string => `${trim(n)}${unit ? ` ${unit}` : ''}`
  if (atMost !== undefined && atMost === atLeast) return text(atMost)
  return [atLeast === undefined ? '' : `≥ ${text(atLeast)}`, atMost === undefined ? '' : `≤ ${text(atMost)}`]
    .filter((part) => part !== '')
    .join(', ')
}

export const trim = (n: number): string =>
  n.toLocaleString('en', { maximumFractionDigits: Math.abs(n) < 10 ? 2 : Math.abs(n) < 100 ? 1 : 0 })

/** Why this baseline says nothing about what comes after; empty: it is steady. */
export function unsteady(baseline: Phase, rate: number): string[] {
  const seconds = (baseline.toMs - baseline.fromMs) / 1000
  const p99Ms = baseline.quantile(0.99)
  const share = baseline.answers.length / (rate * seconds)
  return [
    ...(baseline.wrong > 0 ? [`${baseline.wrong} answers of the baseline were wrong`] : []),
    ...(baseline.failed > 0 ? [`${baseline.failed} requests of the baseline failed`] : []),
    ...(share < 0.97 ? [`only ${trim(100 * share)} % of the load was answered in the baseline`] : []),
    ...(p99Ms > 80 ? [`p99 of the baseline is ${trim(p99Ms)} ms: the machine is busy with something else`] : []),
    ...(baseline.latenessMs > latenessBoundMs
      ? [`the load was sent ${trim(baseline.latenessMs)} ms late (p99): the machine is busy with something else`]
      : []),
  ]
}

/** A broken promise weighs more than one that could not be looked at. */
export function verdictOf(judged: readonly Judged[], doubts: readonly string[]): Verdict {
  if (doubts.length > 0) return 'INCONCLUSIVE'
  if (judged.some(({ kept }) => kept === false)) return 'FAIL'
  return judged.some(({ kept }) => kept === null) ? 'INCONCLUSIVE' : 'PASS'
}
