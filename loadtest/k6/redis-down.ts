// Redis goes away in the middle, and comes back. The harness does it; visitors should not notice.
import { popular, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const seconds = setting('SECONDS', 90)
const third = Math.ceil(seconds / 3)
// A breaker that opened when Redis went is tried again every 30 s: until then nobody can see that Redis is back.
const recovery = Math.max(third, setting('RECOVERY_S', 40))

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
  { name: 'fault', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<120'] },
  { name: 'recovery', seconds: recovery, flows: { visitors: { rate } }, latency: ['p(99)<50'] },
])

export function visitors(): void {
  visitLink(popular())
}
