// Redis is away, and more visitors come than Postgres can answer: the harness sees to both. Whoever cannot be answered is
// told so at once, with a 503 that says when to come again.
import { popular, refusal, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const seconds = setting('SECONDS', 60)
const third = Math.ceil(seconds / 3)
const flows = { visitors: { rate } }

export const options = openLoop([
  { name: 'baseline', seconds: third, flows, latency: ['p(99)<25'] },
  { name: 'fault', seconds: third, flows, latency: ['p(99)<200'], refused: ['p(50)<50', 'p(99)<200'] },
  { name: 'recovery', seconds: third, flows },
])

export function visitors(): void {
  visitLink(popular(), refusal)
}
