// The composition root of one worker: the only file that knows every room. What is acquired is released in reverse.
// Long because every room is put together here, each in a few lines.
import { createAnswers } from './api/answers.ts'
import { sealedCursors } from './api/cursors.ts'
import { createExportTurns } from './api/export-turns.ts'
import { apiRouter, createApi } from './api/router.ts'
import { auditRoutes } from './audit/api.ts'
import { preparation } from './boot.ts'
import { Clicks } from './clicks/clicks.ts'
import { Popularity } from './clicks/popularity.ts'
import { Warmer } from './clicks/warm.ts'
import { cacheRoutes } from './coherence/api.ts'
import { startCoherence } from './coherence/open.ts'
import { createSharedCache } from './coherence/shared-cache.ts'
import { Trust } from './coherence/trust.ts'
import { createTruth, type Truth } from './coherence/truth.ts'
import { Vouching } from './coherence/vouching.ts'
import { changeSeen, type Config } from './config.ts'
import { limits } from './limits.ts'
import { createConsole } from './console/console.ts'
import { Breaker, type BreakerState } from './connections/breaker.ts'
import { Unverified } from './connections/certificates.ts'
import { openDatabases } from './connections/databases.ts'
import type { Sql } from './connections/postgres.ts'
import { openRedis } from './connections/redis.ts'
import { DatabaseClock } from './hits/database-clock.ts'
import { createHitCounters } from './hits/hit-counters.ts'
import { openHits } from './hits/open.ts'
import { askRedis } from './connections/ask-redis.ts'
import type { Code } from './link.ts'
import { openDomains } from './domains/open.ts'
import { proofsBy } from './domains/proof.ts'
import { openImports, type Imports } from './imports/open.ts'
import { createPlaces } from './imports/places.ts'
import { linkRoutes } from './links/api.ts'
import { parseDestination } from './links/destination.ts'
import { bulkRoutes } from './links/bulk-api.ts'
import { createExports } from './links/export.ts'
import { createLeash } from './links/search.ts'
import type { App, AppDeps } from './processes/worker.ts'
import { memberRoutes } from './members/api.ts'
import { oidcPages } from './oidc/pages.ts'
import { createGuard } from './passwords/guard.ts'
import { Hasher } from './passwords/hasher.ts'
import { createAbsentCodes } from './rates/absent-codes.ts'
import { connectionsCountedAs } from './rates/addresses.ts'
import { createAsides } from './redirect/asides.ts'
import { countersBy, countInMemory, insured } from './rates/counters.ts'
import { listen } from './redirect/listener.ts'
import { Decisions } from './redirect/outcome.ts'
import { createResolver } from './redirect/resolve.ts'
import { Sites } from './redirect/sites.ts'
import { createTier1, type Tier1 } from './redirect/tier1-local.ts'
import { createTier2, noTier2 } from './redirect/tier2-redis.ts'
import { createTier3 } from './redirect/tier3-postgres.ts'
import { isAtPublicUrl } from './redirect/handler.ts'
import { openSessions, type Sessions } from './sessions/api.ts'
import type { FormStatus } from './telemetry/metrics.ts'
import { sparing } from './telemetry/sparing.ts'
import { systemRoutes } from './system/api.ts'
import { authenticator } from './tenants/keys.ts'
import { openVisits } from './visits/open.ts'
import { createPreviews } from './tenants/previews.ts'
import { openTenants } from './tenants/open.ts'
import { statsRoutes } from './visits/api.ts'
import { foldVisits } from './visits/fold.ts'

export async function startApp(config: Config, deps: AppDeps): Promise<App> {
  await using acquired = new AsyncDisposableStack()
  const app = await compose(config, deps, acquired)
  const kept = acquired.move()
  return { ...app, close: () => kept.disposeAsync() }
}

async function compose(config: Config, deps: AppDeps, acquired: AsyncDisposableStack): Promise<Omit<App, 'close'>> {
  const { metrics, log, boot } = deps
  const nowMs = (): number => performance.now()
  const strangers = sparing(log, limits.strangersLineMs)
  const troubles = sparing(log, limits.troubleLineMs)
  const once = sparing(log, Infinity)

  // Postgres, and what is known of codes in this process.
  const databases = openDatabases(config, (err) => log.debug({ err }, 'a Postgres connection broke'))
  acquired.defer(databases.close)
  const breakerOf = (dependency: 'redis' | 'postgres', openMs: number): Breaker => {
    const onState = (state: BreakerState): void => {
      metrics.breaker(dependency, state)
      log.info({ dependency, state }, `the breaker of ${dependency} is ${state.replace('_', ' ')}`)
    }
    metrics.breaker(dependency, 'closed')
    const { breakerFailures: failures, breakerWindowMs: windowMs } = config
    const breaker = new Breaker({ failures, windowMs, openMs, onState })
    acquired.defer(() => breaker.shutdown())
    return breaker
  }
  const breakers = {
    redis: breakerOf('redis', config.breakerOpenMs),
    postgres: breakerOf('postgres', config.dbBreakerOpenMs),
  }
  const minting = boot.then((booted) => preparation(config, log, booted))
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
    nowMs,
  })

  // Redis, where there is one: everybody who asks it has this connection.
  const shared = openShared(config, deps, { sql: databases.clicks, breaker: breakers.redis, truth, tier1 })
  acquired.defer(() => shared?.redis.close())

  // Which domains there are.
  const sites = new Sites(config.publicUrl, config.rootUrl, config.trustProxy, config.console === 'on')
  const domains = openDomains(config, {
    databases,
    redis: shared?.redis,
    onList: sites.learn,
    parseTarget: parseDestination,
  })
  const { names } = domains
  const coherence = startCoherence(config, {
    truth,
    local: tier1,
    vouching,
    shared,
    breaker: breakers.redis,
    metrics,
    log,
    prepare: async () => {
      await Promise.all([shared?.hitCounters.prepare(), domains.known.keep()])
    },
    onDomains: (version) => domains.known.heard(version),
    onMissed: () => void domains.known.missed(),
    onWipe(why) {
      log.warn({ why }, 'everything about links in Redis is unlinked')
      shared?.warmer.soon()
    },
    onGoneBack: async (identity) => (await minting).prepare(identity),
  })
  acquired.defer(coherence.stop)

  // The ladder.
  const tier3 = createTier3({
    truth,
    breaker: breakers.postgres,
    config,
    onBatch: (size) => metrics.dbBatchSize.observe(size),
    onUnanswered: (reason) => {
      if (reason === 'queue_full') metrics.shed.inc({ reason: 'db_queue' })
    },
  })
  const tier2 = shared
    ? createTier2({
        ...shared,
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
    nowMs,
    onFlight: (source) => metrics.lookups.inc({ source }),
    onSaved: () => metrics.lookupsSaved.inc(),
  })

  // What is counted, and what is allowed.
  const clock = new DatabaseClock()
  const visits = openVisits(config, {
    sql: databases.clicks,
    onFolded(detailed, weighted, dropped, seconds) {
      metrics.visits.detailed.inc(detailed)
      metrics.visits.weighted.inc(weighted)
      metrics.visits.ringDropped.inc(dropped)
      metrics.visits.seconds.inc(seconds)
    },
    onError: (err, what) => troubles.warn({ err }, what),
  })
  acquired.defer(() => visits?.stop())
  const clicks = new Clicks(config, {
    sql: databases.clicks,
    nowMs: () => clock.nowMs(),
    report: deps.reportClicks,
    visits: visits?.fold,
    foldVisits: foldVisits(config.visitsTz),
    onUntold: (untold) => metrics.visits.untold.inc(untold),
    onPersisted: (batches) => shared?.popularity.note(batches),
    onDamaged: (lines) => {
      metrics.spoolDamaged.inc(lines)
      log.warn({ lines }, 'batches of the click spool were torn or damaged, and are skipped')
    },
    onError: (err, what) => troubles.warn({ err }, what),
  })
  acquired.defer(() => clicks.stop())
  acquired.defer(() => shared?.popularity.stop())
  acquired.defer(() => shared?.warmer.stop())
  const hits = openHits(config, {
    redirects: databases.redirects,
    api: databases.api,
    names,
    breaker: breakers.postgres,
    counters: shared?.hitCounters,
    clock,
    flushClicks: () => clicks.flush(),
    onRejected: () => metrics.hitQuotaRejections.inc(),
    onUngranted: (linkId) => {
      metrics.hitsUngranted.inc()
      clicks.ungranted(linkId)
    },
  })
  acquired.defer(hits.close)
  const tenants = openTenants(config, {
    ...deps,
    databases,
    shared,
    breaker: breakers.redis,
    onRateLimited: (tier) => metrics.rateLimited.inc({ tier }),
    onQuotaExceeded: () => metrics.tenantQuotaRejections.inc(),
    onError: (err, what) => log.warn({ err }, what),
  })
  acquired.defer(tenants.close)
  const absentCodes = createAbsentCodes(config, {
    channel: deps.absences,
    nowMs: Date.now,
    onBlocked: () => metrics.rateLimited.inc({ tier: 'address' }),
    onUnheeded(peer, is) {
      metrics.forwardedUnheeded.inc({ peer: is })
      if (is === 'private') once.warn({ peer }, 'X-Forwarded-For comes from an address that TRUST_PROXY does not name')
    },
  })

  // Passwords of links.
  const hasher = new Hasher()
  acquired.defer(() => hasher.close())
  const guard = createGuard({
    sql: databases.redirects,
    breaker: breakers.postgres,
    counters: insured(countersBy(deps.guesses), countersBy(countInMemory(limits.guessWindowS, limits.guessers))),
    hasher,
    config,
    onBlocked: () => metrics.rateLimited.inc({ tier: 'address' }),
  })

  // Who asks: visitors, and callers of the API.
  const decisions = new Decisions({
    resolver,
    // A link ends by one clock for all processes, whatever their machines say: see the drill clock-jumps.
    nowMs: () => clock.nowMs(),
    clicks,
    hits: hits.quota,
    absentCodes,
    guard,
    onShed: () => metrics.shed.inc({ reason: 'flights' }),
    onEnded: () => metrics.endedRedirects.inc(),
    onError: (err) => strangers.error({ err }, 'a redirect failed'),
  })
  const api = createApi()
  let sessions: Sessions | undefined
  const places = createPlaces()
  let imports: Imports | undefined
  acquired.defer(() => imports?.stop())
  const answers = createAnswers(() => metrics.shed.inc({ reason: 'api_queue' }))
  void Promise.all([boot, minting]).then(([{ salt }, preparation]) => {
    sites.identify(proofsBy(salt))
    const sql = databases.api
    const { announcer } = coherence
    const cursors = sealedCursors(salt)
    imports = openImports(config, {
      databases,
      ...tenants.admission,
      preparation,
      names,
      cursors,
      places,
      // A Redis that does not answer holds nobody up; one that answers and is behind does.
      isFresh: () => nowMs() < vouching.untilMs && (shared?.cache.ready !== true || shared.trusted()),
      onTrouble: (err, what) => troubles.warn({ err }, what),
    })
    const exportTurns = createExportTurns(config)
    const ofLinks = {
      db: sql,
      preparation,
      announcer,
      hasher,
      ...tenants.admission,
      prepareMs: config.apiDbTimeoutMs,
      names,
      leash: createLeash(sql),
      cursors,
      exports: createExports(exportTurns, names),
    }
    const links = [...bulkRoutes(ofLinks), ...linkRoutes(ofLinks)]
    const audit = auditRoutes({ sql, names, cursors })
    const stats = statsRoutes({ db: sql, names, terms: config, exportTurns })
    const cache = cacheRoutes({ sql, truth, announcer, names, peek: tier1.peek, shared, config })
    const onTooMany = (): void => metrics.rateLimited.inc({ tier: 'address' })
    const authenticate = authenticator(sql, onTooMany)
    sessions = openSessions(config, {
      sql,
      authenticate,
      onTooMany,
      onRefused: (address) => strangers.warn({ address }, 'somebody tried to sign in with a key that does not work'),
    })
    const pages = oidcPages(config, {
      sql,
      sessions,
      onRefused: (why) => strangers.warn(why, 'somebody was not let in by the identity provider'),
      onUnable: (why) => troubles.warn(why, 'nobody can sign in by the identity provider'),
    })
    const members = memberRoutes({ sql, makeLink: sessions.makeLink, onTooMany })
    api.router.use(
      apiRouter(config, {
        sql,
        log,
        authenticate,
        sessions,
        answers,
        pages,
        routes: [
          ...links,
          ...imports.routes,
          ...hits.routes,
          ...tenants.routes,
          ...sessions.routes,
          ...members,
          ...domains.routes,
          ...audit,
          ...stats,
          ...cache,
          ...systemRoutes({ config, ask: deps.askSystem }),
        ],
      }),
    )
  })
  await domains.first()
  const server = await listen(config, {
    decisions,
    sites,
    clicks,
    onVisit: visits?.onVisit,
    asides: createAsides({
      decisions,
      shortUrlOf: (code) => names.shown(code).shortUrl,
      mayPreview: createPreviews(config, databases.redirects, breakers.postgres),
      onError: (err) => strangers.error({ err }, 'what is told beside a redirect failed'),
    }),
    api: api.app,
    console: createConsole(config, { isAtPublicUrl: (req) => isAtPublicUrl(sites, req), sessions: () => sessions }),
    onAnswer: (status, seconds, source) => {
      metrics.redirect(status, seconds)
      if (source === 'local') metrics.localHit()
      else if (source === 'redis') metrics.cacheHit.inc({ tier: 'redis' })
      else if (source !== undefined) metrics.cacheMiss.inc()
    },
    onForm: (status) => metrics.passwordForms.inc({ status: String(status) as FormStatus }),
    onHandedOver: (reason) => metrics.handovers.inc({ reason }),
    countedAs: connectionsCountedAs(config),
    isCrowded: () => answers.isCrowded,
    hasOwnBounds: places.isComing,
    onLetGo: () => metrics.shed.inc({ reason: 'connections' }),
    onError: (err) => strangers.error({ err }, 'the listener failed'),
  })
  acquired.defer(server.close)

  for (const tier of ['local', 'postgres'] as const) metrics.tierConfigured.set({ tier }, 1)
  if (shared) metrics.tierConfigured.set({ tier: 'redis' }, 1)
  metrics.onCollect(() => {
    metrics.vouchedCopies.set(tier1.vouchedSize)
    if (shared) metrics.trustAge.set(shared.trust.ageS())
    metrics.clicksSpooled.set(clicks.spooled)
    metrics.spoolAge.set(clicks.spoolAgeS)
    const counts = databases.counts()
    for (const state of ['active', 'idle', 'waiting'] as const) metrics.dbPool.set({ state }, counts[state])
  })
  return {
    port: server.port,
    handle: server.handle,
    adopt: server.adopt,
    status: () => ({
      redis: shared
        ? { breaker: breakers.redis.state, ready: shared.cache.ready, trusted: shared.trusted() }
        : { tier: 'off' },
      postgres: { breaker: breakers.postgres.state, pools: databases.counts() },
      tier1: { entries: tier1.size },
      flights: resolver.flights,
      domains: Object.fromEntries(Object.entries(sites.proofs()).map(([host, proof]) => [names.baseOf(host), proof])),
      clicks: { pending: clicks.pending, spooled: clicks.spooled },
      hits: { leases: hits.quota.leases },
    }),
  }
}

function openShared(
  config: Config,
  { metrics, log }: AppDeps,
  { sql, breaker, truth, tier1 }: { sql: Sql; breaker: Breaker; truth: Truth; tier1: Tier1 },
) {
  if (!config.redisUrl && !config.redisSentinels) return undefined
  const troubles = sparing(log, limits.troubleLineMs)
  const redis = openRedis(config, {
    onError: (err) =>
      err instanceof Unverified
        ? troubles.warn({ err }, 'Redis is not spoken to')
        : log.debug({ err }, 'a Redis connection broke'),
    onCommand: (command, seconds) => metrics.redisCommandDuration.observe({ command }, seconds),
  })
  const ask = askRedis(redis, breaker, config.redisTimeoutMs)
  const popularity = new Popularity(config, { sql, redis, ask })
  const lifeS = config.dynamicTtl === 'on' ? (code: Code) => popularity.lifeS(code) : undefined
  const cache = createSharedCache(redis, { ...config, tombstoneS: limits.tombstoneS, lifeS })
  const trust = new Trust(config.trustMs, () => performance.now())
  const trusted = (): boolean => trust.holds(cache.connection)
  const codes = (): Code[] => [...popularity.hot(), ...tier1.codes()]
  const onWarmed = (links: number): void => log.info({ links }, 'Redis was empty and has the most wanted links again')
  const warmer = new Warmer({ cache, truth, trusted, codes, onWarmed })
  return { redis, cache, trust, trusted, popularity, warmer, hitCounters: createHitCounters(redis, ask) }
}
