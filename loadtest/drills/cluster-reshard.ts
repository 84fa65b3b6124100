import { clusterOf, medianUntrusted } from './clusters.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { disableDoomed, doomed, doomedAreAsked, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

/** Of some of the links that are disabled meanwhile. */
const slotIn = (context: DrillContext): number => clusterOf(context).slotOf(`${doomed.prefix}0`)

export const clusterReshard: Drill = {
  name: 'cluster-reshard',
  claim:
    'A slot of a Redis Cluster moves to another node under load, and links are disabled while it is half there. Only its partition is not trusted, nobody is led to a disabled link, and no redirect fails.',
  settings: { cluster: true },
  notInDocker: 'the compose file has one Redis and no cluster',
  load: { rate: 300, groups: [hot, warm, doomed] },
  fault: {
    what: 'a slot migrates, some of its keys are at the other node, and links are disabled',
    async inject(context) {
      const { nodes, ownerOf, beginMove } = clusterOf(context)
      const owner = await ownerOf(slotIn(context))
      // The first three are the primaries.
      await beginMove(slotIn(context), owner === nodes[0] ? nodes[1]! : nodes[0]!)
      // What cannot be written to half a slot keeps it from being trusted.
      await disableDoomed(context)
    },
    landed: {
      what: 'its owner says where to it migrates',
      check: (context) => clusterOf(context).isMoving(slotIn(context)),
    },
    seconds: 8,
  },
  during: [
    {
      what: 'partitions that are not trusted while it moves',
      figure: medianUntrusted,
      atLeast: 1,
      atMost: 1,
    },
    {
      what: 'lookups that Redis answered while it moved',
      figure: ({ grewDuringFault }) => grewDuringFault('quicklink_lookups_total', { source: 'redis' }),
      atLeast: 100,
      evidence: true,
    },
    {
      what: 'times that a breaker of Redis opened',
      figure: ({ grew }) => grew('quicklink_breaker_transitions_total', { dependency: 'redis', to: 'open' }),
      atMost: 0,
      latency: true,
    },
    p99Below('p99 of all links', ({ sinceLanded }) => sinceLanded, bothDeadlinesMs),
  ],
  heal: {
    what: 'the rest of its keys moves, and then the slot',
    undo: (context) => clusterOf(context).endMove(slotIn(context)),
    healed: {
      what: 'its new owner has all of it',
      check: async (context) => !(await clusterOf(context).isMoving(slotIn(context))),
    },
  },
  after: [trustedWithin(1000), doomedAreAsked],
  alerts: [],
  mayRing: consequences.redis,
}
