import { roundTripMs } from '../faults/probe.ts'
import { clusterOf, medianUntrusted } from './clusters.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { disableDoomed, doomed, doomedAreAsked, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

/** Of the first node, at first. */
const slot = 0
const victimOf = (context: DrillContext) => clusterOf(context).nodes[0]!

export const clusterFailover: Drill = {
  name: 'cluster-failover',
  claim:
    'The replica of one primary of a Redis Cluster lags, links are disabled, and then this primary is killed. The replica, which still has these links, takes its place. Nobody is led there, no redirect fails, and the other partitions notice nothing.',
  settings: { cluster: true },
  notInDocker: 'the compose file has one Redis and no cluster',
  load: { rate: 300, groups: [hot, warm, doomed] },
  fault: {
    what: 'a replica is cut off, links are disabled, and its primary is killed with kill -9',
    async inject(context) {
      const { partitionsOf, cutReplicaOf } = clusterOf(context)
      const victim = victimOf(context)
      context.note('partitions of the victim', await partitionsOf(victim))
      await cutReplicaOf(victim)
      await disableDoomed(context)
      await victim.server.kill()
    },
    landed: {
      what: 'a stranger is refused by the primary',
      check: async (context) => (await roundTripMs('redis', victimOf(context).server.port, 500)) === undefined,
    },
    // The other primaries mend it themselves, as soon as they can.
    seconds: 0,
    fixed: true,
  },
  during: [
    {
      what: 'partitions that are not trusted while it is gone, beyond those that it had',
      figure: (observed) => medianUntrusted(observed) - observed.noted('partitions of the victim'),
      atLeast: 0,
      atMost: 0,
    },
    p99Below('p99 of all links', ({ sinceLanded }) => sinceLanded, bothDeadlinesMs),
  ],
  heal: {
    what: 'the cluster promotes the replica',
    undo: async (context) => void (await clusterOf(context).promoted(slot, victimOf(context))),
    healed: {
      what: 'whoever has its slots now answers',
      async check(context) {
        const owner = await clusterOf(context).ownerOf(slot)
        return owner !== undefined && (await roundTripMs('redis', owner.server.port, 500)) !== undefined
      },
    },
  },
  after: [
    trustedWithin(1000),
    doomedAreAsked,
    {
      what: 'breakers of Redis that /metrics calls open at the end',
      figure: ({ atEnd }) => atEnd('quicklink_breaker_state', { dependency: 'redis', state: 'open' }),
      atMost: 0,
    },
  ],
  // The replica takes its place sooner than they ring.
  alerts: [],
  mayRing: consequences.redis,
}
