import type { Drill } from './engine/drill.ts'
import { killed } from './faults.ts'
import { cold, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, medianGrowsBy, opensWithin, p99Below, redisBreakerCloses, trustedWithin } from './promises.ts' // prettier-ignore

export const redisRefused: Drill = {
  name: 'redis-refused',
  claim: 'Redis is killed. Every redirect goes on, from memory and Postgres, and Redis is taken back when it returns.',
  load: { rate: 300, groups: [hot, warm, cold] },
  ...killed('redis', 12),
  during: [
    opensWithin('redis', 1000),
    medianGrowsBy('warm', 15),
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  after: [redisBreakerCloses(), trustedWithin(3000)],
  alerts: ['QuickLinkRedisDown', 'QuickLinkDbFallbackHigh'],
  mayRing: consequences.redis,
}
