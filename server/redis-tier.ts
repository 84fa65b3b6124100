// Redis for one worker: what keeps it honest, and the counters of hits in it. Part of the composition root.
import type { OpenClicks } from './clicks/open.ts'
import { openCoherence } from './coherence/open.ts'
import type { Truth } from './coherence/truth.ts'
import type { Config } from './config.ts'
import type { Breaker } from './connections/breaker.ts'
import { askRedis } from './limits/ask-redis.ts'
import { createHitCounters, type HitCounters } from './limits/hit-counters.ts'
import type { Preparation } from './links/change-link.ts'
import type { Tier1 } from './redirect/tier1-local.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** Without a Redis there is nothing to keep honest, and a writer tells only its own tier 1. */
export function openRedisTier(
  config: Config,
  metrics: Metrics,
  log: Log,
  truth: Truth,
  tier1: Tier1,
  breaker: Breaker,
  clicks: () => OpenClicks,
  minting: Promise<Preparation>,
) {
  if (!config.redisUrl && !config.redisSentinels) return undefined
  let hitCounters: HitCounters | undefined
  let askHits: ReturnType<typeof askRedis> | undefined
  metrics.tierConfigured.set({ tier: 'redis' }, 1)
  const coherence = openCoherence(config, truth, tier1, breaker, {
    onRedisError: (err) => {
      log.debug({ err }, 'a Redis connection broke')
    },
    onCommand: (command, seconds) => {
      metrics.redisCommandDuration.observe({ command }, seconds)
    },
    onApplied: (ageS) => {
      metrics.invalidationDelay.observe(ageS)
    },
    onPassFailed: (err) => {
      log.debug({ err }, 'a pass failed')
    },
    onWipe: (why) => {
      log.warn({ why }, 'everything about links in Redis is unlinked')
      clicks().warm()
    },
    onGoneBack: async (identity) => (await minting).prepare(identity),
    preparation: (redis) => {
      askHits = askRedis(redis, breaker, config.redisTimeoutMs)
      hitCounters = createHitCounters(redis, askHits)
      return hitCounters.prepare
    },
    ...(config.dynamicTtl === 'on' ? { lifeS: (code) => clicks().lifeS(code) } : {}),
    onStale: (code, held, truth) => {
      metrics.staleAnswersFound.inc()
      log.error({ code, held: held.version, truth: truth.version }, 'Redis holds a wrong answer and is trusted')
    },
    onHintCount: (count) => {
      metrics.negativeCacheKeys.set(count)
    },
  })
  metrics.onCollect(() => {
    metrics.trustAge.set(coherence.trust.ageS())
  })
  return { coherence, hitCounters, askHits }
}
