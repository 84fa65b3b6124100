import type { Drill } from './engine/drill.ts'
import { throughProxy, unreachable } from './faults.ts'
import { cold, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, medianGrowsBy, opensWithin, p99Below, redisBreakerCloses, trustedWithin } from './promises.ts' // prettier-ignore

export const redisPartition: Drill = {
  name: 'redis-partition',
  claim:
    'The network swallows everything to and from Redis; when it is back, connections from before stay half open, for ever. No redirect fails, and nothing has to be restarted.',
  load: { rate: 300, groups: [hot, warm, cold] },
  ...throughProxy(
    'redis',
    { mode: 'black-hole', undo: 'strand' },
    { what: 'a black hole between QuickLink and Redis', seconds: 12, landed: unreachable('redis') },
    'the network is back; connections from before stay open, and dead',
  ),
  during: [
    opensWithin('redis', 1000),
    medianGrowsBy('warm', 15),
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  // A dead connection is given up after a second of silence, and made anew.
  after: [redisBreakerCloses(2500), trustedWithin(5000)],
  alerts: ['QuickLinkRedisDown', 'QuickLinkDbFallbackHigh'],
  mayRing: consequences.redis,
}
