// The API under /api/v1: its description, and behind a key the rooms' own routes. The redirect path knows nothing of it.
import express, { Router, type Request, type RequestHandler, type Response } from 'express'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import { subscriberOf } from '../rates/addresses.ts'
import { wholeAddress } from '../rates/client-address.ts'
import { Page } from '../redirect/pages.ts'
import type { Sessions } from '../sessions/api.ts'
import { sparing, type Lines } from '../telemetry/sparing.ts'
import type { Authenticate } from '../tenants/keys.ts'
import type { Answers } from './answers.ts'
import { descriptionRouter } from './description.ts'
import { jsonBody, methodNotAllowed, notFound, parseRequest, problemHandler, sendJson, sendNothing } from './http.ts'
import { largeBody } from './large-bodies.ts'
import { sendStream } from './stream.ts'
import { bodyTypes, covers, type Caller, type Operation, type Route } from './operation.ts'

interface ApiDeps {
  readonly sql: Pick<Postgres, 'counts'>
  readonly log: Lines
  readonly authenticate: Authenticate
  readonly sessions: Pick<Sessions, 'cookie' | 'callerOf'>
  /** Those that are not yet sent. */
  readonly answers: Pick<Answers, 'begin'>
  /** What a browser is led to, and no client asks for. */
  readonly pages: Router
  readonly routes: readonly Route[]
}

export function apiRouter({ trustProxy }: Pick<Config, 'trustProxy'>, deps: ApiDeps): Router {
  const { sql, log, answers, pages, routes } = deps
  const router = Router({ caseSensitive: true })
  router.use(descriptionRouter(routes.map(({ operation }) => operation)))
  router.use((_request, _response, next) => {
    if (sql.counts().waiting >= limits.dbApiQueue) throw unavailable('Too many requests are waiting: try again soon.')
    next()
  })
  router.use((request, response, next) => {
    const whole = (): string => wholeAddress(request, trustProxy)
    response.locals['wholeAddress'] = whole
    response.locals['address'] = () => subscriberOf(whole())
    next()
  })
  router.use(pages)
  for (const route of routes) {
    if (route.operation.needs === 'nothing')
      router.route(route.operation.path)[route.operation.method](...handlersOf(route))
  }
  router.use(async (request, response, next) => {
    const caller = await whoAsks(request, addressOf(response), deps)
    response.locals['caller'] = caller
    answers.begin(response, caller.tenant)
    next()
  })
  router.use(routerOf(routes), notFound)
  router.use(problemHandler(sparing(log, limits.strangersLineMs)))
  return router
}

/** By a key, or else by the session of a browser: that may write only from our own pages. */
async function whoAsks(
  request: Request,
  address: () => string,
  { authenticate, sessions: { cookie, callerOf } }: ApiDeps,
): Promise<Caller> {
  const { authorization } = request.headers
  const token = authorization === undefined ? cookie.read(request) : undefined
  const caller = token === undefined ? undefined : await callerOf(token, address)
  if (!caller) return authenticate(authorization, address)
  if (request.method !== 'GET' && request.method !== 'HEAD') cookie.refuseForeign(request)
  return caller
}

/** Who asks, where a key is needed. All others have been refused before a route is looked for. */
const callerOf = (response: Response): Caller => response.locals['caller'] as Caller
const addressOf = (response: Response): (() => string) => response.locals['address'] as () => string

/** Each path with its methods; behind all of them, what is said of other methods. */
export function routerOf(routes: readonly Route[]): Router {
  const router = Router({ caseSensitive: true })
  const paths = Map.groupBy(routes, ({ operation }) => operation.path.replace(/\{(\w+)\}/g, ':$1'))
  for (const [path, ofPath] of paths) {
    const at = router.route(path)
    for (const route of ofPath) at[route.operation.method](...handlersOf(route))
  }
  for (const [path, ofPath] of paths) {
    const has = (method: string): boolean => ofPath.some(({ operation }) => operation.method === method)
    const allowed = ['get', 'head', 'post', 'patch', 'delete'].filter((method) =>
      has(method === 'head' ? 'get' : method),
    )
    router.route(path).all(methodNotAllowed(...allowed.map((method) => method.toUpperCase())))
  }
  return router
}

const handlersOf = ({ operation, handle }: Route): RequestHandler[] => [
  (_request, response, next) => {
    if (operation.needs !== 'nothing') refuseOthers(operation, callerOf(response))
    next()
  },
  ...(operation.body?.bytes === undefined ? [] : [largeBody]),
  ...(operation.body ? jsonBody(bodyTypes(operation), operation.body.bytes) : []),
  async (request, response) => {
    const from = { caller: callerOf(response), address: addressOf(response), request }
    const asked = { ...from, ...originOf(operation, response), ...parseRequest(operation, request) }
    const reply = await handle(asked as Parameters<Route['handle']>[0])
    if (reply && 'parts' in reply) await sendStream(response, reply)
    else if (operation.answer.schema === undefined) sendNothing(response, reply?.headers)
    else sendJson(response, reply?.status ?? operation.answer.status, reply?.body, reply?.headers)
  },
]

/** For the audit log, which has the whole address. */
function originOf({ id: action }: Operation, response: Response) {
  const caller = callerOf(response) as Caller | undefined
  const origin = { action, address: (response.locals['wholeAddress'] as (() => string) | undefined)?.() ?? '' }
  return { origin, by: caller && { ...origin, caller } }
}

function refuseOthers({ needs }: Operation, { role }: Caller): void {
  if (covers(role, needs)) return
  throw new QuickLinkError(
    'forbidden',
    needs === 'owner' ? "This needs the owner's key." : `This needs a key with the role ${needs}.`,
  )
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
  const starting: RequestHandler = (req, res) => apiStarting.send(req, res)
  // Where people look for it.
  const docs: RequestHandler = (req, res, next) => {
    req.url = '/docs'
    router(req, res, next)
  }
  app.all('/api/docs', docs, starting)
  app.use('/api/v1', router, starting)
  app.use((req, res) => noSuchApi.send(req, res))
  return { app, router }
}
