// An hour of an ordinary day, to see whether anything grows.
import { popular, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const seconds = setting('SECONDS', 3600)

export const options = openLoop([{ name: 'baseline', seconds, flows: { visitors: { rate } }, latency: ['p(99)<25'] }])

export function visitors(): void {
  visitLink(popular())
}
