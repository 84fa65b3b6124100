// Which destination is right for a code, now and a moment ago.
import type { Answered } from './load.ts'

/** Where a link leads, unless the drill changes it. */
export const standardDestination = (code: string): string => `https://example.org/a/page?of=${code}`

/** A destination, or that there is none. */
export type Outcome = string | 404

export interface Oracle {
  /** From `atMs` on this is right for the code. Until a second later, what was right before is right too. */
  changed(code: string, atMs: number, to: Outcome): void
  /** From `atMs` on this is right, too, until the next change: who looks it up finds it, and who knows it already need not. */
  beside(code: string, atMs: number, to: Outcome): void
  /** It led where it should not, or nowhere although there is a link. No answer and 503 are failures, but never wrong. */
  wrong(answer: Pick<Answered, 'code' | 'dueMs' | 'ms' | 'status' | 'usual' | 'location'>): boolean
}

/** Within this, everybody knows of a change. */
const promiseMs = 1000

interface Truth {
  readonly fromMs: number
  readonly to: Outcome
  readonly isBeside?: boolean
}

export function createOracle(): Oracle {
  const truths = new Map<string, readonly Truth[]>()
  const truthsOf = (code: string): readonly Truth[] =>
    truths.get(code) ?? [{ fromMs: -Infinity, to: standardDestination(code) }]
  return {
    changed(code, fromMs, to) {
      truths.set(code, [...truthsOf(code), { fromMs, to }])
    },
    beside(code, fromMs, to) {
      truths.set(code, [...truthsOf(code), { fromMs, to, isBeside: true }])
    },
    wrong({ code, dueMs, ms, status, usual, location }) {
      const said = usual ? standardDestination(code) : (location ?? (status === 404 ? 404 : undefined))
      if (said === undefined) return false
      return !truthsOf(code).some(({ fromMs, to }, n, all) => {
        const untilMs = (all.slice(n + 1).find(({ isBeside }) => !isBeside)?.fromMs ?? Infinity) + promiseMs
        return to === said && fromMs <= dueMs + ms && dueMs <= untilMs
      })
    },
  }
}
