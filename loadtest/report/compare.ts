// make load-compare, make bench-compare: two reports of the same side by side, by their figures, and as a page.
//   A=loadtest/reports/…/report.json B=…   Ends with 1 when B is worse.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { page, section } from './html.ts'
import { drawPlots } from './plot.ts'
import { figureText, machineLine, type Chart, type Figure, type Report, type Table } from './report.ts'
import { escape, short, table } from './text.ts'
import { reportsDir } from './write.ts'

/** Less is the noise between two runs of the same program on the same machine; and where each was repeated. */
const noise = 0.15
const noiseOfRepeated = 0.03

type Word = 'better' | 'worse' | 'the same' | ''

const apart = (a: readonly [number, number] | undefined, b: readonly [number, number] | undefined): boolean =>
  a === undefined || b === undefined || a[0] > b[1] || b[0] > a[1]

/** Repetitions have a range, and seconds a spread: only where the two do not overlap is there a difference. */
export function word(before: Figure, after: Figure): Word {
  if (before.better === undefined) return ''
  const ratio = after.value / before.value
  const enough = before.range && after.range ? noiseOfRepeated : noise
  const same = !Number.isFinite(ratio) || Math.abs(ratio - 1) < enough
  if (same || !apart(before.range, after.range) || !apart(before.spread, after.spread)) return 'the same'
  return ratio < 1 === (before.better === 'less') ? 'better' : 'worse'
}

type Said = Pick<Report, 'at' | 'commit' | 'verdict'>
const of = ({ at, commit, verdict }: Said): string => `${commit} (${at.slice(0, 16).replace('T', ' ')}, ${verdict})`

/** In what they differ besides the code; what else the machine had to do differs every time. */
const differing = (a: Report, b: Report): string[] =>
  [...new Set([...Object.keys(a.environment), ...Object.keys(b.environment)])].filter(
    (key) => a.environment[key] !== b.environment[key] && !volatile.includes(key),
  )
const volatile = ['load before', 'postgres', 'Redis answers again after']
const unlike = (keys: readonly string[]): string =>
  keys.length > 0 ? `They differ in more than the code: ${keys.join(', ')}.` : ''

/** In the report of a run: the one before it. Two that were told different things are not judged. */
export function comparison(report: Report, earlier: Report): Table {
  const keys = differing(earlier, report)
  const rows = report.figures.map((figure) => {
    const then = earlier.figures.find(({ name }) => name === figure.name)
    return [figure.name, then ? figureText(then) : '–', figureText(figure), then && keys.length === 0 ? word(then, figure) : '']
  })
  return {
    title: 'The last run of the same',
    note: `Commit ${of(earlier)}. ${unlike(keys) || `It is better or worse where it differs by more than ${100 * noise} % and, of a p99, by more than its seconds do.`}`,
    head: ['what', 'then', 'now', 'it is'],
    rows,
  }
} // prettier-ignore

/** The newest report of that name that has figures, in a folder of reports. */
export function lastReport(name: string, parent = reportsDir): Report | undefined {
  try {
    const folders = readdirSync(parent).filter((folder) => new RegExp(`^[\\dT-]+-${name}$`).test(folder)).sort().reverse() // prettier-ignore
    const reports = folders.values().map((folder) => JSON.parse(readFileSync(join(parent, folder, 'report.json'), 'utf8')) as Report) // prettier-ignore
    return reports.find(({ figures }) => figures.length > 0)
  } catch {
    return undefined
  }
}

interface Compared {
  readonly about: string
  readonly figures: Table
  readonly verdict: string
  readonly worse: number
}

export function compareReports(a: Report, b: Report): Compared & { readonly text: string } {
  const names = [...new Set([...a.figures, ...b.figures].map(({ name }) => name))]
  const rows = names.map((wanted) => {
    const [before, after] = [a, b].map(({ figures }) => figures.find(({ name }) => name === wanted))
    if (before && after) return [wanted, figureText(before), figureText(after), short(after.value / before.value), word(before, after)] // prettier-ignore
    return [wanted, before ? figureText(before) : '–', after ? figureText(after) : '–', '', before ? 'only in A' : 'only in B'] // prettier-ignore
  })
  const worse = rows.filter((row) => row.at(-1) === 'worse').length
  const about = `A: ${of(a)}   B: ${of(b)}`
  const head = ['figure', 'A', 'B', 'B ÷ A', 'B is']
  const also = unlike(differing(a, b))
  const verdict = worse === 0 ? 'B is not worse than A.' : `B is worse than A in ${worse} of ${rows.length} figures.`
  const text = [about, '', ...table(head, rows), ...(also === '' ? [] : [also, '']), verdict].join('\n')
  return {
    about,
    worse,
    verdict,
    text,
    figures: { title: 'Figures', ...(also === '' ? {} : { note: also }), head, rows },
  }
}

/** Both in one chart, where both have it. */
function together(a: Chart, b: Chart): Chart {
  const wanted = (name: string): boolean => ['p50', 'p99'].includes(name) || a.against !== undefined
  const named = (chart: Chart, which: string) =>
    chart.series.filter(({ name }) => wanted(name)).map((series) => ({ ...series, name: `${which}: ${series.name}` }))
  return { ...a, limits: [], series: [...named(a, 'A'), ...named(b, 'B')] }
}

export function comparePage(a: Report, b: Report): string {
  const { about, figures, verdict } = compareReports(a, b)
  const plots = a.charts.flatMap((chart) => {
    const other = b.charts.find(({ title }) => title === chart.title)
    if (other === undefined || chart.logarithmic !== true) return []
    const { phases, originS = 0 } = a
    const over = chart.against === undefined ? { phases, originS } : {}
    return [`<figure>${drawPlots({ charts: [together(chart, other)], ...over })}</figure>`]
  })
  return page(
    `${a.name}: two runs`,
    [
      `<h1>${escape(a.name)}: two runs</h1><p class="headline">${escape(verdict)}</p><p>${escape(about)}</p>`,
      ...[a, b].map((report, n) => `<p class="machine">${'AB'[n] ?? ''}: ${escape(machineLine(report))}</p>`),
      ...plots,
      section(figures),
    ].join('\n'),
  )
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
    const folder = join(reportsDir, `${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}-${a.name}-compared`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'report.html'), comparePage(a, b))
    console.log(`${text}\n\n${relative(process.cwd(), folder)}/report.html`)
    return worse === 0 ? 0 : 1
  }
  const which = 'Say which two: A=loadtest/reports/…/report.json B=loadtest/reports/…/report.json'
  console.error(a && b ? `A is a report of ${a.name} and B one of ${b.name}: compare two of the same.` : which)
  return 2
}

if (import.meta.main) process.exitCode = main([process.env['A'], process.env['B']])
