// One link goes viral: it takes 95 % of all visits, the others are spread evenly.
import { anyOf, arrival, links, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 3000)
const seconds = setting('SECONDS', 60)
const everyNthIsAnother = 20

export const options = openLoop([
  { name: 'baseline', seconds, flows: { visitors: { rate } }, latency: ['p(50)<1', 'p(99)<15'] },
])

export function visitors(): void {
  visitLink(arrival() % everyNthIsAnother === 0 ? 1 + anyOf(links - 1) : 0)
}
