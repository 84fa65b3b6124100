// Redis for one worker: what keeps it and tier 1 honest, and the counters of hits in it. Part of the composition root.
import type { OpenClicks } from './clicks/open.ts'
import { openCoherence, openLocalCoherence, type Coherence, type PassHooks, type Telling } from './coherence/open.ts'
import type { Truth } from './coherence/truth.ts'
import type { Vouching } from './coherence/vouching.ts'
import type { Config } from './config.ts'
import type { Breaker } from './connections/breaker.ts'
import { askRedis } from './connections/ask-redis.ts'
import { createHitCounters, type HitCounters } from './hits/hit-counters.ts'
import type { Preparation } from './links/change-link.ts'
import type { Tier1 } from './redirect/tier1-local.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

interface RedisTierDeps {
  readonly metrics: Metrics
  readonly log: Log
  readonly truth: Truth
  readonly local: Tier1
  readonly vouching: Vouching
  readonly breaker: Breaker
  readonly clicks: () => OpenClicks
  readonly minting: Promise<Preparation>
}

interface RedisTier {
  readonly telling: Telling
  readonly coherence?: Coherence
  readonly hitCounters?: HitCounters | undefined
  readonly askHits?: ReturnType<typeof askRedis> | undefined
}

/** Without a Redis only tier 1 is kept honest, and a writer tells only its own. */
export function openRedisTier(config: Config, deps: RedisTierDeps): RedisTier {
  const { metrics, log, breaker, clicks, minting } = deps
  const hooks: PassHooks = {
    onApplied: (ageS) => metrics.invalidationDelay.observe(ageS),
    onPassFailed: (err) => log.debug({ err }, 'a pass failed'),
    onGoneBack: async (identity) => (await minting).prepare(identity),
  }
  if (!config.redisUrl && !config.redisSentinels) return { telling: openLocalCoherence(config, deps, hooks) }
  let hitCounters: HitCounters | undefined
  let askHits: ReturnType<typeof askRedis> | undefined
  metrics.tierConfigured.set({ tier: 'redis' }, 1)
  const coherence = openCoherence(config, deps, breaker, {
    ...hooks,
    onRedisError: (err) => log.debug({ err }, 'a Redis connection broke'),
    onCommand: (command, seconds) => metrics.redisCommandDuration.observe({ command }, seconds),
    onWipe: (why) => {
      log.warn({ why }, 'everything about links in Redis is unlinked')
      clicks().warm()
    },
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
    onHintCount: (count) => metrics.negativeCacheKeys.set(count),
  })
  metrics.onCollect(() => metrics.trustAge.set(coherence.trust.ageS()))
  return { telling: coherence, coherence, hitCounters, askHits }
}
