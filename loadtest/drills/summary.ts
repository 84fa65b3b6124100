// Several drills as one report: a line for each.
import { figureText, makeReport, type Report } from '../report/report.ts'

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

export function summarise(reports: readonly Report[], name: string): Report {
  const checks = reports
    .filter(({ verdict }) => verdict !== 'INCONCLUSIVE')
    .map(({ name, title, verdict }) => ({
      claim: `${name}. ${title}`,
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
    at: reports[0]?.at ?? new Date().toISOString(),
    checks,
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
