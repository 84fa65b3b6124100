// Redis and everything that keeps it honest, put together for one process.
import { limits, type Config } from '../config.ts'
import type { Breaker } from '../connections/breaker.ts'
import { openRedis, type CommandKind, type RedisConnection } from '../connections/redis.ts'
import { parseCode, type Code, type Known } from '../link.ts'
import { createAnnouncer, type Announcer } from './announce.ts'
import { startChecker } from './checker.ts'
import { estimateHints } from './hint-count.ts'
import { createPass, type LocalCopies } from './pass.ts'
import { startRelay } from './relay.ts'
import { nudgeChannel } from './schema.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'

/** What coherence needs of tier 1. */
export interface Local extends LocalCopies {
  learn(code: Code, known: Known): void
  expire(code: Code): void
  codes(): Code[]
}

export interface CoherenceHooks {
  readonly onRedisError: (error: Error) => void
  readonly onCommand: (command: CommandKind, seconds: number) => void
  readonly onApplied: (ageS: number) => void
  readonly onPassFailed: (error: unknown) => void
  readonly onWipe: (why: string) => void
  readonly onGoneBack?: (identity: string) => Promise<unknown>
  readonly onStale: (code: Code, held: Known, truth: Known) => void
  readonly onHintCount: (count: number) => void
  /** Asked once: what every pass does first with this Redis. */
  readonly preparation?: (redis: RedisConnection) => () => Promise<void>
  /** Seconds that a link lives in Redis; undefined: the usual time. */
  readonly lifeS?: (code: Code) => number | undefined
}

export interface Coherence {
  readonly redis: RedisConnection
  readonly cache: SharedCache
  readonly trust: Trust
  readonly announcer: Announcer
  trusted(): boolean
  close(): Promise<void>
}

export function openCoherence(
  config: Config,
  truth: Truth,
  local: Local,
  breaker: Breaker,
  hooks: CoherenceHooks,
): Coherence {
  const nowMs = (): number => performance.now()
  const redis = openRedis(config, { onError: hooks.onRedisError, onCommand: hooks.onCommand })
  const cache = createSharedCache(redis, {
    ...config,
    tombstoneS: limits.tombstoneS,
    ...(hooks.lifeS ? { lifeS: hooks.lifeS } : {}),
  })
  const trust = new Trust(config.trustMs, nowMs)
  const { onApplied, onWipe, onGoneBack, onStale } = hooks
  const relay = startRelay({
    pass: createPass({
      cache,
      truth,
      local,
      trust,
      nowMs,
      onApplied,
      onWipe,
      onGoneBack,
      prepare: hooks.preparation?.(redis),
    }),
    intervalMs: config.relayIntervalMs,
    gapMs: limits.nudgeGapMs,
    onFailure: hooks.onPassFailed,
  })
  redis.subscribe(nudgeChannel, (message) => {
    const code = nudgedCode(message)
    if (code !== undefined) local.expire(code)
    relay.soon()
  })
  const checker = startChecker({
    cache,
    truth,
    trust,
    codes: () => local.codes(),
    everyMs: 1000 / limits.checksPerSecond,
    againAfterMs: 1000,
    onStale,
  })
  const counting = setInterval(() => {
    if (redis.ready) estimateHints(redis).then(hooks.onHintCount, () => undefined)
  }, limits.hintCountEveryMs)

  return {
    redis,
    cache,
    trust,
    announcer: createAnnouncer({
      learn: (code, known) => {
        local.learn(code, known)
      },
      cache,
      breaker,
      timeoutMs: config.redisTimeoutMs,
      publish: (code) => redis.publish(nudgeChannel, JSON.stringify({ code })),
      passSoon: () => {
        relay.soon()
      },
    }),
    trusted: () => trust.holds(cache.connection),
    async close() {
      clearInterval(counting)
      checker.stop()
      await relay.stop()
      redis.close()
    },
  }
}

function nudgedCode(message: string): Code | undefined {
  try {
    return parseCode(String((JSON.parse(message) as { code?: unknown }).code))
  } catch {
    return undefined
  }
}
