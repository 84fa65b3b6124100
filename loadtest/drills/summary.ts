// Several drills as one report: a line for each.
import { figureText, makeReport, type Part, type Report } from '../report/report.ts'
import { folderOf } from '../report/write.ts'

const rowOf = ({ name, verdict, checks, figures }: Report): (string | number)[] => {
  const figure = (what: string): string => {
    const found = figures.find(({ name }) => name === what)
    return found ? figureText(found) : '–'
  }
  return [
    name,
    verdict,
    `${checks.filter(({ ok }) => ok).length} of ${checks.length}`,
    figure('answers from the fault to the end'),
    figure('wrong destinations'),
    figure('503 while the fault lasted'),
    figure('p99 while the fault lasted'),
    figure('heal to steady again'),
  ]
}

/** Its latency tells at a glance what the fault did. */
const partOf = (report: Report): Part => {
  const { name, verdict, headline, reasons, charts, phases, originS = 0 } = report
  return {
    name,
    verdict,
    headline: headline ?? reasons[0] ?? '',
    href: `../${folderOf(report)}/report.html`,
    plot: { charts: charts.slice(0, 1), phases, originS },
  }
}

function headlineOf(reports: readonly Report[]): string {
  const count = (verdict: Report['verdict']): number => reports.filter((each) => each.verdict === verdict).length
  const sum = (what: string): number =>
    reports.reduce((all, { figures }) => all + (figures.find(({ name }) => name === what)?.value ?? 0), 0)
  const others = [`${count('FAIL')} failed`, `${count('INCONCLUSIVE')} inconclusive`].filter((each) => !each.startsWith('0'))
  const answers = sum('answers from the fault to the end').toLocaleString('en')
  return `${[`${count('PASS')} of ${reports.length} drills passed`, ...others].join(', ')}; ${sum('wrong destinations')} of ${answers} answers led to a wrong place.`
} // prettier-ignore

export function summarise(reports: readonly Report[], name: string): Report {
  const checks = reports
    .filter(({ verdict }) => verdict !== 'INCONCLUSIVE')
    .map(({ name, title, verdict }) => ({
      claim: `${name}: ${title.replace(/\.$/, '')}`,
      promised: 'PASS',
      measured: verdict,
      ok: verdict === 'PASS',
    }))
  const doubts = reports
    .filter(({ verdict }) => verdict === 'INCONCLUSIVE')
    .map(({ name, reasons }) => `${name} is inconclusive: ${reasons.join(' ')}`)
  const certain = checks.map(({ claim }) => claim)
  return makeReport({
    kind: 'drill',
    name,
    title: `${reports.length} drills, one after the other, each on a QuickLink of its own.`,
    headline: headlineOf(reports),
    at: reports[0]?.at ?? new Date().toISOString(),
    checks,
    parts: reports.map(partOf),
    tables: [
      {
        title: 'Drills',
        head: ['drill', 'verdict', 'promises kept', 'answers', 'wrong', '503', 'p99 in the fault', 'heal to steady'],
        rows: reports.map(rowOf),
      },
    ],
    environment: reports[0]?.environment ?? {},
    doubts,
    certain,
  })
}
