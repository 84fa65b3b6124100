// Visits over time: bots and previews stand on the people, and the period before is a line beside them. Drawn on a canvas, so the table under it is for
// who sees none; the range that is dragged can be typed, too.
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useFormats, useSpeech } from '../words/words.tsx'
import type { Stats } from './query.ts'
import { useStatsWords } from './words.ts'

interface ChartProps {
  readonly stats: Stats
  /** Of the period before, bucket by bucket. */
  readonly before: Stats['series'] | undefined
  readonly onRange: (from: string, to: string) => void
}

const heightPx = 240
/** Less is a click. */
const dragPx = 6
const unitS = { hour: 3600, day: 86_400, week: 7 * 86_400, month: 30 * 86_400 } as const
const seconds = (at: string): number => Date.parse(at) / 1000

export default function Chart({ stats, before, onRange }: ChartProps) {
  const words = useStatsWords()
  const formats = useFormats()
  const { language } = useSpeech()
  const place = useRef<HTMLDivElement>(null)
  const [pointed, setPointed] = useState<number>()
  const scheme = useScheme()
  useEffect(() => {
    const plot = draw(place.current!, { stats, before, onRange, locale: formats.locale, onPoint: setPointed })
    const sized = new ResizeObserver(([entry]) => {
      if (entry) plot.setSize({ width: entry.contentRect.width, height: heightPx })
    })
    sized.observe(place.current!)
    return () => {
      sized.disconnect()
      plot.destroy()
    }
    // A language changes the words of its axes, and the scheme its colours.
  }, [stats, before, language, scheme])
  const bucket = pointed === undefined ? undefined : stats.series[pointed]
  const told = pointed === undefined ? undefined : before?.[pointed]
  return (
    <figure className="chart">
      <div
        ref={place}
        role="img"
        aria-label={words.chart(formats.count(stats.total), formats.time(stats.from), formats.time(stats.to))}
      />
      <figcaption className="legend about">
        <Key name="people" text={words.peopleName} n={bucket?.people} />
        <Key name="bots" text={words.bots} n={bucket && bucket.total - bucket.people} />
        {before && <Key name="before" text={words.before} n={told?.total} />}
        <span>{bucket ? atOf(bucket.at, stats.by, formats) : words.drag}</span>
      </figcaption>
    </figure>
  )
}

function Key({ name, text, n }: { readonly name: string; readonly text: string; readonly n: number | undefined }) {
  const formats = useFormats()
  return (
    <span className="key" data-series={name}>
      {text}
      {n !== undefined && <strong> {formats.count(n)}</strong>}
    </span>
  )
}

export const atOf = (at: string, by: Stats['by'], formats: Pick<ReturnType<typeof useFormats>, 'day' | 'time'>): string => by === 'hour' ? formats.time(at) : formats.day(at) // prettier-ignore

/** Light or dark, whoever has chosen it. */
function useScheme(): string {
  const read = (): string => colourOf('var(--ground)')
  const [scheme, setScheme] = useState(read)
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const again = (): void => setScheme(read())
    dark.addEventListener('change', again)
    return () => dark.removeEventListener('change', again)
  }, [])
  return scheme
}

/** A canvas knows no variables. */
function colourOf(colour: string): string {
  const probe = document.createElement('i')
  probe.style.color = colour
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

interface Drawing extends ChartProps {
  readonly locale: string
  readonly onPoint: (bucket: number | undefined) => void
}

function draw(place: HTMLElement, { stats, before, onRange, locale, onPoint }: Drawing): uPlot {
  const starts = stats.series.map(({ at }) => seconds(at))
  const first = starts[0] ?? seconds(stats.from)
  const end = (starts.at(-1) ?? first) + unitS[stats.by]
  const bars = uPlot.paths.bars!({ size: [0.8, 48], align: 1 })
  const text = colourOf('var(--soft)')
  const axis = { stroke: text, font: '12px system-ui, sans-serif', grid: { stroke: colourOf('var(--line)'), width: 1 }, ticks: { show: false } } // prettier-ignore
  const shown = (name: string, values: readonly (number | null)[], style: Omit<uPlot.Series, 'label'>) => ({
    series: { label: name, points: { show: false }, ...style },
    values,
  })
  const lines = [
    shown('total', stats.series.map(({ total }) => total), { paths: bars, fill: colourOf('var(--bots)'), width: 0 }),
    shown('people', stats.series.map(({ people }) => people), { paths: bars, fill: colourOf('var(--people)'), width: 0 }),
    ...(before ? [shown('before', starts.map((_, n) => before[n]?.total ?? null), { stroke: colourOf('var(--warn)'), width: 1.5, dash: [5, 4] })] : []),
  ] // prettier-ignore
  return new uPlot(
    {
      width: place.clientWidth,
      height: heightPx,
      legend: { show: false },
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: true, range: () => [first, end] }, y: { range: (_, __, most) => [0, Math.max(4, most * 1.1)] } },
      axes: [
        { ...axis, size: 32, values: (_, splits, __, ___, stepS) => splits.map((at) => tickOf(at, stepS, locale)) },
        { ...axis, size: 52, incrs: [1, 2, 5].flatMap((n) => Array.from({ length: 10 }, (_, power) => n * 10 ** power)).sort((a, b) => a - b), values: (_, splits) => splits.map((n) => Intl.NumberFormat(locale, { notation: 'compact' }).format(n)) },
      ],
      series: [{}, ...lines.map(({ series }) => series)],
      hooks: {
        setCursor: [({ cursor: { left = -1, idx } }) => onPoint(left < 0 ? undefined : (idx ?? undefined))],
        setSelect: [
          (plot) => {
            const { left, width } = plot.select
            if (width < dragPx) return
            const range = rangeOf(stats, plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            onRange(...range)
          },
        ],
      },
    },
    [starts, ...lines.map(({ values }) => [...values])],
    place,
  ) // prettier-ignore
}

/** The buckets that were touched, whole. */
export function rangeOf({ series, to }: Pick<Stats, 'series' | 'to'>, fromS: number, toS: number): [from: string, to: string] {
  const from = Math.max(0, series.findLastIndex(({ at }) => seconds(at) <= fromS))
  const after = series.findIndex(({ at }, n) => n > from && seconds(at) >= toS)
  return [series[from]?.at ?? to, series[after]?.at ?? to]
} // prettier-ignore

function tickOf(atS: number, stepS: number, locale: string): string {
  const at = new Date(atS * 1000)
  const how: Intl.DateTimeFormatOptions =
    stepS < unitS.day
      ? at.getHours() === 0 && at.getMinutes() === 0
        ? { day: 'numeric', month: 'short' }
        : { hour: 'numeric', minute: '2-digit' }
      : stepS < unitS.month - 2 * unitS.day
        ? { day: 'numeric', month: 'short' }
        : { month: 'short', year: '2-digit' }
  return at.toLocaleString(locale, how)
}
