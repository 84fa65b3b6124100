// Somebody tries codes that do not exist, one after the other, beside the visitors of those that do. Before and after that,
// as many requests come from others who visit links: what is compared is the scan, and not that there is more to do.
import { anyOf, arrival, links, popular, slowDown, visit, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

export { handleSummary } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const scanned = setting('SCAN_RATE', 500)
const seconds = setting('SECONDS', 60)
const third = Math.ceil(seconds / 3)
const run = Date.now().toString(36)

const without = { visitors: { rate }, others: { rate: scanned } }

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: without, latency: ['p(99)<25'] },
  { name: 'scan', seconds: third, flows: { visitors: { rate }, scanner: { rate: scanned } }, latency: ['p(99)<50'] },
  { name: 'recovery', seconds: third, flows: without, latency: ['p(99)<25'] },
])

export function visitors(): void {
  visitLink(popular())
}

export function others(): void {
  visitLink(anyOf(links))
}

export function scanner(): void {
  visit(`no-${run}-${arrival()}`, null, slowDown)
}
