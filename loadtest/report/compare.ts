// make load-compare A=loadtest/reports/…/report.json B=…: two runs of one scenario side by side. Ends with 1 when B is worse.
import { readFileSync } from 'node:fs'
import type { Figure, Report } from './report.ts'
import { short, table } from './text.ts'

/** Less is the noise between two runs of the same program on the same machine. */
const noise = 0.15

type Word = 'better' | 'worse' | 'the same' | ''

function word({ better, value }: Figure, after: number): Word {
  if (better === undefined) return ''
  const ratio = after / value
  if (!Number.isFinite(ratio) || Math.abs(ratio - 1) < noise) return 'the same'
  return ratio < 1 === (better === 'less') ? 'better' : 'worse'
}

export function compareReports(a: Report, b: Report): { text: string; worse: number } {
  const rows = a.figures.flatMap((before) => {
    const after = b.figures.find(({ name }) => name === before.name)
    if (after === undefined) return []
    const of = ({ value, unit }: Figure): string => `${short(value)} ${unit}`
    return [[before.name, of(before), of(after), short(after.value / before.value), word(before, after.value)]]
  })
  const worse = rows.filter((row) => row.at(-1) === 'worse').length
  const of = ({ at, commit, verdict }: Report): string => `${commit} (${at.slice(0, 16).replace('T', ' ')}, ${verdict})`
  const differing = Object.keys(a.environment).filter((key) => a.environment[key] !== b.environment[key])
  const text = [
    `A: ${of(a)}   B: ${of(b)}`,
    '',
    ...table(['figure', 'A', 'B', 'B ÷ A', 'B is'], rows),
    ...(differing.length > 0 ? [`They differ in more than the code: ${differing.join(', ')}.`, ''] : []),
    worse === 0 ? 'B is not worse than A.' : `B is worse than A in ${worse} of ${rows.length} figures.`,
  ].join('\n')
  return { text, worse }
}

export const readReport = (file: string): Report => JSON.parse(readFileSync(file, 'utf8')) as Report

if (import.meta.main) {
  const [a, b] = ['A', 'B'].map((name) => process.env[name])
  if (!a || !b) {
    console.error('Say which two: make load-compare A=loadtest/reports/…/report.json B=loadtest/reports/…/report.json')
    process.exitCode = 2
  } else {
    const [before, after] = [readReport(a), readReport(b)]
    if (before.name === after.name) {
      const { text, worse } = compareReports(before, after)
      console.log(text)
      process.exitCode = worse === 0 ? 0 : 1
    } else {
      console.error(`A is a report of ${before.name} and B one of ${after.name}: compare two of the same.`)
      process.exitCode = 2
    }
  }
}
