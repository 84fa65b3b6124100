// A constant rate over links of Zipf's popularity: what an ordinary day looks like.
import { popular, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 2000)
const seconds = setting('SECONDS', 60)

export const options = openLoop([
  { name: 'baseline', seconds, flows: { visitors: { rate } }, latency: ['p(50)<2', 'p(99)<25'] },
])

export function visitors(): void {
  visitLink(popular())
}
