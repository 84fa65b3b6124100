// A first look by autocannon: as fast as a few connections go, every answer checked, nothing to install. A closed loop: it
// says how much, and not how long a visitor waits (docs/decisions/0011-load-tests.md).
import autocannon from 'autocannon'
import { codeOf, destinationOf, randomOf, zipf } from '../k6/lib/world.ts'
import { makeReport, type Check, type Report } from '../report/report.ts'
import { withLinks, type Order } from './run.ts'

const different = 500
const connections = 16

export async function quick(order: Omit<Order, 'k6'>, say: (line: string) => void): Promise<Report> {
  const seconds = Number(order.settings['SECONDS'] ?? 10)
  const at = new Date().toISOString()
  return withLinks(order, order.links, say, async ({ prefix, seed, links }) => {
    let wrong = 0
    const requests = Array.from({ length: different }, (_, n): autocannon.Request => {
      const link = zipf(randomOf(n), links, 1)
      const destination = destinationOf(seed, link)
      return {
        path: `/${codeOf(prefix, link)}`,
        onResponse: (status, _body, _context, headers) => {
          if (status !== 302 || (headers as Record<string, string>)['Location'] !== destination) wrong++
        },
      }
    })
    const result = await autocannon({ url: order.url ?? order.target.url, connections, duration: seconds, requests }) // prettier-ignore
    const { p50, p99, max } = result.latency
    const answered = result.requests.total
    const checks: Check[] = [
      { claim: 'wrong or failed answers', promised: '0', measured: String(wrong), ok: wrong === 0 },
      { claim: 'requests without an answer', promised: '0', measured: String(result.errors), ok: result.errors === 0 },
    ]
    return makeReport({
      kind: 'load',
      name: 'quick',
      title: `As fast as ${connections} connections of autocannon go, for ${seconds} s.`,
      at,
      checks,
      figures: [
        { name: 'answers', value: answered / seconds, unit: '/s', better: 'more' },
        { name: 'p50 of visitors', value: p50, unit: 'ms', better: 'less' },
        { name: 'p99 of visitors', value: p99, unit: 'ms', better: 'less' },
        { name: 'slowest', value: max, unit: 'ms', better: 'less' },
      ],
      environment: { target: order.target.what, links, seed },
    })
  })
}
