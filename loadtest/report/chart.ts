// The one door to ECharts: lines and areas with their axis of values, as SVG, without a browser. What they stand on and
// what is written around them is in plot.ts.
import { LineChart, type LineSeriesOption } from 'echarts/charts'
import { GridComponent, MarkLineComponent } from 'echarts/components'
import { init, use } from 'echarts/core'
import { SVGRenderer } from 'echarts/renderers'
import type { Chart, Limit } from './report.ts'
import { short } from './text.ts'
import { colour, colourOf } from './theme.ts'

use([LineChart, GridComponent, MarkLineComponent, SVGRenderer])

/** For those who cannot tell the colours apart, and for print. */
const dashes = ['solid', [6, 3], [2, 3], [8, 3, 2, 3]] as const
export const dashOf = (n: number): string => [dashes[n % dashes.length]!].flat().join(' ').replace('solid', '')

/** Where in the plot a chart's lines are drawn, in its pixels. */
export interface Place {
  readonly chart: Chart
  readonly top: number
  readonly height: number
}

interface Frame {
  readonly width: number
  readonly height: number
  readonly left: number
  readonly right: number
  readonly fromX: number
  readonly toX: number
}

/** The shapes alone, without the `<svg>` around them. */
export function drawLines(places: readonly Place[], { width, height, left, right, fromX, toX }: Frame): string {
  const drawn = init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    drawn.setOption({
      animation: false,
      textStyle: { fontFamily: 'system-ui, sans-serif' },
      grid: places.map(({ top, height }) => ({ left, right, top, height, containLabel: false })),
      xAxis: places.map((_, gridIndex) => ({ type: 'value', gridIndex, min: fromX, max: toX, show: false })),
      yAxis: places.map(({ chart }, gridIndex) => axisOf(chart, gridIndex)),
      series: places.flatMap(({ chart }, n) => chart.series.map((_, line) => lineOf(chart, line, n))),
    })
    return shapesOf(drawn.renderToSVGString())
  } finally {
    drawn.dispose()
  }
}

function axisOf({ logarithmic, limits = [], series }: Chart, gridIndex: number) {
  const highest = (max: number): number => Math.max(max, ...limits.map(({ value }) => value))
  const all = series.flatMap(({ points }) =>
    points.flatMap(([, value]) => (value === null || !(value > 0) ? [] : [value])),
  )
  const low = decade(Math.min(...all), Math.floor)
  return {
    type: logarithmic ? ('log' as const) : ('value' as const),
    gridIndex,
    splitNumber: 3,
    axisLabel: { formatter: (value: number) => short(value), color: colour('soft'), fontSize: 11, hideOverlap: true },
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: colour('grid') } },
    // Whole decades: each has a name.
    ...(logarithmic ? { min: low, max: Math.max(10 * low, decade(highest(Math.max(...all)), Math.ceil)) } : { min: 0, ...(all.length === 0 ? { max: 1 } : {}) }),
  } // prettier-ignore
}

const decade = (value: number, round: (exponent: number) => number): number =>
  Number.isFinite(value) ? 10 ** round(Math.log10(value)) : 1

/** The first one carries what was promised. */
function lineOf(chart: Chart, n: number, axis: number): LineSeriesOption {
  const { name, points, stacked } = chart.series[n]!
  const dash = dashes[n % dashes.length]!
  return {
    type: 'line',
    xAxisIndex: axis,
    yAxisIndex: axis,
    silent: true,
    showSymbol: points.length < 3,
    connectNulls: false,
    color: colourOf(name, n),
    lineStyle: { width: stacked ? 1 : 1.6, type: stacked || typeof dash === 'string' ? 'solid' : [...dash] },
    ...(stacked ? { stack: String(axis), areaStyle: { opacity: 0.35 } } : {}),
    data: points.map(([at, value]) => [at, chart.logarithmic && value === 0 ? null : value]),
    ...(n === 0 && chart.limits ? { markLine: limitLines(chart.limits) } : {}),
  }
}

/** Two of the same phase may be close to each other: their words are not. */
const besides = ['insideStartTop', 'insideEndTop'] as const

const limitLines = (limits: readonly Limit[]): NonNullable<LineSeriesOption['markLine']> => ({
  silent: true,
  symbol: 'none',
  lineStyle: { color: colour('bad'), type: [4, 3], width: 1 },
  label: { color: colour('bad'), fontSize: 10, distance: 2 },
  data: limits.map(({ value, what, fromX, toX }, n) => [
    {
      coord: [fromX, value],
      label: {
        formatter: what,
        position: besides[limits.slice(0, n).filter((each) => each.fromX === fromX).length % 2]!,
      },
    },
    { coord: [toX, value] },
  ]),
})

/** Without what is for a mouse, and without the paper. */
const shapesOf = (svg: string): string =>
  svg
    .replace(/^[^]*?<svg[^>]*>/, '')
    .replace(/<\/svg>\s*$/, '')
    .replace(/<style[^]*?<\/style>/g, '')
    .replace(/ (class|ecmeta_\w+|pointer-events)="[^"]*"/g, '')
