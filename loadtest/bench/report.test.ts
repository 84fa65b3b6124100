import { expect, test } from 'vitest'
import { short } from '../report/text.ts'
import { compare, verdict } from './comparison.ts'
import { selfTimes } from './cpu-profile.ts'
import { together } from './open-loop.ts'
import { latencyPlot } from './plot.ts'
import { markdown } from './report.ts'
import type { OpenLoopRow, Result, SubjectResult } from './results.ts'
import { judge } from './targets.ts'
import { visitorRows } from './visitors.ts'

const subject = (what: string, us: number): SubjectResult => {
  const spread = (median: number) => ({ median, min: median * 0.99, max: median * 1.01 })
  return { what, cpuUs: spread(us), rps: spread(1e6 / us), p50Ms: spread(0.5), p99Ms: spread(1), p999Ms: spread(2), requests: 1000, failed: 0 } // prettier-ignore
}
const row: OpenLoopRow = { door: 'raw', share: 0.5, rate: 50_000, achieved: 50_000, p50Ms: 0.05, p99Ms: 0.4, p999Ms: 0.9, usualP99Ms: 0.2, floorP50Ms: 0.04, floorP99Ms: 0.3, floorUsualP99Ms: 0.16, p99ToFloor: 1.25, p99BetweenMs: [0.3, 7], maxMs: 3, failed: 0, generatorBusy: 0.6 } // prettier-ignore

const subjects = {
  net: subject('floor', 5),
  http: subject('bare', 10),
  raw: subject('door', 6),
  two: subject('two', 6.2),
  tier2: subject('tier 2', 40),
}
const visitors = [{ what: 'Zipf', cpuUs: 9, toHttp: 0.9, wanted: 0.85, netToHttp: 0.6, toNet: 1.5, failed: 0 }]
const measured = {
  subjects,
  visitors,
  cutOffLookupsPerS: 8,
  hotKeyReadsPerS: 10,
  tier1Entries: { held: 1000, bound: 1000 },
  openLoop: [row],
}
const result: Result = {
  ...measured,
  at: '2030-01-02T03:04:05.000Z',
  commit: 'abc123',
  dirty: false,
  mode: 'full',
  machine: { cores: 2 },
  config: { seconds: 3 },
  targets: judge(measured),
  scrape: {
    workers: 8,
    samples: 10_000,
    rounds: 50,
    scraped: { all: { usualMs: 2, worstMs: 9, over: 3 }, own: { usualMs: 1, worstMs: 1.5, over: 0 } },
    quiet: { all: { usualMs: 1, worstMs: 6, over: 1 }, own: { usualMs: 0.1, worstMs: 0.2, over: 0 } },
  },
  memory: {
    links: 1_000_000,
    redisBytesPerKey: 250,
    postgresBytesPerRow: { table: 150, indexes: 120, outbox: 60 },
    workerBytes: { idle: 90e6, loaded: 120e6 },
    tier1: [
      { links: 1000, heapBytes: 30e6 },
      { links: 10_000, heapBytes: 36e6 },
    ],
  },
}

test('targets: ratios of medians, and only of what was measured', () => {
  const of = (what: string) => judge(measured).find((target) => target.what.startsWith(what))
  expect(of('tier-1 hit ÷ bare')).toMatchObject({ measured: 0.6, met: true })
  expect(of('tier-2 hit')).toMatchObject({ measured: 4, met: false, wanted: '≤ 3' })
  expect(of('two workers')?.measured).toBeCloseTo(1.935)
  expect(of('tier-1 hit, p99')).toMatchObject({ measured: 1.25, unit: 'x', met: true })
  expect(of('404 scan')).toBeUndefined()
})

test('open loop: the run in the middle, the slice in the middle, and the worst of what nobody should miss', () => {
  const one = (p99Ms: number, p99BySlice: number[], failed = 0) => ({ achieved: 100, p50Ms: 0.1, p99Ms, p999Ms: 2 * p99Ms, maxMs: 3 * p99Ms, failed, p99BySlice }) // prettier-ignore
  const answer = (ours: ReturnType<typeof one>, floor: ReturnType<typeof one>) => ({ servers: [ours, floor], generatorBusy: ours.p99Ms / 100 }) // prettier-ignore
  const answers = [
    answer(one(50, [0.2, 90], 1), one(2, [0.1, 100])),
    answer(one(1, [0.1, 0.3]), one(1, [0.1, 0.1])),
    answer(one(2, [0.2, 4], 2), one(3, [0.1, 2])),
  ]
  const all = together(answers)
  expect(all).toMatchObject({
    p99Ms: 2,
    p99BetweenMs: [1, 50],
    maxMs: 150,
    failed: 2,
    generatorBusy: 0.5,
    floorP99Ms: 2,
  })
  expect(all.usualP99Ms).toBeCloseTo(0.25)
  // Of 2, 0.9, 1, 3, 2, 2: what stalls both in the same moment is nobody's.
  expect(all.p99ToFloor).toBeCloseTo(2)
})

test('a visitor’s shape is set beside both floors, and the dearest against the bare socket', () => {
  const all = { zipf: subject('', 9), 'http zipf': subject('', 10), 'net zipf': subject('', 6), zipfWide: subject('', 30), 'http zipfWide': subject('', 10), 'net zipfWide': subject('', 6) } // prettier-ignore
  const rows = visitorRows(all)
  expect(rows.map(({ toHttp, toNet, wanted }) => [toHttp, toNet, wanted])).toEqual([[0.9, 1.5, 0.85], [3, 5, null]]) // prettier-ignore
  const targets = judge({ ...measured, visitors: rows })
  expect(targets.find(({ what }) => what.startsWith('each of these'))).toMatchObject({ measured: 1.5, met: false })
  const noProxy = judge({ ...measured, visitors: [] }).map(({ what }) => what)
  expect(noProxy.filter((what) => what.startsWith('each of these'))).toEqual([])
})

test('the report names every subject and target, what was missed, and the memory of 100 million links', () => {
  const text = markdown(result)
  expect(text).toContain('# Benchmark of 2030-01-02, commit abc123\n')
  expect(text).toContain('| door | 6 [5.94, 6.06] | 0.6 | 166,667 [165,000, 168,333] |')
  expect(text).toContain('| tier-2 hit ÷ bare `node:http`, CPU per request | ≤ 3 | 4 x | **missed** |')
  expect(text).toContain('| Redis, one key per link | 250 | 25 GB |')
  expect(text).toContain(
    '| raw | 50 % | 50,000 | 50,000 | 0.05 (0.04) | 0.4 [0.3, 7] (0.3) | 0.2 (0.16) | 1.25 | 0.9 | 3 |',
  )
  expect(text).toContain('| Zipf | 9 | **0.9** | ≤ 0.85 | **1.5** | 0.6 | 0 |')
  expect(text).toContain('30 MB with a tier 1 of 1,000 links, 36 MB with a tier 1 of 10,000 links.')
  expect(text).toContain('own work in one stall was usually 1 ms, at worst 1.5 ms (0 of 50 above 5 ms)')
  expect(text).toContain('without a scrape usually 1 ms, at worst 6 ms (1 of 50 above 5 ms)')
  expect(text).not.toContain('*, the generator')
  expect(markdown({ ...result, openLoop: [{ ...row, generatorBusy: 1 }] })).toContain('| raw * | 50 % |')
})

test('figures keep three digits that mean something', () => {
  expect([0.012345, 6.789, 12_345.6, NaN].map(short)).toEqual(['0.0123', '6.79', '12,346', '–'])
})

test('a difference is one only beyond the spread of both, and beyond noise', () => {
  const spread = (min: number, median: number, max: number) => ({ min, median, max })
  expect(verdict(spread(9, 10, 11), spread(10.5, 11.5, 12))).toBe('the same')
  expect(verdict(spread(9.9, 10, 10.1), spread(10.15, 10.2, 10.25))).toBe('the same')
  expect(verdict(spread(9, 10, 11), spread(11.5, 12, 13))).toBe('worse')
  expect(verdict(spread(9, 10, 11), spread(7, 8, 8.5))).toBe('better')
})

test('two results are compared after each was divided by its own bare server', () => {
  const slower = { ...result, commit: 'def456', subjects: { http: subject('bare', 20), raw: subject('door', 12), new: subject('new', 1) } } // prettier-ignore
  const text = compare(result, slower)
  expect(text).toContain('| door | 6 [5.94, 6.06] | 12 [11.9, 12.1] | 1 | the same |')
  expect(text).toContain('| new | – | 1 [0.99, 1.01] |  | only in B |')
  expect(text).toContain('| floor | 5 [4.95, 5.05] | – |  | only in A |')
})

test('the plot has a curve for each percentile of each door, inside its frame', () => {
  const rows = [row, { ...row, share: 0.9, rate: 90_000, p99Ms: 40 }, { ...row, door: 'http', p50Ms: 0 }]
  const svg = latencyPlot(rows)
  expect(svg.match(/<polyline/g)).toHaveLength(4)
  const heights = Array.from(svg.matchAll(/ cy="([\d.-]+)"/g), ([, y]) => Number(y))
  expect(heights.every((y) => y >= 40 && y <= 320)).toBe(true)
})

test('self time of a profile is a share of what was not idle', () => {
  const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 8 })
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(idle)') },
      { id: 2, callFrame: frame('plainGet', 'file:///x/server/redirect/recognise.ts') },
      { id: 3, callFrame: frame('writev') },
    ],
    samples: [1, 2, 3, 2],
    timeDeltas: [1000, 300, 100, 600],
  }
  expect(selfTimes(profile)).toEqual([
    { name: 'plainGet redirect/recognise.ts:9', share: 0.9 },
    { name: 'writev', share: 0.1 },
  ])
})
