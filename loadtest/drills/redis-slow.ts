import type { Drill } from './engine/drill.ts'
import { takesAtLeast, throughProxy } from './faults.ts'
import { cold, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, medianGrowsBy, opensWithin, p99Below, redisBreakerCloses, trustedWithin } from './promises.ts' // prettier-ignore

export const redisSlow: Drill = {
  name: 'redis-slow',
  claim: 'Each answer of Redis takes 200 ms more. Nobody waits longer than 50 ms for it, and soon nobody asks.',
  load: { rate: 300, groups: [hot, warm, cold] },
  ...throughProxy(
    'redis',
    { mode: 'delay', ms: 200 },
    { what: '200 ms are added to each answer of Redis', seconds: 12, landed: takesAtLeast('redis', 200) },
  ),
  during: [
    opensWithin('redis', 1000),
    medianGrowsBy('hot', 2),
    medianGrowsBy('warm', 15),
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  after: [redisBreakerCloses(), trustedWithin(3000)],
  alerts: ['QuickLinkRedisLatencyHigh', 'QuickLinkDbFallbackHigh'],
  mayRing: consequences.redis,
}
