// make load-compare, make bench-compare: two reports of the same side by side, by their figures.
//   A=loadtest/reports/…/report.json B=…   Ends with 1 when B is worse.
import { readFileSync } from 'node:fs'
import { figureText, type Figure, type Report } from './report.ts'
import { short, table } from './text.ts'

/** Less is the noise between two runs of the same program on the same machine; and where each was repeated. */
const noise = 0.15
const noiseOfRepeated = 0.03

type Word = 'better' | 'worse' | 'the same' | ''

/** Repetitions have a range: only where the two do not overlap is there a difference. */
export function word({ better, value, range: [low, high] = [NaN, NaN] }: Figure, after: Figure): Word {
  if (better === undefined) return ''
  const ratio = after.value / value
  const [lowAfter, highAfter] = after.range ?? [NaN, NaN]
  const enough = Number.isNaN(low + lowAfter) ? noise : noiseOfRepeated
  if (!Number.isFinite(ratio) || Math.abs(ratio - 1) < enough || (low <= highAfter && lowAfter <= high)) return 'the same'
  return ratio < 1 === (better === 'less') ? 'better' : 'worse'
} // prettier-ignore

export function compareReports(a: Report, b: Report): { text: string; worse: number } {
  const names = [...new Set([...a.figures, ...b.figures].map(({ name }) => name))]
  const rows = names.map((wanted) => {
    const [before, after] = [a, b].map(({ figures }) => figures.find(({ name }) => name === wanted))
    if (before && after) return [wanted, figureText(before), figureText(after), short(after.value / before.value), word(before, after)] // prettier-ignore
    return [wanted, before ? figureText(before) : '–', after ? figureText(after) : '–', '', before ? 'only in A' : 'only in B'] // prettier-ignore
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

function main(files: readonly (string | undefined)[]): number {
  const [a, b] = files.map((file) => (file ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined))
  if (b && a?.name === b.name) {
    const [cpuOfA, cpuOfB] = [a, b].map(({ environment }) => String(environment['CPU'] ?? environment['cpu']))
    if (cpuOfA !== cpuOfB && process.env['ANYHOW'] !== 'yes') {
      console.error(`A was made on ${cpuOfA}, B on ${cpuOfB}: compare two of one machine, or say ANYHOW=yes.`)
      return 2
    }
    const { text, worse } = compareReports(a, b)
    console.log(text)
    return worse === 0 ? 0 : 1
  }
  const which = 'Say which two: A=loadtest/reports/…/report.json B=loadtest/reports/…/report.json'
  console.error(a && b ? `A is a report of ${a.name} and B one of ${b.name}: compare two of the same.` : which)
  return 2
}

if (import.meta.main) process.exitCode = main([process.env['A'], process.env['B']])
