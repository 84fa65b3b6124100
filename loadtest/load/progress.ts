// What somebody sees who waits for a load test: what it will do, and how it goes.
import type { Phase } from '../report/report.ts'
import { short } from '../report/text.ts'
import type { Second } from './answers.ts'
import type { K6Plan } from './k6.ts'

/** `passing`: of this moment only. On a terminal the next line is written over it, elsewhere it is left out. */
export type Say = (line: string, passing?: boolean) => void

export function terminal(out: Pick<NodeJS.WriteStream, 'write' | 'isTTY'>): Say {
  let over = ''
  return (line, passing = false) => {
    if (passing && !out.isTTY) return
    out.write(`${over}${line}${passing ? '' : '\n'}`)
    over = passing ? '\r\u001b[K' : ''
  }
}

/** Of making, settling and removing; docs/decisions/0011-load-tests.md has what a million links take. */
const linksTake = { perLinkS: 31e-6, anyhowS: 6 }

/** Beforehand: how much, for how long. */
export function announcement({ phases, rates }: K6Plan, links: number): string {
  const each = (phase: Phase): string =>
    `${phase.name} ${short(rates.get(phase.name) ?? NaN)}/s for ${short(phase.toS - phase.fromS)} s`
  const loadS = Math.max(...phases.map(({ toS }) => toS))
  const allS = loadS + links * linksTake.perLinkS + linksTake.anyhowS
  return `It makes ${links.toLocaleString('en')} links, sends ${phases.map(each).join(', ')}, and removes the links: about ${inMinutes(allS)} in all.`
}

const inMinutes = (seconds: number): string =>
  seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`

const keptEveryS = 5

/** Rate, latencies and errors, each second; every fifth of them stays. */
export function progress(say: Say): (second: Second) => void {
  let wrong = 0
  let failed = 0
  return ({ atS, phase, answers, p50Ms, p99Ms, ...second }) => {
    wrong += second.wrong
    failed += second.failed
    const errors = wrong + failed === 0 ? 'no errors' : `${wrong} wrong, ${failed} failed so far`
    const line = `${String(atS).padStart(5)} s  ${phase.padEnd(9)} ${answers.toLocaleString('en').padStart(7)}/s  p50 ${short(p50Ms)} ms  p99 ${short(p99Ms)} ms  ${errors}`
    say(line, atS % keptEveryS !== 0)
  }
}
