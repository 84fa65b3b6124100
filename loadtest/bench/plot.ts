// Latency against load, as an SVG that needs nothing else. Both percentiles on a logarithmic scale.
import type { OpenLoopRow } from './results.ts'

const box = { left: 70, top: 40, width: 520, height: 280 } as const
const colours: Readonly<Record<string, string>> = { raw: '#0b6e4f', http: '#b3541e' }

export function latencyPlot(rows: readonly OpenLoopRow[]): string {
  const top = 10 ** Math.ceil(Math.log10(Math.max(1, ...rows.map(({ p99Ms }) => p99Ms))))
  const bottom = 0.01
  const right = Math.max(1, ...rows.map(({ rate }) => rate)) * 1.05
  const x = (rate: number): number => box.left + (box.width * rate) / right
  const y = (ms: number): number =>
    box.top + box.height * (1 - Math.log10(Math.max(ms, bottom) / bottom) / Math.log10(top / bottom))
  const doors = [...new Set(rows.map(({ door }) => door))]
  const decades = Array.from({ length: Math.round(Math.log10(top / bottom)) + 1 }, (_, n) => bottom * 10 ** n)
  const steps = [0.25, 0.5, 0.75, 1].map((share) => (share * right) / 1.05)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400" font-family="sans-serif" font-size="12">`,
    `<rect width="640" height="400" fill="#fff"/>`,
    text(box.left, 22, 'Latency from the intended start, against a constant rate', 'start', 14),
    ...decades.flatMap((ms) => [
      line(box.left, y(ms), box.left + box.width, y(ms), '#ddd'),
      text(box.left - 6, y(ms) + 4, `${Number(ms.toPrecision(1))} ms`, 'end'),
    ]),
    ...steps.map((rate) => text(x(rate), box.top + box.height + 18, `${Math.round(rate / 1000)} k/s`, 'middle')),
    ...doors.flatMap((door, n) => {
      const mine = rows.filter((row) => row.door === door)
      const colour = colours[door] ?? '#444'
      return [
        curve(mine.map(({ rate, p50Ms }) => [x(rate), y(p50Ms)]), colour, '4 3'),
        curve(mine.map(({ rate, p99Ms }) => [x(rate), y(p99Ms)]), colour, 'none'),
        text(box.left - 40 + n * 205, 385, `${door}: p50 dashed, p99 solid`, 'start', 12, colour),
      ]
    }), // prettier-ignore
    '</svg>\n',
  ].join('\n')
}

const text = (x: number, y: number, content: string, anchor: string, size = 12, fill = '#222'): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-size="${size}" fill="${fill}">${content}</text>`

const line = (x1: number, y1: number, x2: number, y2: number, stroke: string): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${stroke}"/>`

function curve(points: readonly (readonly [number, number])[], stroke: string, dash: string): string {
  const path = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')
  const dots = points.map(([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${stroke}"/>`)
  return `<polyline points="${path}" fill="none" stroke="${stroke}" stroke-width="2" stroke-dasharray="${dash}"/>${dots.join('')}`
}
