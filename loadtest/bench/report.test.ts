import { expect, test } from 'vitest'
import { picture } from '../report/plot.ts'
import { compareReports } from '../report/compare.ts'
import { short } from '../report/text.ts'
import { markdown } from '../report/write.ts'
import type { Driven } from './driver.ts'
import { kneeOf, latencyCharts, openLoopCheck, openLoopTable, together } from './open-loop.ts'
import { doubtsOfCpu, reportOf } from './report.ts'
import type { SubjectResult } from './subjects.ts'
import { targets } from './targets.ts'

const subject = (what: string, us: number): SubjectResult => {
  const spread = (median: number) => ({ median, min: median * 0.99, max: median * 1.01 })
  return { what, cpuUs: spread(us), rps: spread(1e6 / us), p50Ms: spread(0.5), p99Ms: spread(1), p999Ms: spread(2), requests: 1000, failed: 0 } // prettier-ignore
}
const subjects = {
  net: subject('floor', 5),
  http: subject('bare', 10),
  raw: subject('door', 6),
  two: subject('two', 6.2),
  tier2: subject('tier 2', 40),
}
const measured = { subjects, cutOffLookupsPerS: 8, hotKeyReadsPerS: 10, tier1Share: 1 }
const about = { at: '2030-01-02T03:04:05.000Z', commit: 'abc123', environment: { cores: 2 }, tables: [], charts: [] }

test('targets: ratios of medians, and only of what was measured', () => {
  const of = (what: string) => targets(measured).find(({ claim }) => claim.startsWith(what))
  expect(of('tier-1 hit ÷ bare')).toMatchObject({ measured: '0.6', ok: true })
  expect(of('tier-2 hit')).toMatchObject({ measured: '4', ok: false, promised: '≤ 3' })
  expect(of('two workers')).toMatchObject({ measured: '1.94', ok: true, promised: '≥ 1.9' })
  expect(of('404 scan')).toBeUndefined()
})

const one = (p99Ms: number, p99BySlice: number[], failed = 0): Driven => ({ requests: 500, seconds: 5, p50Ms: 0.1, p99Ms, p999Ms: 2 * p99Ms, maxMs: 3 * p99Ms, failed, p99BySlice }) // prettier-ignore
const seen = (ours: Driven, floor: Driven) => ({ servers: [ours, floor], generatorBusy: ours.p99Ms / 100 })
const all = [
  seen(one(50, [0.2, 90], 1), one(2, [0.1, 100])),
  seen(one(1, [0.1, 0.3]), one(1, [0.1, 0.1])),
  seen(one(2, [0.2, 4], 2), one(3, [0.1, 2])),
]
const row = { what: 'hot: one link', share: 0.5, rate: 50_000, ...together(all) }

test('open loop: the run in the middle, the slice in the middle, and the worst of what nobody should miss', () => {
  // Slice by slice, of 2, 0.9, 1, 3, 2, 2: what stalls both in the same moment is nobody's.
  expect(openLoopTable([row]).rows).toEqual([['hot: one link', '50 %', '50,000', '100', '0.1 (0.1)', '2 [1, 50] (2)', '0.25 (0.1)', '2', '4', '150', '50 %', 2]]) // prettier-ignore
  expect(openLoopCheck([row])).toMatchObject({ promised: '≤ 1.5', measured: '2', ok: false })
  expect(openLoopTable([{ ...row, generatorBusy: 1 }]).rows[0]?.[0]).toBe('hot: one link *')
})

test('a visitor’s shape is set beside both floors, and the dearest against the bare socket', () => {
  const visitors = { zipf: subject('', 9), 'http zipf': subject('', 10), 'net zipf': subject('', 6), zipfWide: subject('', 30), 'http zipfWide': subject('', 10), 'net zipfWide': subject('', 6) } // prettier-ignore
  const { tables } = reportOf({ ...about, subjects: visitors, checks: [] })
  const rows = [['9', '**0.9**', '≤ 0.85', '**1.5**', 0], ['30', '3', '', '5', 0]] // prettier-ignore
  expect(tables[0]?.rows.map((cells) => cells.slice(1))).toEqual(rows)
  const dearest = (checks: ReturnType<typeof targets>) =>
    checks.filter(({ claim }) => claim.startsWith('each of these'))
  expect(dearest(targets({ ...measured, subjects: visitors }))).toMatchObject([{ measured: '1.5', ok: false }])
  expect(dearest(targets(measured))).toEqual([])
})

test('the report names every subject and target, and what was missed', () => {
  const text = markdown(reportOf({ ...about, subjects, checks: targets(measured) }))
  expect(text).toContain('Benchmark of 2030-01-02 03:04 UTC, commit abc123.')
  expect(text).toContain('| door | 6 [5.94, 6.06] | 166,667 [165,000, 168,333] |')
  expect(text).toContain('| CPU, ÷ bare `node:http`: door | 0.6 [0.594, 0.606] |')
  expect(text).toContain('| tier-2 hit ÷ bare `node:http`, CPU per request | ≤ 3 | 4 | BROKEN |')
})

test('figures keep three digits that mean something', () => {
  expect([0.012345, 6.789, 12_345.6, NaN].map(short)).toEqual(['0.0123', '6.79', '12,346', '–'])
})

test('two results are compared after each was divided by its own bare server', () => {
  const of = (subjects: Record<string, SubjectResult>) => reportOf({ ...about, subjects, checks: [] })
  const slower = { http: subject('bare', 20), raw: subject('door', 12), new: subject('new', 1) }
  const { text } = compareReports(of(subjects), of(slower))
  expect(text).toContain('door | 0.6 [0.594, 0.606] | 0.6 [0.594, 0.606] | 1 | the same |')
  expect(text).toContain('new | – | 0.05 [0.0495, 0.0505] |  | only in B |')
  expect(text).toContain('floor | 0.5 [0.495, 0.505] | – |  | only in A |')
})

test('a plot for each of what comes has a curve for each percentile, against the rate', () => {
  const rows = [row, { ...row, share: 0.9, rate: 90_000 }, { ...row, what: 'cold', floor: undefined }]
  const [hot, cold] = latencyCharts(rows)
  expect(hot?.series.map(({ name, points }) => [name, points])).toEqual([
    ['hot: one link, p50', [[50_000, 0.1], [90_000, 0.1]]],
    ['hot: one link, p99', [[50_000, 2], [90_000, 2]]],
    ['hot: one link, p99.9', [[50_000, 4], [90_000, 4]]],
  ]) // prettier-ignore
  expect(cold?.series).toHaveLength(3)
  expect(picture({ charts: [hot!] }, { charts: [cold!] })).toContain('>90,000 /s<')
})

test('the knee is the highest rate before the first at which people wait or are not answered', () => {
  const at = (rate: number, p99Ms: number, answered = rate) => ({
    ...row,
    rate,
    ...together([seen({ ...one(p99Ms, [p99Ms]), requests: answered, seconds: 1 }, one(1, [1]))]),
  })
  const knee = (...rows: ReturnType<typeof at>[]) => kneeOf(rows, row.what)
  expect(knee(at(100, 1), at(200, 9), at(300, 11), at(400, 2))).toBe(200)
  expect(knee(at(100, 1), at(200, 1, 190))).toBe(100)
  expect(knee(at(100, 1), at(200, 1))).toBe(200)
  expect(knee(at(100, 90))).toBeUndefined()
})

test('a miss on another CPU than the wanted ratios were set by proves nothing, a hit is one', () => {
  const miss = targets(measured)
  expect(doubtsOfCpu(miss, 'AMD EPYC 9V45')).toEqual([])
  expect(doubtsOfCpu(miss, 'Apple M4')[0]).toMatch(/^What was wanted was set on an AMD EPYC, and this is Apple M4/)
  expect(doubtsOfCpu(miss.filter(({ ok }) => ok), 'Apple M4')).toEqual([]) // prettier-ignore
})
