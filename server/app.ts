// The composition root of one worker: the only file that knows every room. What is acquired is released in reverse.
// Long because it is: every room meets the others here, and nowhere else.
import express from 'express'
import { preparation, type BootResult } from './boot.ts'
import type { ClicksReport } from './clicks/books.ts'
import { openClicks, type OpenClicks } from './clicks/open.ts'
import { cacheRouter } from './coherence/api.ts'
import { createTruth } from './coherence/truth.ts'
import { Vouching } from './coherence/vouching.ts'
import { changeSeen, limits, type Config } from './config.ts'
import { Breaker } from './connections/breaker.ts'
import { openDatabases } from './connections/databases.ts'
import { QuickLinkError, unavailable } from './errors.ts'
import { createAnswers } from './api/answers.ts'
import { apiRouter } from './api/router.ts'
import { connectionsCountedAs } from './rates/addresses.ts'
import { isPrivate } from './rates/client-address.ts'
import type { Counters } from './rates/counters.ts'
import { DatabaseClock } from './hits/database-clock.ts'
import { openHits } from './hits/open.ts'
import { openLimits } from './quotas/open.ts'
import type { AbsenceChannel } from './rates/shared-absences.ts'
import { openRedisTier } from './redis-tier.ts'
import { listen, type Listener } from './redirect/listener.ts'
import { Decisions } from './redirect/outcome.ts'
import { Page, smallPages } from './redirect/pages.ts'
import { createResolver } from './redirect/resolve.ts'
import { createTier1 } from './redirect/tier1-local.ts'
import { createTier2, noTier2 } from './redirect/tier2-redis.ts'
import { createTier3 } from './redirect/tier3-postgres.ts'
import type { Log } from './telemetry/log.ts'
import type { Metrics } from './telemetry/metrics.ts'
import { sparing } from './telemetry/sparing.ts'

export interface App extends Pick<Listener, 'port' | 'handle' | 'adopt'> {
  status(): Record<string, unknown>
  /** Stops accepting, finishes what is in flight, flushes, lets go. */
  close(): Promise<void>
}

export interface AppDeps {
  readonly metrics: Metrics
  readonly log: Log
  /** Known once Postgres has been reached; until then the API answers 503, and redirects what Redis knows. */
  readonly boot: Promise<BootResult>
  /** Rate limits in memory, of all workers together; without them this process counts for itself. */
  readonly counters?: Counters
  /** To the count of all workers' absent codes; without it this process counts for itself. */
  readonly absences?: AbsenceChannel
  /** To the books of all workers' clicks; without them this process keeps its own. */
  readonly reportClicks?: (report: ClicksReport) => void
}

const noSuchApi = Page.of(new QuickLinkError('not_found', 'There is no such API: it is under /api/v1.'))
const apiStarting = Page.of(unavailable('The API is not ready: Postgres has not been reached yet.'))

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
  { metrics, log, boot, counters, absences, reportClicks }: AppDeps,
  releases: Release[],
  release: () => Promise<void>,
): Promise<App> {
  const databases = openDatabases(config, (err) => log.debug({ err }, 'a Postgres connection broke'))
  releases.push(databases.close)
  const breakers = {
    redis: openBreaker(config, 'redis', config.breakerOpenMs, metrics, log),
    postgres: openBreaker(config, 'postgres', config.dbBreakerOpenMs, metrics, log),
  }
  releases.push(() => {
    breakers.redis.close()
    breakers.postgres.close()
  })
  const truth = createTruth(databases.redirects, databases.passes)
  const { behindMs, livesMs, graceMs } = changeSeen(config)
  const vouching = new Vouching(behindMs)
  const tier1 = createTier1({
    max: config.localCacheMax,
    freshMs: livesMs,
    graceMs,
    staleMaxMs: config.staleMaxS * 1000,
    trustMs: behindMs,
    vouching,
    nowMs: () => performance.now(),
  })
  metrics.onCollect(() => metrics.vouchedCopies.set(tier1.vouchedSize))
  const minting = boot.then((booted) => preparation(config, log, booted))
  const { telling, coherence, hitCounters, askHits } = openRedisTier(config, {
    metrics,
    log,
    truth,
    local: tier1,
    vouching,
    breaker: breakers.redis,
    clicks: () => clicks,
    minting,
  })
  releases.push(telling.close)

  const tier3 = createTier3({
    truth,
    breaker: breakers.postgres,
    config,
    onBatch: (size) => metrics.dbBatchSize.observe(size),
    onUnanswered: (reason) => {
      if (reason === 'queue_full') metrics.shed.inc({ reason: 'db_queue' })
    },
  })
  const tier2 = coherence
    ? createTier2({
        cache: coherence.cache,
        trust: coherence.trust,
        vouching,
        breaker: breakers.redis,
        config,
        onAgeing: (code) => resolver.refresh(code),
        onFallback: (reason) => metrics.dbFallback.inc({ reason }),
      })
    : noTier2
  const resolver = createResolver({
    tier1,
    tier2,
    tier3,
    vouching,
    askEveryMs: limits.askEveryMs,
    askMostMs: limits.askMostMs,
    random: Math.random,
    nowMs: () => performance.now(),
    onFlight: (source) => metrics.lookups.inc({ source }),
    onSaved: () => metrics.lookupsSaved.inc(),
  })
  const clock = new DatabaseClock()
  const clicks: OpenClicks = openClicks(config, {
    sql: databases.clicks,
    truth,
    coherence,
    askRedis: askHits,
    codes: () => tier1.codes(),
    nowMs: () => clock.nowMs(),
    report: reportClicks,
    metrics,
    log,
  })
  releases.push(() => clicks.stop())
  const hits = openHits(config, {
    redirects: databases.redirects,
    api: databases.api,
    breaker: breakers.postgres,
    counters: hitCounters,
    clock,
    flushClicks: clicks.flush,
    onRejected: () => metrics.hitQuotaRejections.inc(),
    onUngranted: (linkId) => {
      metrics.hitsUngranted.inc()
      clicks.ungranted(linkId)
    },
  })
  releases.push(hits.close)
  metrics.tierConfigured.set({ tier: 'local' }, 1)
  metrics.tierConfigured.set({ tier: 'postgres' }, 1)
  metrics.onCollect(() => {
    const counts = databases.counts()
    for (const state of ['active', 'idle', 'waiting'] as const) metrics.dbPool.set({ state }, counts[state])
  })

  const { admission, termsOf, absentCodes, rooms, ...held } = openLimits(config, {
    sql: databases.limits,
    api: databases.api,
    coherence,
    breaker: breakers.redis,
    counters,
    onRateLimited: (tier) => metrics.rateLimited.inc({ tier }),
    absences,
    onUnheeded: unheeded(metrics, log),
    onQuotaExceeded: () => metrics.tenantQuotaRejections.inc(),
    onError: (err, what) => log.warn({ err }, what),
  })
  releases.push(held.close)
  const saidSparingly = sparing(log, limits.strangersLineMs)
  const decisions = new Decisions({
    resolver,
    nowMs: Date.now,
    clicks,
    hits,
    absentCodes,
    onShed: () => metrics.shed.inc({ reason: 'flights' }),
    onError: (error) => saidSparingly.error({ err: error }, 'a redirect failed'),
  })

  const api = express.Router()
  const answers = createAnswers(() => metrics.shed.inc({ reason: 'api_queue' }))
  const { announcer } = telling
  const cache = cacheRouter({ sql: databases.api, truth, announcer, peek: (code) => tier1.peek(code), coherence })
  void Promise.all([boot, minting]).then(([booted, prepared]) => {
    const onGuesser = (): void => metrics.rateLimited.inc({ tier: 'address' })
    const mine = { answers, onGuesser, admission, termsOf, rooms: [cache, hits.room, ...rooms] }
    api.use(apiRouter({ config, log, sql: databases.api, boot: booted, preparation: prepared, announcer, ...mine }))
  })
  const server = await listen(config, {
    decisions,
    small: smallPages(config.rootUrl),
    clicks,
    api: createApi(api),
    onAnswer: (status, seconds, source) => {
      metrics.redirect(status, seconds)
      if (source === 'local') metrics.localHit()
      else if (source === 'redis') metrics.cacheHit.inc({ tier: 'redis' })
      else if (source !== undefined) metrics.cacheMiss.inc()
    },
    onHandedOver: (reason) => metrics.handovers.inc({ reason }),
    countedAs: connectionsCountedAs(config),
    isCrowded: () => answers.isCrowded,
    onLetGo: () => metrics.shed.inc({ reason: 'connections' }),
    onError: (error) => saidSparingly.error({ err: error }, 'the listener failed'),
  })
  releases.push(server.close)
  return {
    port: server.port,
    handle: server.handle,
    adopt: server.adopt,
    status: () => ({
      redis: coherence
        ? { breaker: breakers.redis.state, ready: coherence.cache.ready, trusted: coherence.trusted() }
        : { tier: 'off' },
      postgres: { breaker: breakers.postgres.state, pools: databases.counts() },
      tier1: { entries: tier1.size },
      flights: resolver.flights,
      clicks: { pending: clicks.pending, spooled: clicks.spooled },
      hits: { leases: hits.leases },
    }),
    close: release,
  }
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

/** A stranger can send the header as well, so it is said once, and only of a peer that may be a proxy of ours. */
function unheeded(metrics: Metrics, log: Log): (peer: string) => void {
  let said = false
  return (peer) => {
    const near = isPrivate(peer)
    metrics.forwardedUnheeded.inc({ peer: near ? 'private' : 'public' })
    if (near && !said) log.warn({ peer }, 'X-Forwarded-For comes from an address that TRUST_PROXY does not name')
    said ||= near
  }
}

function createApi(api: express.Router): express.Express {
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  // As a proxy's rule for /api/ reads it.
  app.enable('case sensitive routing')
  app.use('/api/v1', api, (req, res) => apiStarting.send(req, res))
  app.use((req, res) => noSuchApi.send(req, res))
  return app
}
