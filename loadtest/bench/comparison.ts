// Two results side by side: CPU per request of each subject, as ratio, and whether the difference is more than noise.
import { short } from '../report/text.ts'
import type { Result, SubjectResult } from './results.ts'
import type { Spread } from '../measure/stats.ts'

export type Verdict = 'better' | 'worse' | 'the same' | 'only in A' | 'only in B'

/** Less of a difference is noise, even if the repetitions of each run happened to agree. */
const least = 0.03

/** Apart, and by more than noise: the ranges of the repetitions do not overlap. */
export function verdict(a: Spread, b: Spread): Verdict {
  const ratio = b.median / a.median
  if (Math.abs(ratio - 1) < least || (a.min <= b.max && b.min <= a.max)) return 'the same'
  return ratio < 1 ? 'better' : 'worse'
}

/** Machines differ in speed from day to day: bare `node:http` of the same run takes that out, where both have it. */
function relative(result: Pick<Result, 'subjects'>, { cpuUs }: SubjectResult): Spread {
  const bare = result.subjects['http']?.cpuUs.median ?? 1
  return { median: cpuUs.median / bare, min: cpuUs.min / bare, max: cpuUs.max / bare }
}

type Compared = Pick<Result, 'subjects' | 'commit' | 'at'>

export function compare(a: Compared, b: Compared): string {
  const names = [...new Set([...Object.keys(a.subjects), ...Object.keys(b.subjects)])]
  const byBare = a.subjects['http'] !== undefined && b.subjects['http'] !== undefined
  const scaled = (result: Compared, subject: SubjectResult): Spread =>
    byBare ? relative(result, subject) : subject.cpuUs
  const rows = names.map((name) => {
    const [mine, theirs] = [a.subjects[name], b.subjects[name]]
    if (mine === undefined || theirs === undefined) {
      const only: Verdict = mine === undefined ? 'only in B' : 'only in A'
      return [mine?.what ?? theirs?.what ?? name, cell(mine), cell(theirs), '', only]
    }
    const [before, after] = [scaled(a, mine), scaled(b, theirs)]
    return [mine.what, cell(mine), cell(theirs), short(after.median / before.median), verdict(before, after)]
  })
  const of = ({ commit, at }: Compared): string => `${commit} (${at.slice(0, 10)})`
  return [
    `A: ${of(a)}   B: ${of(b)}`,
    `CPU µs per request; B ÷ A ${byBare ? 'after each was divided by bare `node:http` of its own run' : 'as measured'}.`,
    '',
    '| subject | A | B | B ÷ A | B is |',
    '|---|---|---|---|---|',
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ].join('\n')
}

const cell = (subject: SubjectResult | undefined): string =>
  subject === undefined
    ? '–'
    : `${short(subject.cpuUs.median)} [${short(subject.cpuUs.min)}, ${short(subject.cpuUs.max)}]`
