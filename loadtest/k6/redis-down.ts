// Redis goes away in the middle, and comes back. The harness does it; visitors should not notice.
import { popular, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const seconds = setting('SECONDS', 90)
const third = Math.ceil(seconds / 3)

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
  { name: 'fault', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<120'] },
  { name: 'recovery', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<50'] },
])

export function visitors(): void {
  visitLink(popular())
}
