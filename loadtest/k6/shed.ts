// Redis is away, and more visitors come than Postgres can answer: the harness sees to both. Whoever cannot be answered is
// told so soon, with a 503 that says when to come again: at once while Postgres' breaker is open, else after its deadline of
// 100 ms, which is waited for once more before giving up.
import { popular, refusal, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const seconds = setting('SECONDS', 60)
const third = Math.ceil(seconds / 3)
const flows = { visitors: { rate } }

export const options = openLoop([
  { name: 'baseline', seconds: third, flows, latency: ['p(99)<25'] },
  { name: 'fault', seconds: third, flows, latency: ['p(99)<300'], refused: ['p(50)<50', 'p(99)<300'] },
  { name: 'recovery', seconds: third, flows },
])

export function visitors(): void {
  visitLink(popular(), refusal)
}
