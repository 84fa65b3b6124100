// A report for terminals, issues and pull requests: all of it but the charts, which the HTML has.
import { sections, subtitle, type Report } from './report.ts'
import { table } from './text.ts'

export function markdown(report: Report): string {
  const { name, verdict, reasons } = report
  const parts = sections(report).flatMap(({ title, note, head, rows }) => [
    `## ${title}`,
    '',
    ...(note === undefined ? [] : [note, '']),
    ...table(head, rows),
  ])
  const why = reasons.length > 0 ? [...reasons.map((reason) => `- ${reason}`), ''] : []
  return [`# ${verdict}: ${name}`, '', subtitle(report), '', ...why, ...parts].join('\n')
}
