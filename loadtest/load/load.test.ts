import { expect, test } from 'vitest'
import { placesIn } from '../../embedded/paths.ts'
import { destinationOf, randomOf, zipf } from '../k6/lib/world.ts'
import type { Worker } from '../measure/ops.ts'
import { Answers } from './answers.ts'
import { linksIn, settled } from './dataset.ts'
import { checksOf, noFaultsOf } from './judge.ts'
import { secondsOf, thresholdsOf } from './k6.ts'
import { findK6 } from './k6-program.ts'
import type { Measured } from './measured.ts'
import { usualP99 } from './scenario.ts'
import { findTarget } from './target.ts'

test('popularity is as Zipf says: the first link has its share, and every link its turn', () => {
  const links = 1000
  const counts = new Uint32Array(links)
  const draws = 200_000
  for (let n = 0; n < draws; n++) counts[zipf(randomOf(n), links, 1)]!++
  const share = (n: number): number => counts[n]! / draws
  // ln((k + 1) ÷ k) ÷ ln(links + 1)
  expect(share(0)).toBeCloseTo(Math.log(2) / Math.log(links + 1), 2)
  expect(share(9)).toBeCloseTo(Math.log(11 / 10) / Math.log(links + 1), 2)
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(0.99 * links)
})

test('popularity can be even, and steeper', () => {
  const draw = (exponent: number): number[] =>
    Array.from({ length: 10_000 }, (_, n) => zipf(randomOf(n), 100, exponent))
  const first = (ranks: number[]): number => ranks.filter((rank) => rank === 0).length / ranks.length
  expect(first(draw(0))).toBeCloseTo(0.01, 2)
  expect(first(draw(2))).toBeGreaterThan(0.4)
  for (const rank of [...draw(0), ...draw(2)]) expect(rank >= 0 && rank < 100).toBe(true)
})

test('a destination is a function of seed and number', () => {
  expect(destinationOf('1', 7)).toBe(destinationOf('1', 7))
  expect(destinationOf('1', 7)).not.toBe(destinationOf('2', 7))
})

test('answers are counted by second, and by phase and flow, whatever order they come in', () => {
  const answers = new Answers(() => undefined, () => undefined) // prettier-ignore
  const tags = (flow: string): string => `flow=${flow}&phase=baseline`
  answers.line('metric_name,timestamp,metric_value,status,extra_tags,metadata')
  answers.line(`http_req_duration,1000,2.0,302,${tags('visitors')},`)
  answers.line('http_req_duration,2100,4.0,302,phase=baseline&flow=visitors,')
  answers.line(`http_req_duration,1900,90,503,${tags('scanner')},`)
  answers.line(`wrong_answers,1950,1,,${tags('visitors')},`)
  answers.line(`dropped_iterations,2100,3,,${tags('visitors')},`)
  answers.line('http_req_blocked,1000,2.0,302,,')
  answers.finish()
  expect(answers.seconds).toMatchObject([
    { atS: 0, phase: 'baseline', answers: 2, p99Ms: 2, statuses: { 302: 1, 503: 1 }, wrong: 1 },
    { atS: 1, answers: 1, p99Ms: 4, dropped: 3 },
  ])
  const [visitors] = answers.groupsOf('baseline', 'visitors')
  expect(visitors).toMatchObject({ statuses: { 302: 2 }, wrong: 1, dropped: 3 })
  expect(visitors?.latencies.quantile(1)).toBe(4)
})

test('the p99 of a usual second knows nothing of a stall, and nothing of other phases', () => {
  const answers = new Answers(() => undefined, () => undefined) // prettier-ignore
  for (const [second, ms] of [90, 2, 3, 60, 4, 80].entries()) {
    const phase = second === 0 || second === 5 ? 'warm-up' : 'baseline'
    for (let n = 0; n < 9; n++) answers.line(`http_req_duration,${1000 * second + 100 * n},${ms},302,flow=visitors&phase=${phase},`) // prettier-ignore
  }
  answers.finish()
  const plan = { phases: [{ name: 'baseline', fromS: 1, toS: 5 }], rates: new Map() }
  const measured = { plan, answers, thresholds: [], moments: [], stalls: [], marks: [], workers: 1, notes: {} }
  expect(usualP99(measured, ['baseline'])).toBe(3.5)
})

test('a 503 while the machine stood still proves nothing; one without that, and any other failure, does', () => {
  const of = (status: number, stalls: Measured['stalls']): string[] => {
    const answers = new Answers(() => undefined, () => undefined) // prettier-ignore
    for (const [at, code] of [
      [0, 302],
      [3500, status],
      [5000, 302],
    ]) {
      answers.line(`http_req_duration,${at},9,${code},flow=visitors&phase=baseline,`)
      if (code !== 302) answers.line(`failed_answers,${at},1,,flow=visitors&phase=baseline,`)
    }
    answers.finish()
    const plan = { phases: [{ name: 'baseline', fromS: 0, toS: 6 }], rates: new Map() }
    return [...noFaultsOf({ plan, answers, thresholds: [], moments: [], stalls, marks: [], workers: 1, notes: {} }).keys()] // prettier-ignore
  }
  const then = [{ fromMs: 3400, ms: 80 }]
  expect(of(503, then)).toEqual(['baseline: failed answers'])
  expect(of(503, [{ fromMs: 500, ms: 80 }])).toEqual([])
  expect(of(503, [{ fromMs: 3400, ms: 20 }])).toEqual([])
  expect(of(500, then)).toEqual([])
  expect(of(0, then)).toEqual([])
})

test('a run begins when no breaker is open and Redis is trusted, and not before', async () => {
  const of = (trusted: boolean, breaker: string): Worker[] => [
    { redis: { tier: 'on', ready: true, trusted, breaker }, postgres: { breaker: 'closed' }, tier1: { entries: 0 } },
  ]
  const states = [of(false, 'closed'), of(true, 'open'), [null], of(true, 'half_open')]
  let asked = 0
  await settled({ status: () => Promise.resolve(states[Math.min(asked++, states.length - 1)]!) })
  expect(asked).toBeGreaterThanOrEqual(states.length)
})

test('K6=docker is refused where no QuickLink runs in Docker', () => {
  expect(() => findK6(false, 'docker')).toThrow('K6=docker is for a QuickLink of `docker compose`')
})

test('a threshold of k6 reads as a promise, in the order of the phases', () => {
  const metrics = {
    http_reqs: { values: { count: 7 } },
    'http_req_duration{phase:fault,flow:visitors}': {
      values: { 'p(99)': 30.4 },
      thresholds: { 'p(99)<25': { ok: false } },
    },
    'http_req_duration{phase:fault,status:503}': { values: { 'p(50)': 2 }, thresholds: { 'p(50)<50': { ok: true } } },
    'failed_answers{phase:baseline}': { values: { count: 0 }, thresholds: { 'count==0': { ok: true } } },
    'dropped_iterations{phase:fault}': { values: { count: 0 }, thresholds: { 'count==0': { ok: true } } },
  }
  const phases = [{ name: 'baseline', fromS: 0, toS: 1 }, { name: 'fault', fromS: 1, toS: 2 }] // prettier-ignore
  const { checks, certain } = checksOf(thresholdsOf(JSON.stringify(metrics)), phases)
  expect(checks).toEqual([
    { claim: 'baseline: failed answers', promised: '0', measured: '0', ok: true },
    { claim: 'fault: p50 of answers with 503', promised: '< 50 ms', measured: '2 ms', ok: true },
    { claim: 'fault: p99 of visitors', promised: '< 25 ms', measured: '30.4 ms', ok: false },
  ])
  expect(certain).toEqual(['baseline: failed answers'])
})

test('DATASET is a number of links, in thousands or millions too, and nothing else', () => {
  expect(['5000', '100k', '1M', '10m'].map(linksIn)).toEqual([5000, 100_000, 1_000_000, 10_000_000])
  for (const text of ['', '0', '1.5m', 'many', '11m', '1e3']) expect(() => linksIn(text)).toThrow(/^DATASET is .*10m/)
})

test("Go's durations", () => expect(['1m30s', '500ms', '1h0m0s', '3s'].map(secondsOf)).toEqual([90, 0.5, 3600, 3]))

test('a stranger is loaded only if somebody says that he may be', async () => {
  const places = placesIn('there-is-none')
  await expect(findTarget({ TARGET: 'http://example.org' }, places)).rejects.toThrow('I_MAY_LOAD_THIS=yes')
  const allowed = await findTarget({ TARGET: 'http://example.org/x', I_MAY_LOAD_THIS: 'yes' }, places)
  expect(allowed).toMatchObject({ url: 'http://example.org', database: undefined, ownerKey: undefined })
  expect(await findTarget({ TARGET: 'http://127.0.0.1:8080' }, places)).toMatchObject({ what: '127.0.0.1:8080' })
})
