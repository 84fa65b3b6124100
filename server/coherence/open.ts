// What keeps this process and its Redis true: passes, word of a change, and a look whether the promise holds.
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import { askRedis, type AskRedis } from '../connections/ask-redis.ts'
import type { RedisPartition, SharedRedis } from '../connections/open.ts'
import type { Partitions } from '../connections/partitions.ts'
import type { RedisConnection } from '../connections/redis.ts'
import { parseCodeAt, type Code, type Known } from '../link.ts'
import { announceLocally, createAnnouncer, type Announcer } from './announce.ts'
import { sparing } from '../telemetry/sparing.ts'
import { startChecker } from './checker.ts'
import { createFreshener } from './freshen.ts'
import { createFresheners } from './fresheners.ts'
import type { News } from './news.ts'
import { createPass, type LocalCopies } from './pass.ts'
import { startRelay } from './relay.ts'
import { nudgeChannel } from '../redis-keys.ts'
import { createSharedCache, type SharedCache } from './shared-cache.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'
import { Landing, type Vouching } from './vouching.ts'

/** What is shared in one Redis, or in one partition of a cluster: what is known of codes there, and whether it is proved fresh. */
export interface Partition extends RedisPartition {
  /** For limits. */
  readonly ask: AskRedis
  readonly cache: SharedCache
  readonly trust: Trust
  readonly landing: Landing
  trusted(): boolean
}

export interface Shared extends Pick<SharedRedis, 'nodes' | 'publish' | 'subscribe'> {
  readonly partitions: Partitions<Partition>
}

/** `hotLifeS`: of a link that is hot, for which DYNAMIC_TTL has another life. */
export function openShared(
  { config, metrics }: Ground,
  redis: SharedRedis,
  vouching: Vouching,
  hotLifeS: (code: Code) => number | undefined,
): Shared {
  const lifeS = config.dynamicTtl === 'on' ? hotLifeS : undefined
  const partitions = redis.partitions.map((part): Partition => {
    const cache = createSharedCache(part.redis, part.keys, { ...config, tombstoneS: limits.tombstoneS, lifeS })
    const trust = new Trust(config.trustMs, () => performance.now())
    const ask = askRedis(part.redis, part.breaker, config.redisTimeoutMs)
    return { ...part, ask, cache, trust, landing: new Landing(vouching), trusted: () => trust.holds(cache.connection) }
  })
  metrics.onCollect(() => metrics.trustAge.set(Math.max(...partitions.all.map(({ trust }) => trust.ageS()))))
  return { ...redis, partitions }
}

/** Of a cluster, what holds for all of it; and how many partitions are not trusted. */
export function statusOf(partitions: readonly Partition[]) {
  const untrusted = partitions.filter((partition) => !partition.trusted()).length
  return {
    ready: partitions.every(({ cache }) => cache.ready),
    trusted: untrusted === 0,
    ...(partitions.length > 1 ? { partitions: partitions.length, untrusted } : {}),
  }
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
  /** What else has to be looked at in a partition before it is trusted. */
  readonly prepare: (partition: number) => Promise<void>
  readonly onWipe: (partition: number) => void
  readonly onGoneBack: (identity: string) => Promise<unknown>
  readonly onDomains: (version: string) => Promise<void>
  /** A pass came to nothing. */
  readonly onMissed: () => void
}

/** Answers whom to tell of a change. */
export function startCoherence({ config, metrics, log, onClose }: Ground, deps: CoherenceDeps): Announcer {
  const { local, vouching, shared } = deps
  // Of a cluster that came back empty, one line for all partitions.
  const wipes = sparing(log, limits.troubleLineMs)
  const onFailure = (err: unknown): void => log.debug({ err }, 'a pass failed')
  const pass = {
    ...deps,
    nowMs: () => performance.now(),
    onApplied: (ageS: number) => metrics.invalidationDelay.observe(ageS),
    onFailure,
  }
  const freshener =
    shared &&
    createFresheners(shared.partitions, deps.truth, (partition, truth, index) =>
      createFreshener({
        ...pass,
        ...partition,
        truth,
        prepare: () => deps.prepare(index),
        onWipe(why) {
          wipes.warn({ why }, 'everything about links in Redis is unlinked')
          deps.onWipe(index)
        },
      }),
    )
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

  shared.subscribe(nudgeChannel, (message) => {
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
    const counts = Promise.all(shared.nodes().map(estimateHints))
    counts.then((all) => metrics.negativeCacheKeys.set(all.reduce((a, b) => a + b, 0)), () => undefined) // prettier-ignore
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
    publish: (code) => shared.publish(nudgeChannel, JSON.stringify({ code })),
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
