// A report on disk: loadtest/reports/<UTC time>-<name>/report.{json,md,html}. The JSON is the report itself, the others show it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { html } from './html.ts'
import { sections, subtitle, type Report } from './report.ts'
import { table } from './text.ts'

/** For terminals, issues and pull requests: all of it but the charts, which the HTML has. */
export function markdown(report: Report): string {
  const { name, verdict, headline, reasons } = report
  const parts = sections(report).flatMap(({ title, note, head, rows }) => [
    `## ${title}`,
    '',
    ...(note === undefined ? [] : [note, '']),
    ...table(head, rows),
  ])
  const why = reasons.length > 0 ? [...reasons.map((reason) => `- ${reason}`), ''] : []
  const said = headline === undefined ? [] : [headline, '']
  return [`# ${verdict}: ${name}`, '', ...said, subtitle(report), '', ...why, ...parts].join('\n')
}

export const reportsDir = new URL('../reports/', import.meta.url).pathname

/** Of its folder in the folder of reports. */
export const folderOf = ({ at, name }: Pick<Report, 'at' | 'name'>): string =>
  `${at.slice(0, 19).replaceAll(':', '-')}-${name}`

/** The folder, as a person would name it. */
export function writeReport(report: Report, parent = reportsDir): string {
  const folder = join(parent, folderOf(report))
  mkdirSync(folder, { recursive: true })
  const files = { json: `${JSON.stringify(report, null, 1)}\n`, md: markdown(report), html: html(report) }
  for (const [kind, text] of Object.entries(files)) writeFileSync(join(folder, `report.${kind}`), text)
  return relative(process.cwd(), folder)
}
