// Charts above each other on one clock, as SVG that needs nothing else: phases shaded, moments marked, promised limits
// drawn. Under the mouse or a finger each lane tells its values, by style alone: no script.
import { dashOf, drawLines, type Place } from './chart.ts'
import type { Chart, Mark, Plot, Series } from './report.ts'
import { escape, short } from './text.ts'
import { colour, colourOf, shadeOf, themeStyle } from './theme.ts'

interface Size {
  readonly width: number
  readonly left: number
  readonly right: number
  readonly lane: number
  readonly ticks: number
  readonly columns: number
}

/** Drawn as large as it is shown, so that its text is as large as the page's. */
const sizes = {
  wide: { width: 920, left: 52, right: 16, lane: 120, ticks: 12, columns: 120 },
  narrow: { width: 388, left: 44, right: 8, lane: 104, ticks: 6, columns: 60 },
  /** Of a run among others. */
  small: { width: 388, left: 44, right: 8, lane: 64, ticks: 5, columns: 0 },
} as const satisfies Record<string, Size>

const row = { title: 18, legend: 15, mark: 14, state: 30, bar: 12, gap: 16, axis: 22 } as const
const textWidth = (text: string): number => 6.2 * text.length

/** As a file that stands alone: one below the other, each with seconds or rates of its own. */
export function picture(...plots: readonly Plot[]): string {
  const { width } = sizes.wide
  let top = 0
  const parts = plots.map((plot) => {
    const svg = draw(plot, { ...sizes.wide, columns: 0 })
    const height = Number(/viewBox="0 0 \d+ ([\d.]+)"/.exec(svg)?.[1])
    top += height
    return svg.replace('<svg ', `<svg y="${top - height}" width="${width}" height="${height}" `)
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}"><style>${themeStyle}${plotStyle}svg{background:var(--paper)}</style>${parts.join('')}</svg>`
}

export const drawPlot = (plot: Plot, size: keyof typeof sizes): string => draw(plot, sizes[size], size)

/** For a page, which shows the one that fits. */
export const drawPlots = (plot: Plot): string => drawPlot(plot, 'wide') + drawPlot(plot, 'narrow')

export const plotStyle = `
.plot>text,.at text{font:11px system-ui,sans-serif;fill:var(--soft);paint-order:stroke;stroke:var(--paper);stroke-width:2px;stroke-linejoin:round}
.plot .t{font-weight:600;fill:var(--ink)} .plot .m{fill:var(--ink)}
.plot .s{font-size:10px;fill:var(--paper);stroke:none} .plot .e{text-anchor:end} .plot .c{text-anchor:middle}
.at>rect{fill:transparent} .at .b{fill:var(--paper)} .plot .at g{visibility:hidden;pointer-events:none} .plot .at:hover g{visibility:visible}
.plot .at .m{font-weight:600}
`

/** What all lanes share: where a second lies, and from where to where it goes. */
interface Frame extends Size {
  readonly plot: Plot
  readonly fromX: number
  readonly toX: number
  readonly xOf: (x: number) => number
  readonly against: string
}

interface Lane {
  readonly chart: Chart
  readonly top: number
  /** Of what is drawn in it, below its title and legend. */
  readonly inner: number
  readonly bottom: number
  readonly legend: readonly (readonly Entry[])[]
}

function draw(plot: Plot, size: Size, name = ''): string {
  const frame = frameOf(plot, size)
  const marks = placed(frame.plot.marks ?? [], frame)
  const rows = Math.max(0, ...marks.map((mark) => mark.row + 1))
  const markTop = (plot.phases?.length ?? 0) > 0 ? row.mark + 2 : 0
  const top = markTop + rows * row.mark + 4
  const lanes = lanesOf(frame, top)
  const bottom = (lanes.at(-1)?.bottom ?? top) + 2
  const height = bottom + row.axis
  const places: Place[] = lanes
    .filter(({ chart }) => chart.series.length > 0)
    .map(({ chart, inner, bottom }) => ({ chart, top: inner, height: bottom - inner }))
  const shapes = [
    shades(frame, bottom),
    axis(frame, top, bottom),
    ...marks.map((mark) => markShape(mark, markTop, bottom)),
    `<g>${drawLines(places, { ...frame, height })}</g>`,
    ...lanes.map((lane) => heading(lane, frame) + states(lane, frame)),
    ...(size.columns > 0 ? columns(frame, lanes, bottom) : []),
  ]
  const label = plot.charts.map(({ title }) => title).join(', ')
  return `<svg xmlns="http://www.w3.org/2000/svg" class="plot ${name}" viewBox="0 0 ${size.width} ${height}" role="img" aria-label="${escape(label)}">${shapes.join('\n')}</svg>`
}

function frameOf(plot: Plot, size: Size): Frame {
  const { charts, phases = [], originS = 0 } = plot
  const against = charts[0]?.against ?? 's'
  const moved = { ...plot, ...(originS === 0 ? {} : shifted(plot, originS)) }
  const xs = moved.charts.flatMap(({ series, states = [] }) => [
    ...series.flatMap(({ points }) => points.map(([x]) => x)),
    ...states.flatMap(({ spans }) => spans.flatMap(({ fromX, toX }) => [fromX, toX])),
  ])
  const ends = [...xs, ...(moved.phases ?? phases).flatMap(({ fromS, toS }) => [fromS, toS])]
  const [fromX, toX] = ends.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [against === 's' ? Infinity : 0, -Infinity]) // prettier-ignore
  const width = size.width - size.left - size.right
  const xOf = (x: number): number => Number((size.left + ((x - fromX) / Math.max(1e-9, toX - fromX)) * width).toFixed(1))
  return { ...size, plot: moved, fromX, toX, xOf, against }
} // prettier-ignore

/** On the clock that begins with the fault. */
function shifted({ charts, phases = [], marks = [] }: Plot, originS: number): Plot {
  const x = (value: number): number => value - originS
  return {
    charts: charts.map((chart) => ({
      ...chart,
      series: chart.series.map((each) => ({ ...each, points: each.points.map(([at, value]) => [x(at), value] as const) })),
      limits: (chart.limits ?? []).map((each) => ({ ...each, fromX: x(each.fromX), toX: x(each.toX) })),
      states: (chart.states ?? []).map((each) => ({ ...each, spans: each.spans.map((span) => ({ ...span, fromX: x(span.fromX), toX: x(span.toX) })) })),
    })),
    phases: phases.map(({ name, fromS, toS }) => ({ name, fromS: x(fromS), toS: x(toS) })),
    marks: marks.map(({ atS, what }) => ({ atS: x(atS), what })),
  } // prettier-ignore
}

function lanesOf(frame: Frame, from: number): Lane[] {
  let top = from
  return frame.plot.charts.map((chart) => {
    const { states = [] } = chart
    const legend = legendOf(chart, frame)
    const inner = top + row.title + legend.length * row.legend + (states.length > 0 ? 0 : 4)
    const bottom = inner + (states.length > 0 ? states.length * row.state : frame.lane)
    const lane = { chart, top, inner, bottom, legend }
    top = bottom + row.gap
    return lane
  })
}

function shades({ plot: { phases = [] }, xOf }: Frame, bottom: number): string {
  return phases
    .map(({ name, fromS, toS }, n) => {
      const [x, width] = [xOf(fromS), xOf(toS) - xOf(fromS)]
      const text = textWidth(name) > width ? '' : `<text class="c" x="${x + width / 2}" y="11">${escape(name)}</text>`
      return `<rect x="${x}" y="0" width="${width.toFixed(1)}" height="${bottom}" fill="${shadeOf(name, n)}"/>${text}`
    })
    .join('')
}

/** 1, 2 or 5 of something: at most so many of them. */
function steps(from: number, to: number, most: number, least = 0): number[] {
  const raw = Math.max(1e-9, (to - from) / most)
  const unit = 10 ** Math.floor(Math.log10(raw))
  const step = Math.max(least, unit * ([1, 2, 5].find((each) => each * unit >= raw) ?? 10))
  const first = Math.ceil(from / step - 1e-6)
  return Array.from({ length: Math.floor(to / step + 1e-6) - first + 1 }, (_, n) => Number(((first + n) * step).toPrecision(12)))
} // prettier-ignore

const named = (x: number, against: string): string =>
  against === 'percentile' ? `p${Number((100 * (1 - 10 ** -x)).toPrecision(4))}` : `${short(x)} ${against}`.trim()

function axis(frame: Frame, top: number, bottom: number): string {
  const { fromX, toX, xOf, ticks, against } = frame
  return steps(fromX, toX, ticks, against === 'percentile' ? 1 : 0)
    .map((x) => `<path d="M${xOf(x)} ${top}V${bottom + 4}" stroke="${colour('grid')}"/>${below(x, frame, bottom)}`)
    .join('')
}

/** In the middle below it, as far as there is room. */
function below(x: number, { xOf, width, against }: Frame, bottom: number, kind = ''): string {
  const text = named(x, against)
  const middle = Math.min(xOf(x), width - textWidth(text) / 2)
  return `<text class="${kind}c" x="${middle.toFixed(1)}" y="${bottom + 16}">${text}</text>`
}

interface Entry {
  readonly text: string
  readonly shape: string
  readonly x: number
}

/** Of its lines, as many rows as they need. */
function legendOf({ series, limits = [] }: Chart, { left, right, width }: Size): Entry[][] {
  const rows: Entry[][] = []
  let x = Infinity
  const add = (text: string, shape: string): void => {
    const wide = 26 + textWidth(text) + 10
    if (x + wide > width - right) {
      rows.push([])
      x = left
    }
    rows.at(-1)!.push({ text, shape, x })
    x += wide
  }
  for (const [n, { name, stacked }] of series.entries()) {
    const drawn = colourOf(name, n)
    add(
      name,
      stacked
        ? `fill="${drawn}" fill-opacity=".5" d="M0 -8h20v8h-20z"`
        : `stroke="${drawn}" stroke-width="2" stroke-dasharray="${dashOf(n)}" d="M0 -4h20"`,
    )
  }
  if (limits.length > 0) add('promised', `stroke="${colour('bad')}" stroke-dasharray="4 3" d="M0 -4h20"`)
  return rows
}

function heading({ chart, top, legend }: Lane, { left }: Frame): string {
  const { title, unit } = chart
  const title_ = `<text class="t" x="${left}" y="${top + 13}">${escape(unit === '' ? title : `${title}, ${unit}`)}</text>`
  const entries = legend.flatMap((entries, n) => {
    const y = top + row.title + n * row.legend + 11
    return entries.map(({ text, shape, x }) => `<path transform="translate(${x} ${y})" ${shape}/><text x="${x + 26}" y="${y}">${escape(text)}</text>`) // prettier-ignore
  })
  return title_ + entries.join('')
}

function states({ chart, inner }: Lane, { xOf, left }: Frame): string {
  return (chart.states ?? [])
    .map(({ name, spans }, n) => {
      const y = inner + n * row.state + 13
      const bars = spans.map(({ fromX, toX, state, tone }) => {
        const [x, width] = [xOf(fromX), Math.max(1, xOf(toX) - xOf(fromX))]
        const text = textWidth(state) + 4 > width ? '' : `<text class="s" x="${x + 4}" y="${y + 12}">${escape(state)}</text>` // prettier-ignore
        return `<rect x="${x}" y="${y + 3}" width="${width.toFixed(1)}" height="${row.bar}" rx="2" fill="${colour(tone)}"/>${text}`
      })
      return `<text x="${left}" y="${y}">${escape(name)}</text>${bars.join('')}`
    })
    .join('')
}

interface Placed extends Mark {
  readonly x: number
  readonly row: number
  readonly anchored: 'start' | 'end'
}

/** In rows, so that no label lies upon another and no line crosses one. */
function placed(marks: readonly Mark[], { xOf, width, right }: Frame): Placed[] {
  const ends: number[] = []
  return marks
    .toSorted((a, b) => a.atS - b.atS)
    .map(({ atS, what }) => {
      const x = xOf(atS)
      const wide = textWidth(what) + 6
      const anchored = x + wide > width - right + 8 ? ('end' as const) : ('start' as const)
      const from = anchored === 'start' ? x : x - wide
      const row = ends.findLastIndex((end) => end > from) + 1
      ends[row] = anchored === 'start' ? x + wide : x + 2
      return { atS, what, x, row, anchored }
    })
}

function markShape({ what, x, row: n, anchored }: Placed, top: number, bottom: number): string {
  const y = top + n * row.mark
  const at = anchored === 'start' ? `x="${x + 3}"` : `x="${x - 3}" text-anchor="end"`
  return `<path d="M${x} ${y + 2}V${bottom}" stroke="${colour('ink')}" stroke-width=".8" stroke-dasharray="2 2"/><text class="m" ${at} y="${y + 11}">${escape(what)}</text>`
}

/** For whoever points at a moment: a line, and what each lane has there. The moments are those of the first lane. */
function columns(frame: Frame, lanes: readonly Lane[], bottom: number): string[] {
  const { plot, fromX, toX, xOf } = frame
  const [first] = plot.charts
  const all = [...new Set((first?.series ?? []).flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b)
  const every = Math.ceil(all.length / frame.columns)
  const xs = all.filter((_, n) => n % every === 0)
  return xs.map((x, n) => {
    const from = n === 0 ? fromX : (xs[n - 1]! + x) / 2
    const to = n === xs.length - 1 ? toX : (x + xs[n + 1]!) / 2
    const told = lanes.map((lane) => values(lane, frame, x, to - from))
    return `<g class="at"><rect x="${xOf(from)}" y="0" width="${(xOf(to) - xOf(from)).toFixed(1)}" height="${bottom}"/><g><path d="M${xOf(x)} 0V${bottom}" stroke="${colour('ink')}"/>${told.join('')}${below(x, frame, bottom, 'm ')}</g></g>`
  })
}

/** Over the title, on paper of its own; the names only where there is room for them. */
function values({ chart, top }: Lane, { width, left, right }: Frame, x: number, within: number): string {
  const { series, states = [] } = chart
  const all = [
    ...series.map((each) => [each.name, short(nearest(each, x, within) ?? NaN)]),
    ...states.map(({ spans }) => ['', spans.find(({ fromX, toX }) => fromX <= x && x < toX)?.state ?? '–']),
  ]
  const long = all.map((pair) => pair.join(' ').trim()).join(' · ')
  const text = textWidth(long) > width - left - right ? all.map(([, value]) => value).join(' · ') : long
  const wide = textWidth(text) + 12
  return `<rect class="b" x="${(width - right - wide).toFixed(1)}" y="${top}" width="${wide.toFixed(1)}" height="${row.title - 1}" rx="2"/><text class="m e" x="${width - right - 4}" y="${top + 13}">${escape(text)}</text>`
}

/** Measured at about that time. */
function nearest({ points }: Series, x: number, within: number): number | null | undefined {
  const away = ([at]: Series['points'][number]): number => Math.abs(at - x)
  const best = points.reduce<Series['points'][number] | undefined>((found, each) => (found === undefined || away(each) < away(found) ? each : found), undefined) // prettier-ignore
  return best !== undefined && away(best) <= within ? best[1] : undefined
}
