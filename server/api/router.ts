// The API under /api/v1: authenticated or 401, then the rooms' own routes. The redirect path knows nothing of it.
import express, { Router } from 'express'
import { limits, type Config } from '../config.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import { subscriberOf } from '../rates/addresses.ts'
import { clientAddress } from '../rates/client-address.ts'
import { Page } from '../redirect/pages.ts'
import { sparing, type Lines } from '../telemetry/sparing.ts'
import type { Authenticate } from '../tenants/keys.ts'
import type { Answers } from './answers.ts'
import { notFound, nothingWithNul, problemHandler, rememberCaller } from './http.ts'

interface ApiDeps {
  readonly sql: Pick<Postgres, 'counts'>
  readonly log: Lines
  readonly authenticate: Authenticate
  /** Those that are not yet sent. */
  readonly answers: Pick<Answers, 'begin'>
  readonly rooms: readonly Router[]
}

export function apiRouter({ trustProxy }: Pick<Config, 'trustProxy'>, deps: ApiDeps): Router {
  const { sql, log, authenticate, answers, rooms } = deps
  const router = Router({ caseSensitive: true })
  router.use((_request, _response, next) => {
    if (sql.counts().waiting >= limits.dbApiQueue) throw unavailable('Too many requests are waiting: try again soon.')
    next()
  })
  router.use(async (request, response, next) => {
    const { authorization, 'x-forwarded-for': said } = request.headers
    const address = (): string =>
      subscriberOf(clientAddress(request.socket.remoteAddress, said?.toString(), trustProxy))
    const caller = await authenticate(authorization, address)
    rememberCaller(response, caller)
    answers.begin(response, caller.tenant)
    next()
  })
  router.use(nothingWithNul, ...rooms, notFound)
  router.use(problemHandler(sparing(log, limits.strangersLineMs)))
  return router
}

const noSuchApi = Page.of(new QuickLinkError('not_found', 'There is no such API: it is under /api/v1.'))
const apiStarting = Page.of(unavailable('The API is not ready: Postgres has not been reached yet.'))

/** All below /api. The router is empty until Postgres has been reached. */
export function createApi(): { app: express.Express; router: Router } {
  const app = express()
  const router = Router()
  app.disable('x-powered-by')
  app.set('etag', false)
  // As a proxy's rule for /api/ reads it.
  app.enable('case sensitive routing')
  app.use('/api/v1', router, (req, res) => apiStarting.send(req, res))
  app.use((req, res) => noSuchApi.send(req, res))
  return { app, router }
}
