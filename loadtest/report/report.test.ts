import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { drawChart } from './chart.ts'
import { compareReports, word } from './compare.ts'
import { html } from './html.ts'

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

test('the page needs no network, and text in it is text', () => {
  const page = html(report)
  expect(page).not.toMatch(/(src|href)=|@import|url\((?!#)|<script/)
  expect(page).toContain('By &lt;phase&gt;')
  expect(page.indexOf('FAIL')).toBeLessThan(page.indexOf('<svg'))
})

test('a chart shades its phases, names its series and marks, and leaves a gap where nothing was measured', () => {
  const svg = drawChart(chart, report.phases, report.marks)
  for (const word of ['baseline', 'fault', 'Redis refuses', 'p50', 'p99']) expect(svg).toContain(`>${word}<`)
  expect(svg).toContain('#fbe3dc')
  expect(svg).toContain('aria-label="Latency, in ms, over time"')
  expect(svg).not.toContain('NaN')
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

test('where each was repeated, a difference is one only beyond the spread of both, and beyond noise', () => {
  const figure = (least: number, value: number, most: number): Figure => ({ name: '', unit: '', value, range: [least, most], better: 'less' }) // prettier-ignore
  expect(word(figure(9, 10, 11), figure(10.5, 11.5, 12))).toBe('the same')
  expect(word(figure(9.9, 10, 10.1), figure(10.15, 10.2, 10.25))).toBe('the same')
  expect(word(figure(9, 10, 11), figure(11.5, 12, 13))).toBe('worse')
  expect(word(figure(9, 10, 11), figure(7, 8, 8.5))).toBe('better')
})
