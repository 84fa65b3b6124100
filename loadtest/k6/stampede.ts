// A hot link, and then a thousand links, leave Redis in the same moment while everybody asks for them. The harness lets
// them expire, in the middle of each phase.
import { anyOf, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1500)
const seconds = setting('SECONDS', 60)
const third = Math.ceil(seconds / 3)

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
  { name: 'one-expires', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<100'] },
  { name: 'all-expire', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<100'] },
])

/** Link 0 takes every second visit; the thousand share the rest. */
export function visitors(): void {
  const n = anyOf(2000)
  visitLink(n < 1000 ? 0 : n - 999)
}
