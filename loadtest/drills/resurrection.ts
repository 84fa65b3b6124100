import { disableDoomed, doomed, doomedAreAsked, hot, warm } from './links.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { killed } from './faults.ts'
import { consequences, redisBreakerCloses, trustedWithin } from './promises.ts'

const loadedKeys = async ({ appliance }: DrillContext): Promise<number> =>
  Number(/rdb_last_load_keys_loaded:(\d+)/.exec((await appliance.redis('INFO persistence')) ?? '')?.[1] ?? NaN)

const { fault, heal } = killed('redis', 8)

export const resurrection: Drill = {
  name: 'resurrection',
  claim:
    'Links are disabled while Redis is away. Redis comes back with an old snapshot, in which they live. Nobody is led there again.',
  load: { rate: 300, groups: [hot, warm, doomed] },
  async prepare({ appliance }) {
    await appliance.redis('SAVE')
  },
  fault,
  meanwhile: disableDoomed,
  during: [],
  heal: {
    ...heal,
    what: 'Redis is started, and loads its old snapshot',
    healed: {
      what: 'Redis says that it has loaded the keys of its old snapshot',
      check: async (context) => (await loadedKeys(context)) > doomed.count,
    },
  },
  after: [redisBreakerCloses(), trustedWithin(3000), doomedAreAsked],
  alerts: ['QuickLinkRedisDown'],
  mayRing: consequences.redis,
}
