// From one second to the next there are five times as many visitors; then they are gone again.
import { popular, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 800)
const seconds = setting('SECONDS', 60)
const times = setting('TIMES', 5)
const third = Math.ceil(seconds / 3)

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
  { name: 'spike', seconds: third, flows: { visitors: { rate: rate * times } }, latency: ['p(99)<100'] },
  { name: 'recovery', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
])

export function visitors(): void {
  visitLink(popular())
}
