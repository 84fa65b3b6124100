// A first look by autocannon: as fast as a few connections go, every answer checked, nothing to install. A closed loop: it
// says how much, and not how long a visitor waits (docs/decisions/0011-load-tests.md).
import autocannon from 'autocannon'
import { codeOf, destinationOf, randomOf, zipf } from '../k6/lib/world.ts'
import { Latencies, quantile } from '../measure/stats.ts'
import { loadBeside, makeReport, type Check, type Figure, type Report } from '../report/report.ts'
import { short } from '../report/text.ts'
import { percentileChart } from './charts.ts'
import type { Say } from './progress.ts'
import { withLinks, type Order } from './run.ts'

const different = 500
const connections = 16

type QuickOrder = Omit<Order, 'k6'>

export async function quick(order: QuickOrder, say: Say): Promise<Report> {
  const seconds = Number(order.settings['SECONDS'] ?? 10)
  const [at, before] = [new Date().toISOString(), loadBeside()]
  say(`${connections} connections for ${seconds} s, each asking again as soon as it is answered, for ${different} of ${order.links.toLocaleString('en')} links.`) // prettier-ignore
  return withLinks(order, order.links, say, async ({ prefix, seed, links }) => {
    const heard = new Heard(say)
    const requests = Array.from({ length: different }, (_, n): autocannon.Request => {
      const link = zipf(randomOf(n), links, 1)
      const destination = destinationOf(seed, link)
      return {
        path: `/${codeOf(prefix, link)}`,
        onResponse: (status, _body, _context, headers) => {
          if (status !== 302 || (headers as Record<string, string>)['Location'] !== destination) heard.wrong++
        },
      }
    })
    const url = order.url ?? order.target.url
    const result = await new Promise<autocannon.Result>((resolve, reject) => {
      const run = autocannon({ url, connections, duration: seconds, requests }, (error: Error | null, result) => (error ? reject(error) : resolve(result))) // prettier-ignore
      run.on('response', (_client, status, _bytes, ms) => heard.answer(status, ms))
    })
    return reportOf(heard, result.errors, { at, seconds, environment: { ...before, target: order.target.what, links, seed } }) // prettier-ignore
  })
}

/** Its own histogram of latencies has whole milliseconds: of answers that take a part of one it says 0. */
class Heard {
  readonly latencies = new Latencies()
  readonly statuses: Record<string, number> = {}
  readonly seconds: { readonly answers: number; readonly p50Ms: number; readonly p99Ms: number }[] = []
  wrong = 0
  #second: number[] = []
  readonly #beganMs = performance.now()
  readonly #say: Say

  constructor(say: Say) {
    this.#say = say
  }

  answer(status: number, ms: number): void {
    this.latencies.add(ms)
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    this.#second.push(ms)
    if (performance.now() - this.#beganMs >= 1000 * (this.seconds.length + 1)) this.#endSecond()
  }

  /** Of a part of one nothing is said. */
  #endSecond(): void {
    const all = this.#second
    this.#second = []
    const [p50Ms, p99Ms] = [quantile(all, 0.5), quantile(all, 0.99)]
    this.seconds.push({ answers: all.length, p50Ms, p99Ms })
    this.#say(`${String(this.seconds.length).padStart(5)} s  ${all.length.toLocaleString('en')}/s  p50 ${short(p50Ms)} ms  p99 ${short(p99Ms)} ms  ${this.wrong === 0 ? 'no errors' : `${this.wrong} wrong`}`, true) // prettier-ignore
  }
}

interface About {
  readonly at: string
  readonly seconds: number
  readonly environment: Report['environment']
}

function reportOf(heard: Heard, errors: number, { at, seconds, environment }: About): Report {
  const { latencies, statuses, wrong } = heard
  const ms = (name: string, share: number): Figure => ({ name, value: latencies.quantile(share), unit: 'ms', better: 'less' }) // prettier-ignore
  const counts = Object.entries(statuses).map(([status, count]) => `${count.toLocaleString('en')} × ${status}`)
  const rate = latencies.count / seconds
  const [p50, p99, p999] = [0.5, 0.99, 0.999].map((share) => short(latencies.quantile(share)))
  const checks: Check[] = [
    { claim: 'wrong or failed answers', promised: '0', measured: String(wrong), ok: wrong === 0 },
    { claim: 'requests without an answer', promised: '0', measured: String(errors), ok: errors === 0 },
  ]
  const bySecond = (name: string, of: (second: Heard['seconds'][number]) => number) => ({
    name,
    points: heard.seconds.map((second, n) => [n, of(second)] as const),
  })
  return makeReport({
    kind: 'load',
    name: 'quick',
    title: `As fast as ${connections} connections of autocannon go, for ${seconds} s: a closed loop, whose latencies are not those of visitors.`,
    headline: `${short(rate)}/s: p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p999} ms; ${counts.join(', ')}; ${wrong} wrong, ${errors} without an answer.`,
    at,
    checks,
    figures: [
      { name: 'answers', value: rate, unit: '/s', better: 'more' },
      ms('p50', 0.5),
      ms('p99', 0.99),
      ms('p99.9', 0.999),
      ms('slowest', 1),
    ],
    tables: [{ title: 'Answers', head: ['status', 'answers'], rows: Object.entries(statuses).map(([status, count]) => [status, count.toLocaleString('en')]) }],
    charts: [
      { title: 'Latency', unit: 'ms', logarithmic: true, series: [bySecond('p50', (s) => s.p50Ms), bySecond('p99', (s) => s.p99Ms)] },
      { title: 'Answers', unit: 'per second', series: [bySecond('answers', (s) => s.answers)] },
      percentileChart([['all', latencies]]),
    ],
    environment,
  })
} // prettier-ignore
