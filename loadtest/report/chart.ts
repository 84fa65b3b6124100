// A chart as SVG that needs nothing else, drawn by ECharts without a browser. Series differ by their dashes as well as by
// their colours, for print and for those who cannot tell the colours apart.
import { LineChart, type LineSeriesOption } from 'echarts/charts'
import { GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import type { Chart, Mark, Phase } from './report.ts'
import { short } from './text.ts'

use([LineChart, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, SVGRenderer])

const size = { width: 900, height: 300 } as const
/** Okabe and Ito's, without the yellow, which vanishes on paper. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#000000']
const dashes = ['solid', [6, 3], [2, 3], [8, 3, 2, 3]] as const
const shades: Readonly<Record<string, string>> = { baseline: '#e9f3ec', fault: '#fbe3dc', recovery: '#e3edf8' }
const otherShades = ['#f4f4f1', '#e9ecf2']

export function drawChart(chart: Chart, phases: readonly Phase[] = [], marks: readonly Mark[] = []): string {
  const drawn = init(null, null, { renderer: 'svg', ssr: true, ...size })
  try {
    drawn.setOption({
      animation: false,
      color: colours,
      textStyle: { fontFamily: 'system-ui, sans-serif' },
      legend: { top: 0, left: 56, itemWidth: 32 },
      grid: { left: 64, right: 24, top: 52, bottom: 40 },
      xAxis: { type: 'value', min: 0, max: 'dataMax', axisLabel: { formatter: (value: number) => `${short(value)} ${chart.against ?? 's'}` }, splitLine: { show: false } },
      yAxis: {
        type: chart.logarithmic ? 'log' : 'value',
        name: chart.unit,
        nameLocation: 'end',
        axisLabel: { formatter: (value: number) => short(value) },
        ...(chart.logarithmic ? {} : { min: 0 }),
      },
      series: chart.series.map((_, n) => line(chart, n, phases, marks)),
    }) // prettier-ignore
    return named(drawn.renderToSVGString(), `${chart.title}, in ${chart.unit}${chart.against ? '' : ', over time'}`)
  } finally {
    drawn.dispose()
  }
}

/** One below the other, as one picture. */
export function drawCharts(charts: readonly Chart[]): string {
  const parts = charts.map((chart, n) => drawChart(chart).replace('<svg ', `<svg y="${n * size.height}" width="${size.width}" height="${size.height}" `)) // prettier-ignore
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${charts.length * size.height}">${parts.join('')}</svg>`
}

/** The first one carries the shades and the marks of the whole chart. */
function line(chart: Chart, n: number, phases: readonly Phase[], marks: readonly Mark[]): LineSeriesOption {
  const { name, points } = chart.series[n]!
  const dash = dashes[n % dashes.length]!
  return {
    type: 'line',
    name,
    silent: true,
    showSymbol: points.length < 3,
    connectNulls: false,
    lineStyle: { width: 1.6, type: typeof dash === 'string' ? dash : [...dash] },
    data: points.map(([at, value]) => [at, chart.logarithmic && value === 0 ? null : value]),
    ...(n > 0 ? {} : { markArea: areas(phases), markLine: lines(marks) }),
  }
}

function areas(phases: readonly Phase[]): NonNullable<LineSeriesOption['markArea']> {
  return {
    silent: true,
    label: { position: 'insideTop', color: '#555', fontSize: 11 },
    data: phases.map(({ name, fromS, toS }, n) => {
      const color = shades[name] ?? otherShades[n % otherShades.length]!
      return [{ name, xAxis: fromS, itemStyle: { color } }, { xAxis: toS }]
    }),
  }
}

function lines(marks: readonly Mark[]): NonNullable<LineSeriesOption['markLine']> {
  return {
    silent: true,
    symbol: 'none',
    lineStyle: { color: '#333', type: 'dotted' },
    data: marks.map(({ atS, what }) => ({ xAxis: atS, label: { formatter: what, position: 'insideMiddleTop', fontSize: 10 } })),
  } // prettier-ignore
}

/** With a name for screen readers, as wide as its page, and without what is for a mouse. */
const named = (svg: string, name: string): string =>
  svg
    .replace(/ width="\d+" height="\d+"/, '')
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/ (class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
    .replace('<svg ', `<svg role="img" aria-label="${name.replace(/[<>&"]/g, '')}" `)
