import { roundTripMs } from '../faults/probe.ts'
import type { SentinelGroup } from '../faults/sentinels.ts'
import { disableDoomed, doomed, doomedAreAsked, hot, warm } from './links.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

const groupOf = ({ appliance }: DrillContext): SentinelGroup => {
  if (!appliance.sentinels) throw new Error('this drill needs Sentinels')
  return appliance.sentinels
}

export const redisFailover: Drill = {
  name: 'redis-failover',
  claim:
    'The replica of Redis lags, links are disabled, and then the primary is killed. Sentinels promote the replica, which still has these links. Nobody is led there, and no redirect fails.',
  settings: { sentinels: true },
  notInDocker: 'the compose file has one Redis and no Sentinels',
  load: { rate: 300, groups: [hot, warm, doomed] },
  fault: {
    what: 'the replica is cut off, links are disabled, and the primary is killed with kill -9',
    async inject(context) {
      const { cutReplica, primary } = groupOf(context)
      await cutReplica()
      await disableDoomed(context)
      await primary.kill()
    },
    landed: {
      what: 'a stranger is refused by the primary',
      check: async (context) => (await roundTripMs('redis', groupOf(context).primary.port, 500)) === undefined,
    },
    // The Sentinels mend it themselves, as soon as they can.
    seconds: 0,
    fixed: true,
  },
  during: [p99Below('p99 of all links', ({ sinceLanded }) => sinceLanded, bothDeadlinesMs)],
  heal: {
    what: 'the Sentinels promote the replica',
    undo: (context) => groupOf(context).promoted(),
    healed: {
      what: 'every Sentinel names the replica as the primary, and it answers',
      check: async (context) => (await roundTripMs('redis', groupOf(context).replica.port, 500)) !== undefined,
    },
  },
  after: [trustedWithin(1000), doomedAreAsked],
  alerts: ['QuickLinkRedisDown'],
  mayRing: consequences.redis,
}
