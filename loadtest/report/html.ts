// A report as one file that needs no network and no script, for a browser, an attachment, or paper.
import { drawPlot, drawPlots, plotStyle } from './plot.ts'
import {
  machineLine,
  sections,
  subtitle,
  type Chart,
  type Part,
  type Report,
  type Table,
  type Verdict,
} from './report.ts'
import { escape } from './text.ts'
import { themeStyle } from './theme.ts'

/** The page around it; `body` is HTML. */
export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
<style>${themeStyle}${style}${plotStyle}</style>
<body>
${body}
</body>
</html>
`

export function html(report: Report): string {
  const { name, verdict, headline, reasons, parts = [], grafanaUrl } = report
  return page(
    `${verdict}: ${name}`,
    [
      `<h1>${badge(verdict)} ${escape(name)}</h1>`,
      headline === undefined ? '' : `<p class="headline">${escape(headline)}</p>`,
      `<p>${escape(subtitle(report))}</p>`,
      `<p class="machine">${escape(machineLine(report))}</p>`,
      grafanaUrl === undefined ? '' : `<p><a href="${escape(grafanaUrl)}">This time in Grafana</a></p>`,
      reasons.length === 0 ? '' : `<ul>${reasons.map((reason) => `<li>${escape(reason)}`).join('\n')}</ul>`,
      parts.length === 0 ? '' : `<div class="parts">${parts.map(card).join('\n')}</div>`,
      ...figures(report),
      ...sections(report).map(section),
    ].join('\n'),
  )
}

const badge = (verdict: Verdict): string => `<span class="${verdict}">${verdict}</span>`

/** Charts over the seconds of the run are lanes of one plot; each other one stands by itself. */
function figures({ charts, phases, marks, originS = 0 }: Report): string[] {
  const isOverTime = ({ against }: Chart): boolean => against === undefined
  const lanes = charts.filter(isOverTime)
  return [
    ...(lanes.length > 0 ? [drawPlots({ charts: lanes, phases, marks, originS })] : []),
    ...charts.filter((chart) => !isOverTime(chart)).map((chart) => drawPlots({ charts: [chart] })),
  ].map((plots) => `<figure>${plots}</figure>`)
}

const card = ({ name, verdict, headline, href, plot }: Part): string =>
  `<article><h2>${badge(verdict)} <a href="${escape(href)}">${escape(name)}</a></h2><p>${escape(headline)}</p>${plot.charts.length > 0 ? drawPlot(plot, 'small') : ''}</article>`

const style = `
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin: 0 0 .6rem } h1 span, h2 span { color: var(--paper); padding: .1em .5em; border-radius: .2em; print-color-adjust: exact }
h2 { font-size: 1.05rem; margin: 2rem 0 .4rem } h2 span { font-size: .8rem }
span.PASS { background: var(--good) } span.FAIL { background: var(--bad) } span.INCONCLUSIVE { background: var(--warn) }
.headline { font-size: 1.2rem; line-height: 1.4; margin: .6rem 0 } .machine { color: var(--soft); font-size: .87rem; margin: -.6rem 0 1rem }
a { color: var(--blue) } figure { margin: 1.2rem 0 } .plot { display: block; width: 100%; height: auto; print-color-adjust: exact } .narrow { display: none }
.parts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1rem; margin: 1.2rem 0 } article { padding: .8rem; border: 1px solid var(--grid); border-radius: .4rem }
article h2 { margin: 0 } article p { margin: .4rem 0; font-size: .87rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--grid) }
th { color: var(--soft); font-weight: 600 } .BROKEN, .worse, .FAIL { color: var(--bad); font-weight: 700 } .better, .kept { color: var(--good) }
h1 .FAIL, h2 .FAIL { color: var(--paper) }
@media (max-width: 40rem) { body { margin: 1rem auto } .wide { display: none } .narrow { display: block } .headline { font-size: 1.05rem } }
@media print { body { margin: 0; max-width: none; font-size: 10.5pt } figure, tr, article { break-inside: avoid } h2 { break-after: avoid } .wide { display: block } .narrow { display: none } }
`

/** Words that are looked for among the others. */
const coloured = new Set<string | number>(['BROKEN', 'kept', 'worse', 'better', 'FAIL'])

export function section({ title, note, head, rows }: Table): string {
  const cell = (text: string | number): string =>
    `<td${coloured.has(text) ? ` class="${text}"` : ''}>${escape(text)}</td>`
  return [
    `<h2>${escape(title)}</h2>`,
    ...(note === undefined ? [] : [`<p>${escape(note)}</p>`]),
    `<div class="scroll"><table>${head.some((each) => each !== '') ? `<tr>${head.map((each) => `<th>${escape(each)}</th>`).join('')}</tr>` : ''}`,
    ...rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`),
    '</table></div>',
  ].join('\n')
}
