import type { Drill } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'
import { total } from '../measure/ops.ts'
import { hot, warm } from './links.ts'
import { p99Below } from './promises.ts'

const usual = { rate: 300, groups: [hot, warm] }
/** With the generator on the same two cores, this is near what they carry. */
const viral = {
  rate: 1500,
  groups: [
    { ...hot, name: 'viral', share: 95, prefix: 'viral-', count: 1 },
    { ...warm, share: 5 },
  ],
} as const

const seconds = ({ fault }: Observed): number => (fault.toMs - fault.fromMs) / 1000

/** Lookups that left tier 1, without those of the other links. */
const hotLookups = (observed: Observed): number =>
  (observed.grewDuringFault('quicklink_lookups_total') - observed.fault.of('warm').answers.length) / seconds(observed)

export const hotKey: Drill = {
  name: 'hot-key',
  claim: `One link goes viral: 95 % of ${viral.rate} requests/s ask for it. Tier 1 answers them, and Redis hardly notices.`,
  load: { ...usual, groups: [...usual.groups, { ...viral.groups[0], share: 0 }], fixed: true },
  fault: {
    what: `${viral.rate} requests/s, 95 % of them for one link`,
    async inject({ appliance, load, note }) {
      note('before', total(await appliance.metrics(), 'quicklink_redirects_total'))
      note('since', performance.now())
      load.set(viral)
    },
    landed: {
      what: 'QuickLink counts more than 1,000 redirects a second',
      async check({ appliance, load }) {
        const before = total(await appliance.metrics(), 'quicklink_redirects_total')
        const beganMs = performance.now()
        await new Promise((resolve) => setTimeout(resolve, 1000))
        const grown = total(await appliance.metrics(), 'quicklink_redirects_total') - before
        return load.answers.length > 0 && grown / ((performance.now() - beganMs) / 1000) > 1000
      },
    },
    seconds: 8,
  },
  during: [
    {
      what: 'share of the redirects that tier 1 answered',
      figure: ({ grewDuringFault }) =>
        (100 * grewDuringFault('quicklink_cache_hit_total', { tier: 'local' })) /
        grewDuringFault('quicklink_redirects_total'),
      unit: '%',
      atLeast: 93,
    },
    {
      what: 'lookups of the one link that left tier 1, per worker',
      figure: (observed) => hotLookups(observed) / observed.workers,
      unit: '/s',
      atMost: 5,
    },
    p99Below('p99 of the one link', ({ fault }) => fault.of('viral'), 50),
  ],
  heal: {
    what: 'the load is as before',
    undo: ({ load }) => Promise.resolve(load.set(usual)),
    healed: {
      what: 'no answer of the last half second was for the one link',
      check: ({ load }) => load.answers.slice(-100).every(({ group }) => group !== 'viral'),
    },
  },
  after: [],
  alerts: [],
}
