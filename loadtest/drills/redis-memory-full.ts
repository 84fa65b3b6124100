import { setTimeout as pause } from 'node:timers/promises'
import type { Drill, DrillContext } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'
import { hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, p99Below } from './promises.ts'

const chunk = 300
const filler = 'drill:filler:'

const info = async ({ appliance }: DrillContext, section: string, field: string): Promise<number> =>
  Number(new RegExp(`^${field}:(\\d+)`, 'm').exec((await appliance.redis(`INFO ${section}`)) ?? '')?.[1] ?? NaN)

const usedShare = async (context: DrillContext): Promise<number> =>
  (await info(context, 'memory', 'used_memory')) / (await info(context, 'memory', 'maxmemory'))

/** Somebody else's keys, a kilobyte each, with a life, as most keys of a shared Redis have. */
const fill = ({ appliance }: DrillContext, from: number): Promise<unknown> =>
  appliance.redis(
    `EVAL "for n = ${from}, ${from + chunk - 1} do redis.call('SET', '${filler}' .. n, string.rep('x', 1000), 'EX', 3600) end" 0`,
  )

const hits = (grew: Observed['grew']): number =>
  grew('quicklink_cache_hit_total') / (grew('quicklink_cache_hit_total') + grew('quicklink_cache_miss_total'))

let filled = 0

export const redisMemoryFull: Drill = {
  name: 'redis-memory-full',
  claim: 'Redis is filled to its limit, and goes on being filled. It evicts what nobody asks for; what keeps it true survives, and no redirect fails.',
  settings: { redis: ['maxmemory 8mb'] },
  load: { rate: 300, groups: [hot, { ...warm, count: 300 }] },
  fault: {
    what: 'Redis is filled to its maxmemory by keys of somebody else',
    async inject(context) {
      for (let n = 0; n < 60 && (await usedShare(context)) < 0.99; n++) await fill(context, (filled += chunk))
    },
    landed: { what: 'Redis says that it uses more than 95 % of its maxmemory', check: async (context) => (await usedShare(context)) > 0.95 },
    seconds: 10,
  },
  async meanwhile(context) {
    const before = await info(context, 'stats', 'evicted_keys')
    for (let n = 0; n < 20; n++) {
      await fill(context, (filled += chunk))
      await pause(250)
    }
    context.note('evicted', (await info(context, 'stats', 'evicted_keys')) - before)
    context.note('cursor', Number((await context.appliance.redis('EXISTS ql:v1:cursor'))?.replace(':', '')))
  },
  during: [
    { what: 'keys evicted', figure: ({ noted }) => noted('evicted'), atLeast: 100 },
    { what: 'the cursor is still there', figure: ({ noted }) => noted('cursor'), atLeast: 1 },
    {
      what: 'looks at which a worker did not trust Redis',
      figure: ({ watch, moments: { injectedMs, healedMs } }) =>
        watch.looks.filter(({ atMs, workers }) => atMs > injectedMs && atMs < healedMs && workers.some(({ redis }) => !redis.trusted)).length,
      atMost: 0,
    },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  heal: {
    what: 'the keys of somebody else are removed',
    async undo({ appliance }) {
      const lua = `local c = '0' repeat local r = redis.call('SCAN', c, 'MATCH', '${filler}*', 'COUNT', 1000) c = r[1] for _, k in ipairs(r[2]) do redis.call('UNLINK', k) end until c == '0'`
      await appliance.redis(`EVAL "${lua}" 0`)
    },
    healed: { what: 'Redis says that it uses less than 90 % of its maxmemory', check: async (context) => (await usedShare(context)) < 0.9 },
  },
  after: [
    {
      what: 'hit rate when steady again ÷ that of the baseline',
      figure: ({ grewAfter, grewInBaseline }) => (100 * hits(grewAfter)) / hits(grewInBaseline),
      unit: '%',
      atLeast: 90,
    },
  ],
  alerts: ['QuickLinkRedisMemoryHigh', 'QuickLinkEvictionsHigh'],
  mayRing: consequences.redis,
} // prettier-ignore
