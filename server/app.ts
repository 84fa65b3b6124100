// The composition root of one worker: the only file that knows every room. It says who needs whom, in the order in which they
// are opened; what a room is made of stands in its own `open.ts`.
import { createAnswers } from './api/answers.ts'
import { sealedCursors } from './api/cursors.ts'
import { createExportTurns } from './api/export-turns.ts'
import type { Route } from './api/operation.ts'
import { apiRouter, createApi } from './api/router.ts'
import { auditRoutes } from './audit/api.ts'
import { preparation } from './boot.ts'
import { openClicks, openPopularity, openWarmer } from './clicks/open.ts'
import { cacheRoutes } from './coherence/api.ts'
import { openShared, startCoherence, statusOf } from './coherence/open.ts'
import { openStandby } from './coherence/open-standby.ts'
import { createTruth, type Truth } from './coherence/truth.ts'
import { Vouching } from './coherence/vouching.ts'
import { changeSeen, type Config } from './config.ts'
import { nearest } from './connections/nearest.ts'
import { openConnections } from './connections/open.ts'
import { createConsole } from './console/console.ts'
import { openDomains } from './domains/open.ts'
import { proofsBy } from './domains/proof.ts'
import { groundOf, type Ground } from './ground.ts'
import { DatabaseClock } from './hits/database-clock.ts'
import { countersOf, createHitCounters } from './hits/hit-counters.ts'
import { openHits } from './hits/open.ts'
import { openImports } from './imports/open.ts'
import { createPlaces } from './imports/places.ts'
import { linkRoutes } from './links/api.ts'
import { bulkRoutes } from './links/bulk-api.ts'
import { parseDestination } from './links/destination.ts'
import { createExports } from './links/export.ts'
import { createLeash } from './links/search.ts'
import { memberRoutes } from './members/api.ts'
import { oidcPages } from './oidc/pages.ts'
import { openPasswords } from './passwords/open.ts'
import type { App, AppDeps } from './processes/worker.ts'
import { isAtPublicUrl } from './redirect/handler.ts'
import { openDecisions, openDoor, openLadder, openTier1 } from './redirect/open.ts'
import { Sites } from './redirect/sites.ts'
import type { Tier1 } from './redirect/tier1-local.ts'
import { openSessions } from './sessions/api.ts'
import { systemRoutes } from './system/api.ts'
import { authenticator } from './tenants/keys.ts'
import { openTenants } from './tenants/open.ts'
import { createPreviews } from './tenants/previews.ts'
import { statsRoutes } from './visits/api.ts'
import { openVisits } from './visits/open.ts'

export async function startApp(config: Config, deps: AppDeps): Promise<App> {
  const acquired = new AsyncDisposableStack()
  try {
    const app = await compose(groundOf(config, deps, acquired))
    return { ...app, close: () => acquired.disposeAsync() }
  } catch (error) {
    await acquired.disposeAsync()
    throw error
  }
}

async function compose(ground: Ground): Promise<Omit<App, 'close'>> {
  const { config, metrics, log } = ground
  const connections = openConnections(ground)
  const { databases, breakers } = connections
  const minting = ground.boot.then((booted) => preparation(config, log, booted))

  // What is known of links, here and in Redis, and what keeps it true.
  const truth = createTruth(databases.redirects, databases.passes)
  const clock = new DatabaseClock()
  const nowMs = (): number => clock.nowMs()
  const standby = openStandby(ground, { databases, truth, clockMs: nowMs })
  const vouching = new Vouching(changeSeen(config).behindMs)
  const tier1 = openTier1(ground, vouching)
  const shared = sharedWith(ground, connections, { truth, vouching, tier1 })
  const sites = new Sites(config.publicUrl, config.rootUrl, config.trustProxy, config.console === 'on')
  const domains = openDomains(ground, {
    databases,
    partition: shared?.partitions.all[0],
    onList: sites.learn,
    parseTarget: parseDestination,
  })
  const { names } = domains
  const announcer = startCoherence(ground, {
    truth: standby?.inNeed ?? truth,
    news: standby?.news,
    local: tier1,
    vouching,
    shared,
    prepare: async (n) => {
      await Promise.all([shared?.hitCounters.all[n]?.prepare(), n === 0 ? domains.known.keep() : undefined])
    },
    onDomains: (version) => domains.known.heard(version),
    onMissed: () => void domains.known.missed(),
    onWipe: (n) => shared?.warmers.all[n]?.soon(),
    onGoneBack: async (identity) => (await minting).prepare(identity),
  })
  const resolver = openLadder(ground, { tier1, truth, standby, vouching, shared, breakers })

  // What is counted, and what is allowed.
  const visits = openVisits(ground, databases.clicks)
  const clicks = openClicks(ground, { sql: databases.clicks, nowMs, visits, popularity: shared?.popularity })
  const counters = shared && countersOf(shared.hitCounters)
  const hits = openHits(ground, { databases, names, breaker: breakers.postgres, counters, clock, clicks })
  const tenants = openTenants(ground, { databases, shared })
  const { hasher, guard } = openPasswords(ground, { sql: databases.redirects, breaker: breakers.postgres })

  // Who asks: callers of the API, people at the console, visitors.
  const sql = databases.api
  const onTooMany = (): void => metrics.rateLimited.inc({ tier: 'address' })
  const authenticate = authenticator(sql, onTooMany)
  const sessions = openSessions(ground, { sql, authenticate, onTooMany })
  const answers = createAnswers(() => metrics.shed.inc({ reason: 'api_queue' }))
  const places = createPlaces()
  const api = createApi()
  void Promise.all([ground.boot, minting]).then(([{ salt }, preparation]) => {
    sites.identify(proofsBy(salt))
    const cursors = sealedCursors(salt)
    const exportTurns = createExportTurns(config)
    // A Redis that does not answer holds nobody up; one that answers and is behind does.
    const isFresh = (): boolean =>
      performance.now() < vouching.untilMs &&
      (shared?.partitions.all.every(({ cache, trusted }) => !cache.ready || trusted()) ?? true)
    const figures = nearest(sql, databases.near?.figures, () => standby?.state.isFit === true)
    const ofLinks = {
      ...tenants.admission,
      db: sql,
      figures,
      preparation,
      announcer,
      hasher,
      prepareMs: config.apiDbTimeoutMs,
      names,
      leash: createLeash(sql),
      cursors,
      exports: createExports(exportTurns, names),
    }
    const routes: readonly Route[] = [
      ...bulkRoutes(ofLinks),
      ...linkRoutes(ofLinks),
      ...openImports(ground, { ...tenants.admission, databases, preparation, names, cursors, places, isFresh }),
      ...hits.routes,
      ...tenants.routes,
      ...sessions.routes,
      ...memberRoutes({ sql, makeLink: sessions.makeLink, onTooMany }),
      ...domains.routes,
      ...auditRoutes({ sql, names, cursors }),
      ...statsRoutes({ db: sql, figures, names, terms: config, exportTurns }),
      ...cacheRoutes({ sql, truth, announcer, names, peek: tier1.peek, shared, config }),
      ...systemRoutes({ config, ask: ground.askSystem }),
    ]
    const pages = oidcPages(ground, { sql, sessions })
    api.router.use(apiRouter(config, { sql, log, authenticate, sessions, answers, pages, routes }))
  })
  await domains.first()
  const server = await openDoor(ground, {
    decisions: openDecisions(ground, { resolver, nowMs, clicks, hits: hits.quota, guard }),
    sites,
    clicks,
    onVisit: visits?.onVisit,
    shortUrlOf: (code) => names.shown(code).shortUrl,
    mayPreview: createPreviews(config, databases.redirects, breakers.postgres),
    api: api.app,
    console: createConsole(config, { isAtPublicUrl: (req) => isAtPublicUrl(sites, req), sessions }),
    answers,
    places,
  })
  return {
    ...server,
    status: () => ({
      redis: shared ? { breaker: connections.redis?.breaker(), ...statusOf(shared.partitions.all) } : { tier: 'off' },
      postgres: { breaker: breakers.postgres.state, pools: databases.counts() },
      ...(standby ? { replica: standby.state.status() } : {}),
      tier1: { entries: tier1.size },
      flights: resolver.flights,
      domains: Object.fromEntries(Object.entries(sites.proofs()).map(([host, proof]) => [names.baseOf(host), proof])),
      clicks: { pending: clicks.pending, spooled: clicks.spooled },
      hits: { leases: hits.quota.leases },
    }),
  }
}

/** What there is only where there is a Redis. */
function sharedWith(
  ground: Ground,
  { redis, databases }: ReturnType<typeof openConnections>,
  { truth, vouching, tier1 }: { truth: Truth; vouching: Vouching; tier1: Tier1 },
) {
  if (!redis) return undefined
  const shared = openShared(ground, redis, vouching, (code) => popularity.lifeS(code))
  const { partitions } = shared
  const popularity = openPopularity(ground, { sql: databases.clicks, partitions })
  const codes = () => [...popularity.hot(), ...tier1.codes()]
  const warmers = partitions.map((partition, n) => {
    const mine = () => codes().filter((code) => partitions.indexOf(code) === n)
    return openWarmer(ground, { ...partition, truth, codes: mine })
  })
  const hitCounters = partitions.map(({ redis, keys, ask }) => createHitCounters(redis, keys, ask))
  return { ...shared, popularity, warmers, hitCounters }
}
