import { roundTripMs } from '../faults/probe.ts'
import type { SentinelGroup } from '../faults/sentinels.ts'
import { disableDoomed, doomed, doomedAreAsked } from './doomed.ts'
import type { Drill, Stage } from './engine/drill.ts'
import { hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

const groupOf = ({ appliance }: Stage): SentinelGroup => {
  if (!appliance.sentinels) throw new Error('this drill needs Sentinels')
  return appliance.sentinels
}

export const redisFailover: Drill = {
  name: 'redis-failover',
  claim:
    'The replica of Redis lags, links are disabled, and then the primary is killed. Sentinels promote the replica, which still has these links. Nobody is led there, and no redirect fails.',
  settings: { sentinels: true },
  load: { rate: 300, groups: [hot, warm, doomed] },
  fault: {
    what: 'the replica is cut off, links are disabled, and the primary is killed with kill -9',
    async inject(stage) {
      const { cutReplica, primary } = groupOf(stage)
      await cutReplica()
      await disableDoomed(stage)
      await primary.kill()
    },
    landed: {
      what: 'a stranger is refused by the primary',
      check: async (stage) => (await roundTripMs('redis', groupOf(stage).primary.port, 500)) === undefined,
    },
    // The Sentinels mend it themselves, as soon as they can.
    seconds: 0,
  },
  during: [p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs)],
  heal: {
    what: 'the Sentinels promote the replica',
    undo: (stage) => groupOf(stage).promoted(),
    healed: {
      what: 'every Sentinel names the replica as the primary, and it answers',
      check: async (stage) => (await roundTripMs('redis', groupOf(stage).replica.port, 500)) !== undefined,
    },
  },
  after: [trustedWithin(1000), doomedAreAsked],
  alerts: ['QuickLinkRedisDown'],
  mayRing: consequences.redis,
}
