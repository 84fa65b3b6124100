// Redis, tier 1 and everything that keeps them honest, put together for one process.
import { limits, type Config } from '../config.ts'
import type { Breaker } from '../connections/breaker.ts'
import { openRedis, type CommandKind, type RedisConnection } from '../connections/redis.ts'
import { parseCode, type Code, type Known } from '../link.ts'
import { announceLocally, createAnnouncer, type Announcer } from './announce.ts'
import { startChecker } from './checker.ts'
import { createFreshener, type Freshener } from './freshen.ts'
import { estimateHints } from './hint-count.ts'
import { createPass, type LocalCopies } from './pass.ts'
import { startRelay, type Relay } from './relay.ts'
import { nudgeChannel } from './schema.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'
import type { Vouching } from './vouching.ts'

/** What coherence needs of tier 1. */
export interface Local extends LocalCopies {
  learn(code: Code, known: Known, vouched: boolean): void
  codes(): Code[]
}

export interface PassHooks {
  readonly onApplied: (ageS: number) => void
  readonly onPassFailed: (error: unknown) => void
  readonly onGoneBack: (identity: string) => Promise<unknown>
}

export interface CoherenceHooks extends PassHooks {
  readonly onRedisError: (error: Error) => void
  readonly onCommand: (command: CommandKind, seconds: number) => void
  readonly onWipe: (why: string) => void
  readonly onStale: (code: Code, held: Known, truth: Known) => void
  readonly onHintCount: (count: number) => void
  /** Asked once: what has to be looked at in this Redis before it is trusted. */
  readonly preparation: (redis: RedisConnection) => () => Promise<void>
  /** Seconds that a link lives in Redis; undefined: the usual time. */
  readonly lifeS?: (code: Code) => number | undefined
}

/** Whoever makes a change tells of it. */
export interface Telling {
  readonly announcer: Announcer
  close(): Promise<void>
}

export interface Coherence extends Telling {
  readonly redis: RedisConnection
  readonly cache: SharedCache
  readonly trust: Trust
  trusted(): boolean
}

/** What is known of the truth in this process, and until when that counts. */
interface Knowing {
  readonly truth: Truth
  readonly local: Local
  readonly vouching: Vouching
}

const nowMs = (): number => performance.now()

function startPasses(config: Config, knowing: Knowing, freshener: Freshener | undefined, hooks: PassHooks): Relay {
  const { onApplied, onGoneBack, onPassFailed } = hooks
  return startRelay({
    pass: createPass({ ...knowing, freshener, nowMs, onApplied, onGoneBack, onFailure: onPassFailed }),
    intervalMs: config.relayIntervalMs,
    gapMs: limits.nudgeGapMs,
    onFailure: onPassFailed,
  })
}

/** Where there is no Redis: passes keep tier 1 right all the same. */
export function openLocalCoherence(config: Config, knowing: Knowing, hooks: PassHooks): Telling {
  const relay = startPasses(config, knowing, undefined, hooks)
  const { local, vouching } = knowing
  return {
    announcer: announceLocally({
      learn: (...news) => local.learn(...news),
      vouching,
    }),
    close: () => relay.stop(),
  }
}

export function openCoherence(config: Config, knowing: Knowing, breaker: Breaker, hooks: CoherenceHooks): Coherence {
  const { truth, local, vouching } = knowing
  const redis = openRedis(config, { onError: hooks.onRedisError, onCommand: hooks.onCommand })
  const cache = createSharedCache(redis, {
    ...config,
    tombstoneS: limits.tombstoneS,
    ...(hooks.lifeS ? { lifeS: hooks.lifeS } : {}),
  })
  const trust = new Trust(config.trustMs, nowMs)
  const { onApplied, onWipe, onGoneBack, onStale } = hooks
  const prepare = hooks.preparation(redis)
  const freshener = createFreshener({ cache, truth, trust, vouching, nowMs, onApplied, onWipe, onGoneBack, prepare })
  const relay = startPasses(config, knowing, freshener, hooks)
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
      learn: (...news) => local.learn(...news),
      vouching,
      cache,
      breaker,
      timeoutMs: config.redisTimeoutMs,
      publish: (code) => redis.publish(nudgeChannel, JSON.stringify({ code })),
      passSoon: () => relay.soon(),
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
