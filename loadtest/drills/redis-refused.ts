import type { Drill } from './engine/drill.ts'
import { medianGrowsBy, opensWithin, p99Below, redisBreakerCloses, trustedWithin } from './promises.ts'
import { cold, hot, warm } from './links.ts'

export const redisRefused: Drill = {
  name: 'redis-refused',
  claim: 'Redis is killed. Every redirect goes on, from memory and Postgres, and Redis is taken back when it returns.',
  load: { rate: 300, groups: [hot, warm, cold] },
  fault: {
    what: 'kill -9 of Redis',
    inject: ({ appliance }) => appliance.services.redis.kill(),
    landed: {
      what: 'a PING from outside is not answered',
      check: async ({ appliance }) => !(await appliance.services.redis.answers()),
    },
    seconds: 12,
  },
  during: [
    opensWithin('redis', 1000),
    medianGrowsBy('warm', 15),
    p99Below('p99, all links', ({ fault }) => fault, 120),
  ],
  heal: {
    what: 'Redis is started, empty or with its last snapshot',
    undo: ({ appliance }) => appliance.services.redis.start(),
    healed: {
      what: 'a PING from outside is answered',
      check: ({ appliance }) => appliance.services.redis.answers(),
    },
  },
  after: [redisBreakerCloses, trustedWithin(3000)],
  alerts: ['QuickLinkRedisDown', 'QuickLinkDbFallbackHigh'],
}
