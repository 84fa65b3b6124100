// A report on disk: loadtest/reports/<UTC time>-<name>/report.{json,md,html}. The JSON is the report itself, the others show it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { html } from './html.ts'
import { sections, subtitle, type Report } from './report.ts'
import { table } from './text.ts'

/** For terminals, issues and pull requests: all of it but the charts, which the HTML has. */
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

/** The folder, as a person would name it. */
export function writeReport(report: Report, parent = new URL('../reports/', import.meta.url).pathname): string {
  const time = report.at.slice(0, 19).replaceAll(':', '-')
  const folder = join(parent, `${time}-${report.name}`)
  mkdirSync(folder, { recursive: true })
  const files = { json: `${JSON.stringify(report, null, 1)}\n`, md: markdown(report), html: html(report) }
  for (const [kind, text] of Object.entries(files)) writeFileSync(join(folder, `report.${kind}`), text)
  return relative(process.cwd(), folder)
}
