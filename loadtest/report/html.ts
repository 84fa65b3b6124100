// A report as one file that needs no network, for a browser, an attachment, or paper.
import { drawChart } from './chart.ts'
import { sections, subtitle, type Report, type Table, type Verdict } from './report.ts'

const colours: Readonly<Record<Verdict, string>> = { PASS: '#0b6e4f', FAIL: '#a3201b', INCONCLUSIVE: '#7a5a00' }

const escape = (text: string | number): string =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

export function html(report: Report): string {
  const { name, verdict, reasons, charts, phases, marks } = report
  const [checks, ...others] = sections(report)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(verdict)}: ${escape(name)}</title>
<style>${style}</style>
<body>
<h1><span style="background:${colours[verdict]}">${verdict}</span> ${escape(name)}</h1>
<p>${escape(subtitle(report))}</p>
${reasons.length === 0 ? '' : `<ul>${reasons.map((reason) => `<li>${escape(reason)}`).join('\n')}</ul>`}
${checks === undefined ? '' : section(checks)}
${charts.map((chart) => `<figure><figcaption>${escape(chart.title)}</figcaption>${drawChart(chart, phases, marks)}</figure>`).join('\n')}
${others.map(section).join('\n')}
</body>
</html>
`
}

const style = `
body { font: 15px/1.45 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h1 span { color: #fff; padding: .1em .5em; border-radius: .2em; print-color-adjust: exact }
h2, figcaption { font-size: 1.05rem; font-weight: 600; margin: 1.6rem 0 .4rem }
figure { margin: 0 } svg { width: 100%; height: auto; print-color-adjust: exact }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd }
td.BROKEN { color: #a3201b; font-weight: 700 }
@media print { body { margin: 0; max-width: none; font-size: 10.5pt } figure, tr { break-inside: avoid } h2 { break-after: avoid } }
`

function section({ title, note, head, rows }: Table): string {
  const cell = (text: string | number): string =>
    `<td${text === 'BROKEN' ? ' class="BROKEN"' : ''}>${escape(text)}</td>`
  return [
    `<h2>${escape(title)}</h2>`,
    ...(note === undefined ? [] : [`<p>${escape(note)}</p>`]),
    `<table><tr>${head.map((each) => `<th>${escape(each)}</th>`).join('')}</tr>`,
    ...rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`),
    '</table>',
  ].join('\n')
}
