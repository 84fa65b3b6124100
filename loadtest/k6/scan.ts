// Somebody tries codes that do not exist, one after the other, beside the visitors of those that do.
import { arrival, popular, visit, visitLink } from './lib/ask.ts'
import { openLoop, setting } from './lib/plan.ts'

const rate = setting('RATE', 1000)
const scanned = setting('SCAN_RATE', 500)
const seconds = setting('SECONDS', 60)
const third = Math.ceil(seconds / 3)
const run = Date.now().toString(36)

export const options = openLoop([
  { name: 'baseline', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
  { name: 'scan', seconds: third, flows: { visitors: { rate }, scanner: { rate: scanned } }, latency: ['p(99)<50'] },
  { name: 'recovery', seconds: third, flows: { visitors: { rate } }, latency: ['p(99)<25'] },
])

export function visitors(): void {
  visitLink(popular())
}

export function scanner(): void {
  visit(`no-${run}-${arrival()}`, null)
}
