// What keeps this process and its Redis true: passes, word of a change, and a look whether the promise holds.
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import type { RedisConnection } from '../connections/redis.ts'
import { parseCodeAt, type Code, type Known } from '../link.ts'
import { announceLocally, createAnnouncer, type Announcer } from './announce.ts'
import { startChecker } from './checker.ts'
import { createFreshener } from './freshen.ts'
import type { News } from './news.ts'
import { createPass, type LocalCopies } from './pass.ts'
import { startRelay } from './relay.ts'
import { nudgeChannel, singleKeys, type Keys } from '../redis-keys.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'
import type { Vouching } from './vouching.ts'

/** Redis as this process has it: the connection, what is known of codes there, and whether it is proved fresh. */
export interface Shared {
  readonly redis: RedisConnection
  readonly keys: Keys
  readonly cache: SharedCache
  readonly trust: Trust
  trusted(): boolean
}

/** `hotLifeS`: of a link that is hot, for which DYNAMIC_TTL has another life. */
export function openShared(
  { config, metrics }: Ground,
  redis: RedisConnection,
  hotLifeS: (code: Code) => number | undefined,
): Shared {
  const lifeS = config.dynamicTtl === 'on' ? hotLifeS : undefined
  const cache = createSharedCache(redis, singleKeys, { ...config, tombstoneS: limits.tombstoneS, lifeS })
  const trust = new Trust(config.trustMs, () => performance.now())
  metrics.onCollect(() => metrics.trustAge.set(trust.ageS()))
  return { redis, keys: singleKeys, cache, trust, trusted: () => trust.holds(cache.connection) }
}

interface CoherenceDeps {
  readonly truth: Truth
  /** Tier 1. */
  readonly local: LocalCopies & {
    learn(code: Code, known: Known, vouched: boolean): void
    expire(code: Code): void
    codes(): Code[]
  }
  readonly vouching: Vouching
  readonly news: News | undefined
  /** Undefined: there is no Redis, and passes keep tier 1 true all the same. */
  readonly shared: Shared | undefined
  readonly breaker: Breaker
  /** What else has to be looked at in this Redis before it is trusted. */
  readonly prepare: () => Promise<void>
  readonly onWipe: () => void
  readonly onGoneBack: (identity: string) => Promise<unknown>
  readonly onDomains: (version: string) => Promise<void>
  /** A pass came to nothing. */
  readonly onMissed: () => void
}

/** Answers whom to tell of a change. */
export function startCoherence({ config, metrics, log, onClose }: Ground, deps: CoherenceDeps): Announcer {
  const { local, vouching, shared } = deps
  const onFailure = (err: unknown): void => log.debug({ err }, 'a pass failed')
  const pass = {
    ...deps,
    nowMs: () => performance.now(),
    onApplied: (ageS: number) => metrics.invalidationDelay.observe(ageS),
    onFailure,
    onWipe(why: string) {
      log.warn({ why }, 'everything about links in Redis is unlinked')
      deps.onWipe()
    },
  }
  const freshener = shared && createFreshener({ ...pass, ...shared })
  const relay = startRelay({
    pass: createPass({ ...pass, freshener }),
    intervalMs: config.relayIntervalMs,
    gapMs: limits.nudgeGapMs,
    onFailure(err) {
      deps.onMissed()
      onFailure(err)
    },
  })
  onClose(relay.stop)
  if (!shared) return announceLocally({ learn: local.learn, amend: local.amend, vouching })

  const { redis } = shared
  redis.subscribe(nudgeChannel, (message) => {
    const code = nudgedCode(message)
    if (code !== undefined) local.expire(code)
    relay.soon()
  })
  const stopChecking = startChecker({
    ...deps,
    ...shared,
    codes: local.codes,
    onStale(code, held, truth) {
      metrics.staleAnswersFound.inc()
      log.error({ code, held: held.version, truth: truth.version }, 'Redis holds a wrong answer and is trusted')
    },
  })
  const counting = setInterval(() => {
    if (redis.ready) estimateHints(redis).then((count) => metrics.negativeCacheKeys.set(count), () => undefined) // prettier-ignore
  }, limits.hintCountEveryMs)
  onClose(() => {
    clearInterval(counting)
    stopChecking()
  })
  return createAnnouncer({
    ...deps,
    ...shared,
    learn: local.learn,
    amend: local.amend,
    timeoutMs: config.redisTimeoutMs,
    publish: (code) => redis.publish(nudgeChannel, JSON.stringify({ code })),
    passSoon: relay.soon,
  })
}

function nudgedCode(message: string): Code | undefined {
  try {
    return parseCodeAt(String((JSON.parse(message) as { code?: unknown }).code))
  } catch {
    return undefined
  }
}

/**
 * How many `ql:v1:404:*` keys there are, without counting them: their share of one page of SCAN (about 1,000 keys; keys
 * lie in it in the order of their hashes, so a page is a fair sample) times the number of all keys.
 */
async function estimateHints(redis: RedisConnection): Promise<number> {
  const [total, sample] = await Promise.all([redis.countKeys(), redis.sampleKeys()])
  if (sample.length === 0) return 0
  const hints = sample.filter((key) => key.startsWith('ql:') && key.includes(':404:')).length
  return Math.round((hints / sample.length) * Math.max(total, sample.length))
}
