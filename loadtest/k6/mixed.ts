// Links are made, changed and disabled beside the visits. What the API has acknowledged holds for everybody: a new link
// 150 ms later, a change or an end 1 s later.
import { sleep } from 'k6'
import { api, newCode, popular, visit, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const writes = setting('WRITE_RATE', 20)
const seconds = setting('SECONDS', 60)

export const options = openLoop([
  {
    name: 'baseline',
    seconds,
    flows: { visitors: { rate }, owners: { rate: writes, busyS: 3 } },
    latency: ['p(99)<50'],
  },
])

export function visitors(): void {
  visitLink(popular())
}

/** One life: made, visited, changed, visited, disabled, gone. */
export function owners(): void {
  const code = newCode('mixed')
  const [first, second] = [`https://example.org/first/${code}`, `https://example.org/second/${code}`]
  api('POST', '/links', 201, { code, url: first })
  sleep(0.15)
  visit(code, first)
  api('PATCH', `/links/${code}`, 200, { url: second })
  sleep(1)
  visit(code, second)
  api('PATCH', `/links/${code}`, 200, { enabled: false })
  sleep(1)
  visit(code, null)
  api('DELETE', `/links/${code}`, 204)
}
