import { setTimeout as pause } from 'node:timers/promises'
import { singleKeys } from '../../server/redis-keys.ts'
import type { Code } from '../../server/link.ts'
import { ask } from '../../embedded/ask.ts'
import type { Drill, DrillGroup, DrillContext } from './engine/drill.ts'
import { total } from '../measure/ops.ts'
import { peak } from './engine/observed.ts'
import { hot } from './links.ts'
import { consequences } from './promises.ts'

const crowd: DrillGroup = { name: 'crowd', share: 5, prefix: 'crowd-', count: 1000, pick: 'uniform' }
/** Asked for by nobody before, and then by many at once. */
const fresh: DrillGroup = { name: 'fresh', share: 0, prefix: 'fresh-', count: 1, pick: 'uniform', cold: true }
const atOnce = 300
const usual = { rate: 300, groups: [hot, crowd, fresh] }

/** As a thousand keys that were made in the same moment with the same life, without jitter. */
async function expireTogether({ appliance, mark }: DrillContext): Promise<void> {
  const prefix = singleKeys.link(crowd.prefix as Code)
  await appliance.redis(
    `EVAL "for n = 0, ${crowd.count - 1} do redis.call('PEXPIREAT', '${prefix}' .. n, ARGV[1]) end" 0 ${Date.now() + 300}`,
  )
  await pause(300)
  mark(`${crowd.count} hot keys expired in the same millisecond`)
}

/**
 * Many at once for one code that nobody has cached. Postgres is slowed a little, so that they really wait together, and the
 * other load pauses, so that every lookup counted is one of theirs.
 */
async function burst({ appliance, load, note, mark }: DrillContext): Promise<void> {
  const lookups = async (): Promise<number> =>
    total(await appliance.metrics(), 'quicklink_lookups_total', { source: 'postgres' })
  load.set({ rate: 1, groups: [hot] })
  await appliance.proxies.set('postgres', 'delay', 60)
  await pause(500)
  mark(`the load pauses: ${atOnce} requests at once for a link that nobody had cached`)
  const before = await lookups()
  const answers = await Promise.all(Array.from({ length: atOnce }, () => ask(appliance.url, `/${fresh.prefix}0`)))
  note('burst lookups', (await lookups()) - before)
  note('burst failed', answers.filter(({ status }) => status !== 302).length)
  await appliance.proxies.set('postgres', 'pass')
  load.set(usual)
}

export const stampede: Drill = {
  name: 'stampede',
  claim: 'Redis is flushed under load, a thousand hot keys expire in one millisecond, and hundreds ask at once for one cold link. Postgres is asked once per code and process, and nobody fails.',
  needsProxies: true,
  load: usual,
  fault: {
    what: 'FLUSHALL in Redis',
    async inject({ appliance }) {
      await appliance.redis('FLUSHALL')
    },
    landed: {
      what: 'Redis counts a FLUSHALL',
      check: async ({ appliance }) => /cmdstat_flushall:calls=[1-9]/.test((await appliance.redis('INFO commandstats')) ?? ''),
    },
    seconds: 12,
  },
  async meanwhile(context) {
    await pause(4000)
    await expireTogether(context)
    await pause(2000)
    await burst(context)
  },
  during: [
    { what: `failures among ${atOnce} requests at once`, figure: ({ noted }) => noted('burst failed'), atMost: 0 },
    {
      what: `lookups in Postgres that ${atOnce} requests at once for one code caused, in all workers`,
      figure: ({ noted }) => noted('burst lookups'),
      atMost: 2,
    },
    { what: 'p99 of the worst second', figure: (observed) => peak(observed).ms, unit: 'ms', atMost: 300, latency: true },
  ],
  heal: {
    what: 'nothing: the caches fill by themselves',
    undo: () => Promise.resolve(),
    healed: {
      what: 'Redis holds half of what it held, and its cursor',
      check: async ({ appliance }) =>
        (await appliance.redis('EXISTS ql:v1:cursor')) === ':1' &&
        Number((await appliance.redis('DBSIZE'))?.replace(':', '')) > crowd.count / 2,
    },
  },
  after: [],
  alerts: [],
  mayRing: consequences.redis,
} // prettier-ignore
