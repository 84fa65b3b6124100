import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { placesIn } from '../../embedded/paths.ts'
import { destinationOf, randomOf, zipf } from '../k6/lib/world.ts'
import type { Report } from '../report/report.ts'
import { Answers } from './answers.ts'
import { compareReports } from './compare.ts'
import { checksOf } from './judge.ts'
import { secondsOf, thresholdsOf } from './k6.ts'
import { annotate } from './publish.ts'
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

test('a threshold of k6 reads as a promise, in the order of the phases', () => {
  const metrics = {
    http_reqs: { count: 7 },
    'http_req_duration{phase:fault,flow:visitors}': { 'p(99)': 30.4, thresholds: { 'p(99)<25': true } },
    'failed_answers{phase:baseline}': { count: 0, thresholds: { 'count==0': false } },
    'dropped_iterations{phase:fault}': { count: 0, thresholds: { 'count==0': false } },
  }
  const phases = [{ name: 'baseline', fromS: 0, toS: 1 }, { name: 'fault', fromS: 1, toS: 2 }] // prettier-ignore
  const { checks, certain } = checksOf(thresholdsOf(JSON.stringify({ metrics })), phases)
  expect(checks).toEqual([
    { claim: 'baseline: failed answers', promised: '0', measured: '0', ok: true },
    { claim: 'fault: p99 of visitors', promised: '< 25 ms', measured: '30.4 ms', ok: false },
  ])
  expect(certain).toEqual(['baseline: failed answers'])
})

test("Go's durations", () => {
  expect(['1m30s', '500ms', '1h0m0s', '3s'].map(secondsOf)).toEqual([90, 0.5, 3600, 3])
})

const report = (p99: number, share: number): Report => ({
  kind: 'load', name: 'steady', title: 'A day.', at: '2030-01-02T03:04:05Z', commit: 'abc', verdict: 'PASS',
  reasons: [], checks: [], phases: [{ name: 'baseline', fromS: 3, toS: 63 }], marks: [], charts: [], tables: [],
  environment: { RATE: p99 },
  figures: [
    { name: 'p99', value: p99, unit: 'ms', better: 'less' },
    { name: 'tier 1', value: share, unit: '%', better: 'more' },
  ],
}) // prettier-ignore

test('a figure is worse when it moved the wrong way, beyond noise', () => {
  expect(compareReports(report(10, 90), report(11, 95)).worse).toBe(0)
  const { text, worse } = compareReports(report(10, 90), report(20, 120))
  expect(worse).toBe(1)
  expect(text).toContain('| p99 | 10 ms | 20 ms | 2 | worse |')
  expect(text).toContain('| tier 1 | 90 % | 120 % | 1.33 | better |')
  expect(text).toContain('differ in more than the code: RATE.')
})

test('a run is a region in Grafana, and a Grafana that is away is no harm', async () => {
  let heard: unknown
  const server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      heard = {
        url: request.url,
        who: request.headers.authorization,
        body: JSON.parse(Buffer.concat(chunks).toString()),
      }
      response.end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  expect(await annotate({ url, authorization: 'Bearer x' }, report(1, 1))).toBe(true)
  const time = Date.parse('2030-01-02T03:04:05Z')
  const body = { time, timeEnd: time + 63_000, tags: ['quicklink', 'load', 'steady'], text: 'PASS: steady. A day.' }
  expect(heard).toEqual({ url: '/api/annotations', who: 'Bearer x', body })
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  expect(await annotate({ url, authorization: 'Bearer x' }, report(1, 1))).toBe(false)
})

test('a stranger is loaded only if somebody says that he may be', async () => {
  const places = placesIn('there-is-none')
  await expect(findTarget({ TARGET: 'http://example.org' }, places)).rejects.toThrow('I_MAY_LOAD_THIS=yes')
  const allowed = await findTarget({ TARGET: 'http://example.org/x', I_MAY_LOAD_THIS: 'yes' }, places)
  expect(allowed).toMatchObject({ url: 'http://example.org', database: undefined, ownerKey: undefined })
  expect(await findTarget({ TARGET: 'http://127.0.0.1:8080' }, places)).toMatchObject({ what: '127.0.0.1:8080' })
})
