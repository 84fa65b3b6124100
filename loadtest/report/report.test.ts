import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { comparePage, compareReports, comparison, lastReport, word } from './compare.ts'
import { html } from './html.ts'
import { drawPlot, picture } from './plot.ts'

import { judge, type Chart, type Check, type Figure, type Report } from './report.ts'
import { markdown, writeReport } from './write.ts'

const dir = mkdtempSync(join(tmpdir(), 'quicklink-report-'))
afterAll(() => rmSync(dir, { recursive: true }))

const kept: Check = { claim: 'p99', promised: '≤ 5 ms', measured: '2 ms', ok: true }
const broken: Check = { claim: 'wrong destinations', promised: '0', measured: '3', ok: false }
const chart: Chart = {
  title: 'Latency',
  unit: 'ms',
  logarithmic: true,
  series: [
    { name: 'p50', points: [[0, 0.5], [1, 0.6], [2, null], [3, 0]] },
    { name: 'p99', points: [[0, 2], [1, 40], [2, 3], [3, 2]] },
  ],
} // prettier-ignore
const report: Report = {
  kind: 'load',
  name: 'hot-key',
  title: 'One link took 95 % of 2,000 redirects/s.',
  at: '2030-01-02T03:04:05.678Z',
  commit: 'abc123',
  ...judge([kept, broken], []),
  checks: [kept, broken],
  phases: [
    { name: 'baseline', fromS: 0, toS: 1 },
    { name: 'fault', fromS: 1, toS: 3 },
  ],
  marks: [{ atS: 1, what: 'Redis refuses' }],
  figures: [{ name: 'p99', value: 2, unit: 'ms', better: 'less' }],
  charts: [chart],
  tables: [{ title: 'By <phase>', note: 'As k6 saw it.', head: ['phase', 'a|b'], rows: [['baseline', 7]] }],
  environment: { cores: 2 },
}

test('a broken check fails the run; a doubt makes it inconclusive, unless what broke is certain all the same', () => {
  expect(judge([kept], [])).toEqual({ verdict: 'PASS', reasons: [] })
  expect(judge([kept, broken], [])).toEqual({ verdict: 'FAIL', reasons: ['wrong destinations: 3, promised was 0.'] })
  expect(judge([kept], ['The generator was busy.']).verdict).toBe('INCONCLUSIVE')
  expect(judge([broken], ['The generator was busy.']).verdict).toBe('INCONCLUSIVE')
  expect(judge([broken], ['The generator was busy.'], [broken.claim]).verdict).toBe('FAIL')
})

test('the verdict comes first, then why, then the checks', () => {
  const text = markdown(report)
  expect(text).toMatch(
    /^# FAIL: hot-key\n\nOne link took .* Load test of 2030-01-02 03:04 UTC, commit abc123\.\n\n- wrong/,
  )
  expect(text).toContain('| wrong destinations | 0 | 3 | BROKEN |')
  expect(text).toContain('## By <phase>\n\nAs k6 saw it.\n\n| phase | a\\|b |')
  expect(text.indexOf('## Checks')).toBeLessThan(text.indexOf('## Figures'))
})

test('the page needs no network and no script, and text in it is text', () => {
  const page = html({ ...report, grafanaUrl: 'https://grafana.example.org/d/x?from=1&to=2' })
  const without = page.replace('<a href="https://grafana.example.org/d/x?from=1&amp;to=2">', '').replaceAll('xmlns="http://www.w3.org/2000/svg"', '') // prettier-ignore
  expect(without).not.toMatch(/(src|href)=|@import|url\((?!#)|<script|https?:/)
  expect(page).toContain('By &lt;phase&gt;')
  expect(page.indexOf('FAIL')).toBeLessThan(page.indexOf('<svg'))
})

test('what was expected comes before what was measured', () => {
  const hypothesis = { title: 'Hypothesis', head: ['', ''], rows: [['fault', 'kill -9 of Redis']] }
  const page = html({ ...report, hypothesis })
  const order = ['<svg', '>Hypothesis<', '>Checks<', '>Figures<', '>By &lt;phase&gt;<', '>Environment<'].map((word) => page.indexOf(word)) // prettier-ignore
  expect(order).toEqual(order.toSorted((a, b) => a - b))
  expect(order[0]).toBeGreaterThan(0)
})

const plot = { charts: report.charts, phases: report.phases, marks: report.marks }

test('a plot shades its phases, names its series and marks, and leaves a gap where nothing was measured', () => {
  const svg = picture(plot)
  for (const word of ['baseline', 'fault', 'Redis refuses', 'p50', 'p99']) expect(svg).toContain(`>${word}<`)
  expect(svg).toContain('fill="var(--fault)"')
  expect(svg).toContain('aria-label="Latency"')
  expect(svg).not.toContain('NaN')
})

test('one clock: what is called 0 is the fault, in the plot as in the timeline', () => {
  const ticks = (svg: string): string[] => Array.from(svg.matchAll(/>(-?[\d.]+ s)</g), ([, text = '']) => text)
  expect(ticks(picture(plot))).toContain('3 s')
  expect(ticks(picture({ ...plot, originS: 1 }))).toEqual(expect.arrayContaining(['-1 s', '0 s', '2 s']))
  expect(ticks(picture({ ...plot, originS: 1 }))).not.toContain('3 s')
})

test('lanes lie above each other: states with their times, limits that were promised', () => {
  const spans = [{ fromX: 0, toX: 1, state: 'closed', tone: 'good' as const }, { fromX: 1, toX: 3, state: 'open', tone: 'bad' as const }] // prettier-ignore
  const breaker = { title: 'Breakers', unit: '', series: [], states: [{ name: 'breaker of Redis', spans }] }
  const promised = { ...chart, limits: [{ value: 200, what: 'p99 ≤ 200 ms', fromX: 1, toX: 3 }] }
  const svg = drawPlot({ ...plot, charts: [promised, breaker] }, 'wide')
  for (const word of ['p99 ≤ 200 ms', 'promised', 'breaker of Redis', 'closed', 'open']) expect(svg).toContain(`>${word}<`) // prettier-ignore
  // Whoever points at second 1 is told what all lanes have there.
  expect(svg).toMatch(/class="at">[^]*>p50 0.6 · p99 40<[^]*>open<[^]*<\/g><\/g>/)
})

test('labels of marks that are close to each other stand in rows of their own', () => {
  const marks = ['fault', 'it landed', 'noticed'].map((what, n) => ({ atS: 1 + n / 50, what }))
  const rows = (svg: string): (string | undefined)[] =>
    marks.map(({ what }) => new RegExp(`y="([\\d.]+)">${what}<`).exec(svg)?.[1])
  expect(new Set(rows(drawPlot({ ...plot, phases: [], marks }, 'wide'))).size).toBe(3)
  const apart = marks.map(({ what }, n) => ({ atS: n, what }))
  expect(new Set(rows(drawPlot({ ...plot, phases: [], marks: apart }, 'wide'))).size).toBe(1)
})

test('a report is three files in a folder of its own, and the JSON is all of it', () => {
  const folder = writeReport(report, dir)
  expect(folder).toMatch(/2030-01-02T03-04-05-hot-key$/)
  const read = (name: string) => readFileSync(join(dir, '2030-01-02T03-04-05-hot-key', name), 'utf8')
  expect(JSON.parse(read('report.json'))).toEqual(report)
  expect(read('report.md')).toBe(markdown(report))
  expect(read('report.html')).toMatch(/^<!doctype html>[^]*<svg [^]*<\/html>\n$/)
})

const reportWith = (p99: number, share: number): Report => ({
  ...report,
  environment: { RATE: p99 },
  figures: [
    { name: 'p99', value: p99, unit: 'ms', better: 'less' },
    { name: 'tier 1', value: share, unit: '%', better: 'more' },
  ],
})

test('a figure is worse when it moved the wrong way, beyond noise', () => {
  expect(compareReports(reportWith(10, 90), reportWith(11, 95)).worse).toBe(0)
  const { text, worse } = compareReports(reportWith(10, 90), reportWith(20, 120))
  expect(worse).toBe(1)
  expect(text).toContain('| p99 | 10 ms | 20 ms | 2 | worse |')
  expect(text).toContain('| tier 1 | 90 % | 120 % | 1.33 | better |')
  expect(text).toContain('differ in more than the code: RATE.')
})

test('the seconds of a run are its noise, too: what lies within them is neither better nor worse', () => {
  const p99 = (value: number, spread?: [number, number]): Figure => ({ name: '', unit: 'ms', value, better: 'less', ...(spread ? { spread } : {}) }) // prettier-ignore
  expect(word(p99(5), p99(8))).toBe('worse')
  expect(word(p99(5, [3, 7]), p99(8, [4, 9]))).toBe('the same')
  expect(word(p99(5, [4, 6]), p99(20, [15, 22]))).toBe('worse')
})

test('a run is held against the newest one before it that has figures; not where they were told different things', () => {
  const folder = mkdtempSync(join(dir, 'reports-'))
  const at = (hour: number): string => `2030-01-02T0${hour}:00:00.000Z`
  writeReport({ ...reportWith(10, 90), at: at(1) }, folder)
  writeReport({ ...reportWith(30, 90), at: at(2) }, folder)
  writeReport({ ...reportWith(30, 90), at: at(3), figures: [] }, folder)
  const earlier = lastReport('hot-key', folder)
  expect(earlier?.at).toBe(at(2))
  expect(lastReport('steady', folder)).toBeUndefined()
  const now = { ...reportWith(10, 90), environment: earlier!.environment }
  expect(comparison(now, earlier!).rows).toEqual([
    ['p99', '30 ms', '10 ms', 'better'],
    ['tier 1', '90 %', '90 %', 'the same'],
  ])
  expect(html({ ...now, tables: [comparison(now, earlier!)] })).toContain('<td class="better">better</td>')
  const other = comparison(reportWith(10, 90), earlier!)
  expect(other.rows[0]).toEqual(['p99', '30 ms', '10 ms', ''])
  expect(other.note).toContain('differ in more than the code: RATE.')
})

test('two runs side by side are a page: figures, and both in one plot', () => {
  const page = comparePage(reportWith(10, 90), reportWith(20, 90))
  expect(page).toContain('B is worse than A in 1 of 2 figures.')
  expect(page).toContain('<td class="worse">worse</td>')
  for (const name of ['A: p99', 'B: p99']) expect(page).toContain(`>${name}<`)
})

test('where each was repeated, a difference is one only beyond the spread of both, and beyond noise', () => {
  const figure = (least: number, value: number, most: number): Figure => ({ name: '', unit: '', value, range: [least, most], better: 'less' }) // prettier-ignore
  expect(word(figure(9, 10, 11), figure(10.5, 11.5, 12))).toBe('the same')
  expect(word(figure(9.9, 10, 10.1), figure(10.15, 10.2, 10.25))).toBe('the same')
  expect(word(figure(9, 10, 11), figure(11.5, 12, 13))).toBe('worse')
  expect(word(figure(9, 10, 11), figure(7, 8, 8.5))).toBe('better')
})
