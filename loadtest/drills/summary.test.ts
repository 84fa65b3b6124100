import { expect, test } from 'vitest'
import { html } from '../report/html.ts'
import { makeReport, type Report } from '../report/report.ts'
import { folderOf } from '../report/write.ts'
import { summarise } from './summary.ts'

const check = { claim: 'p99', promised: '≤ 5 ms', measured: '2 ms', ok: true }
const of = (name: string, given: Partial<Report>): Report =>
  makeReport({
    kind: 'drill',
    name,
    title: `${name} happens.`,
    checks: [check],
    at: '2030-01-02T03:04:05.678Z',
    headline: `${name} was noticed.`,
    charts: [{ title: 'Latency', unit: 'ms', logarithmic: true, series: [{ name: 'p99', points: [[0, 2], [1, 9], [2, 2]] }] }],
    phases: [{ name: 'fault', fromS: 1, toS: 2 }],
    ...given,
  }) // prettier-ignore

const answers = { name: 'answers from the fault to the end', value: 1000, unit: '' }
const reports = [
  of('redis-refused', { figures: [answers, { name: 'wrong destinations', value: 0, unit: '' }] }),
  of('stampede', { checks: [{ ...check, ok: false }], verdict: 'FAIL', figures: [answers, { name: 'wrong destinations', value: 3, unit: '' }] }),
  of('hot-key', { verdict: 'INCONCLUSIVE', reasons: ['It was not steady.'], headline: undefined, charts: [], phases: [] }),
] // prettier-ignore

test('several drills are an index: a link, a sentence and a small plot of each', () => {
  const summary = summarise(reports, 'game-day')
  expect(summary.headline).toBe('1 of 3 drills passed, 1 failed, 1 inconclusive; 3 of 2,000 answers led to a wrong place.')
  const cards = Array.from(html(summary).matchAll(/<article>[^]*?<\/article>/g), ([card]) => card)
  expect(cards).toHaveLength(3)
  for (const [n, card] of cards.entries()) {
    expect(card).toContain(`href="../${folderOf(reports[n]!)}/report.html"`)
    expect(card).toContain(`>${reports[n]!.verdict}<`)
  }
  expect(cards[0]).toContain('redis-refused was noticed.')
  expect(cards[0]).toMatch(/<svg [^]*fill="var\(--fault\)"/)
  // What never came to its fault has nothing to draw, but says why.
  expect(cards[2]).toContain('It was not steady.')
  expect(cards[2]).not.toContain('<svg')
}) // prettier-ignore
