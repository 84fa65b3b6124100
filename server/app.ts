// The composition root of one worker: the only file that knows every room. What is acquired is released in reverse.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import type { BootResult } from './boot.ts'
import { startClicks } from './clicks/counter.ts'
import { createAnnouncer } from './coherence/announce.ts'
import { createPass } from './coherence/pass.ts'
import { startRelay } from './coherence/relay.ts'
import { nudgeChannel } from './coherence/schema.ts'
import { createSharedCache } from './coherence/shared-cache.ts'
import { Trust } from './coherence/trust.ts'
import { createTruth, type Truth } from './coherence/truth.ts'
import { limits, type Config } from './config.ts'
import { Breaker } from './connections/breaker.ts'
import { openPostgres } from './connections/postgres.ts'
import { openRedis } from './connections/redis.ts'
import { unavailable } from './errors.ts'
import { parseCode, type Code } from './link.ts'
import { apiRouter } from './api/router.ts'
import { createRedirectHandler, type RedirectHandler } from './redirect/handler.ts'
import { answerProblem } from './redirect/pages.ts'
import { createResolver } from './redirect/resolve.ts'
import { createTier1, type Tier1 } from './redirect/tier1-local.ts'
import { createTier2, noTier2 } from './redirect/tier2-redis.ts'
import { createTier3 } from './redirect/tier3-postgres.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'

export interface App {
  readonly port: number
  status(): Record<string, unknown>
  /** Stops accepting, finishes what is in flight, flushes, lets go. */
  close(): Promise<void>
}

export interface AppDeps {
  readonly metrics: Metrics
  readonly log: Log
  /** Known once Postgres has been reached; until then the API answers 503, and redirects what Redis knows. */
  readonly boot: Promise<BootResult>
}

const apiStarting = unavailable('The API is not ready: Postgres has not been reached yet.')

type Release = () => Promise<void> | void

export async function startApp(config: Config, deps: AppDeps): Promise<App> {
  const releases: Release[] = []
  const release = async (): Promise<void> => {
    for (const undo of releases.reverse()) await undo()
  }
  try {
    return await compose(config, deps, releases, release)
  } catch (error) {
    await release()
    throw error
  }
}

async function compose(
  config: Config,
  { metrics, log, boot }: AppDeps,
  releases: Release[],
  release: () => Promise<void>,
): Promise<App> {
  const databases = openDatabases(config, metrics, log)
  releases.push(databases.close)
  const truth = createTruth(databases.redirects, databases.passes)
  const tier1 = createTier1({
    max: config.localCacheMax,
    freshMs: config.localCacheTtlMs,
    staleMaxMs: config.staleMaxS * 1000,
    trustMs: config.trustMs,
    nowMs: () => performance.now(),
  })
  const shared = openSharedTier(config, metrics, log, truth, tier1)
  releases.push(shared.close)

  const tier3 = createTier3({
    truth,
    breaker: databases.breaker,
    config,
    onBatch: (size) => {
      metrics.dbBatchSize.observe(size)
    },
    onUnanswered: (reason) => {
      if (reason === 'queue_full') metrics.shed.inc({ reason: 'db_queue' })
    },
  })
  const tier2 = shared.tier2((code) => {
    resolver.refresh(code)
  })
  const resolver = createResolver({
    tier1,
    tier2,
    tier3,
    nowMs: () => performance.now(),
    onFlight: (source) => {
      metrics.lookups.inc({ source })
    },
  })
  const clicks = startClicks({
    sql: databases.api,
    everyMs: 1000,
    maxLinks: limits.clickLinks,
    onAccepted: (n) => {
      metrics.clicksAccepted.inc(n)
    },
    onPersisted: (n) => {
      metrics.clicksPersisted.inc(n)
    },
    onDropped: (n) => {
      metrics.clicksDropped.inc(n)
    },
  })
  releases.push(() => clicks.stop())
  metrics.onCollect(() => {
    metrics.clicksSpooled.set(clicks.pending)
  })

  const redirects = createRedirectHandler({
    resolver,
    nowMs: Date.now,
    countClick: (link) => {
      clicks.count(link.id)
    },
    onAnswer: (status, seconds, source) => {
      metrics.redirect(status, seconds)
      if (source === 'local') metrics.localHit()
      else if (source === 'redis') metrics.cacheHit.inc({ tier: 'redis' })
      else if (source !== undefined) metrics.cacheMiss.inc()
    },
    onShed: () => {
      metrics.shed.inc({ reason: 'flights' })
    },
  })

  const api = express.Router()
  void boot.then((booted) => {
    api.use(apiRouter({ config, log, sql: databases.api, boot: booted, announcer: shared.announcer }))
  })
  const server = await listen(config, redirects, api, log)
  releases.push(server.close)
  return {
    port: server.port,
    status: () => ({
      redis: shared.status(),
      postgres: { breaker: databases.breaker.state, pools: databases.counts() },
      tier1: { entries: tier1.size },
      flights: resolver.flights,
      clicks: { pending: clicks.pending },
    }),
    close: release,
  }
}

/** Pools of their own: the API cannot starve redirects, and neither of them the passes. */
function openDatabases(config: Config, metrics: Metrics, log: Log) {
  const open = (name: string, maxConnections: number, queryMs: number) =>
    openPostgres({
      url: config.databaseUrl,
      name: `quicklink-${name}`,
      maxConnections,
      connectMs: limits.dbConnectMs,
      queryMs,
      onError: (error) => {
        log.debug({ err: error }, 'a Postgres connection broke')
      },
    })
  const redirects = open('redirects', limits.dbRedirectConnections, config.dbTimeoutMs)
  const api = open('api', limits.dbApiConnections, config.apiDbTimeoutMs)
  const passes = open('passes', 1, limits.passStepMs)
  const breaker = openBreaker(config, 'postgres', config.dbBreakerOpenMs, metrics, log)
  const counts = (): { active: number; idle: number; waiting: number } =>
    [redirects, api, passes]
      .map((pool) => pool.counts())
      .reduce((a, b) => ({ active: a.active + b.active, idle: a.idle + b.idle, waiting: a.waiting + b.waiting }))
  metrics.onCollect(() => {
    for (const [state, count] of Object.entries(counts())) metrics.dbPool.set({ state: state as 'active' }, count)
  })
  metrics.tierConfigured.set({ tier: 'local' }, 1)
  metrics.tierConfigured.set({ tier: 'postgres' }, 1)
  const close = async (): Promise<void> => {
    breaker.close()
    await Promise.all([redirects.close(), api.close(), passes.close()])
  }
  return { redirects, api, passes, breaker, counts, close }
}

function openBreaker(
  config: Config,
  dependency: 'redis' | 'postgres',
  openMs: number,
  metrics: Metrics,
  log: Log,
): Breaker {
  metrics.breaker(dependency, 'closed')
  return new Breaker({
    failures: config.breakerFailures,
    windowMs: config.breakerWindowMs,
    openMs,
    onState: (state) => {
      metrics.breaker(dependency, state)
      log.info({ dependency, state }, `the breaker of ${dependency} is ${state.replace('_', ' ')}`)
    },
  })
}

/** Redis and everything that keeps it honest; without one, a tier that never knows. */
function openSharedTier(config: Config, metrics: Metrics, log: Log, truth: Truth, tier1: Tier1) {
  const breaker = openBreaker(config, 'redis', config.breakerOpenMs, metrics, log)
  if (!config.redisUrl && !config.redisSentinels) {
    const off = createAnnouncer({ learn: tier1.learn, cache: undefined, breaker, timeoutMs: 0, ...noNudges })
    return {
      announcer: off,
      tier2: () => noTier2,
      status: () => ({ tier: 'off' }),
      close: () => {
        breaker.close()
      },
    }
  }
  metrics.tierConfigured.set({ tier: 'redis' }, 1)
  const redis = openRedis(config, {
    onError: (error) => {
      log.debug({ err: error }, 'a Redis connection broke')
    },
    onCommand: (command, seconds) => {
      metrics.redisCommandDuration.observe({ command }, seconds)
    },
  })
  const cache = createSharedCache(redis, { ...config, tombstoneS: limits.tombstoneS })
  const trust = new Trust(config.trustMs, () => performance.now())
  const relay = startRelay({
    pass: createPass({
      cache,
      truth,
      local: tier1,
      trust,
      nowMs: () => performance.now(),
      onApplied: (ageS) => {
        metrics.invalidationDelay.observe(ageS)
      },
      onWipe: (why) => {
        log.warn({ why }, `the contents of Redis are unlinked: ${why}`)
      },
    }),
    intervalMs: config.relayIntervalMs,
    gapMs: limits.nudgeGapMs,
    onFailure: (error) => {
      log.debug({ err: error }, 'a pass failed')
    },
  })
  redis.subscribe(nudgeChannel, (message) => {
    const code = nudgedCode(message)
    if (code !== undefined) tier1.expire(code)
    relay.soon()
  })
  const announcer = createAnnouncer({
    learn: tier1.learn,
    cache,
    breaker,
    timeoutMs: config.redisTimeoutMs,
    publish: (code) => redis.publish(nudgeChannel, JSON.stringify({ code })),
    passSoon: relay.soon,
  })
  metrics.onCollect(() => {
    metrics.trustAge.set(trust.ageS())
  })
  return {
    announcer,
    tier2: (onAgeing: (code: Code) => void) =>
      createTier2({
        cache,
        trust,
        breaker,
        config,
        onAgeing,
        onFallback: (reason) => {
          metrics.dbFallback.inc({ reason })
        },
      }),
    status: () => ({ tier: 'on', breaker: breaker.state, ready: cache.ready, trusted: trust.holds(cache.connection) }),
    async close() {
      await relay.stop()
      redis.close()
      breaker.close()
    },
  }
}

const noNudges = { publish: () => Promise.resolve(), passSoon: () => undefined }

function nudgedCode(message: string): Code | undefined {
  try {
    return parseCode(String((JSON.parse(message) as { code?: unknown }).code))
  } catch {
    return undefined
  }
}

async function listen(config: Config, redirects: RedirectHandler, api: express.Router, log: Log) {
  const pages = express()
  pages.disable('x-powered-by')
  pages.set('etag', false)
  pages.use('/api/v1', api)
  pages.use('/api', (req, res) => {
    answerProblem(req, res, apiStarting)
  })
  pages.use((req, res) => redirects.handle(req, res))

  let draining = false
  const server = createServer((req, res) => {
    if (draining) res.setHeader('Connection', 'close')
    if (!redirects.tryLocal(req, res)) pages(req, res)
  })
  server.keepAliveTimeout = limits.keepAliveMs
  server.headersTimeout = limits.headersMs
  server.requestTimeout = limits.requestMs
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(config.port, config.host, resolve)
  })
  server.on('error', (error) => {
    log.error({ err: error }, 'the server failed')
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      draining = true
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeIdleConnections()
      const stragglers = setTimeout(() => {
        server.closeAllConnections()
      }, limits.drainMs)
      await closed
      clearTimeout(stragglers)
    },
  }
}
