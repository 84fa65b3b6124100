// The API under /api/v1: authenticated or 401, then the rooms' own routes. The redirect path knows nothing of it.
import { Router } from 'express'
import type { BootResult } from '../boot.ts'
import { limits, type Config } from '../config.ts'
import type { Postgres } from '../connections/postgres.ts'
import { unavailable } from '../errors.ts'
import { subscriberOf } from '../rates/addresses.ts'
import { clientAddress } from '../rates/client-address.ts'
import { linksRouter } from '../links/api.ts'
import type { Announcer } from '../coherence/announce.ts'
import { everyoneAdmitted, type Admission, type Preparation } from '../links/change-link.ts'
import { createSearch } from '../links/search.ts'
import type { TermsOf } from '../links/terms.ts'
import { sparing } from '../telemetry/sparing.ts'
import { authenticator } from '../tenants/keys.ts'
import type { Answers } from './answers.ts'
import { sealedCursors } from './cursors.ts'
import { notFound, nothingWithNul, problemHandler, rememberCaller, type Log } from './http.ts'

export interface ApiDeps {
  readonly config: Config
  readonly log: Log
  readonly sql: Postgres
  readonly boot: BootResult
  readonly preparation: Preparation
  readonly announcer: Announcer
  /** Those that are not yet sent. */
  readonly answers: Pick<Answers, 'begin'>
  /** Rate limit and tenant quota; without it every tenant may create. */
  readonly admission?: Admission
  /** What a tenant's tier promises of a link; without it there is no bound. */
  readonly termsOf?: TermsOf
  /** An address has sent too many keys that are not valid. */
  readonly onGuesser?: () => void
  /** Routes of further rooms, below /api/v1, behind the same authentication. */
  readonly rooms?: readonly Router[]
}

export function apiRouter(deps: ApiDeps): Router {
  const { config, log, sql, announcer } = deps
  const authenticate = authenticator(sql, deps.onGuesser)
  const links = linksRouter({
    db: sql,
    preparation: deps.preparation,
    announcer,
    admission: deps.admission ?? everyoneAdmitted,
    termsOf: deps.termsOf ?? (() => Promise.resolve({ monthlyHits: null, lifeDays: null })),
    prepareMs: config.apiDbTimeoutMs,
    publicUrl: config.publicUrl,
    search: createSearch(sql),
    cursors: sealedCursors(deps.boot.salt),
  })

  const router = Router({ caseSensitive: true })
  router.use((_request, _response, next) => {
    if (sql.counts().waiting >= limits.dbApiQueue) throw unavailable('Too many requests are waiting: try again soon.')
    next()
  })
  router.use(async (request, response, next) => {
    const { authorization, 'x-forwarded-for': said } = request.headers
    const address = (): string =>
      subscriberOf(clientAddress(request.socket.remoteAddress, said?.toString(), config.trustProxy))
    const caller = await authenticate(authorization, address)
    rememberCaller(response, caller)
    deps.answers.begin(response, caller.tenant)
    next()
  })
  router.use(nothingWithNul)
  router.use(links)
  for (const room of deps.rooms ?? []) router.use(room)
  router.use(notFound)
  router.use(problemHandler(sparing(log, limits.strangersLineMs)))
  return router
}
