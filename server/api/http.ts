// What every room's API has in common: who is asking, what was sent, and how an answer or a problem leaves.
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { z } from 'zod'
import { limits } from '../config.ts'
import { isUnavailable } from '../connections/postgres.ts'
import { invalid, QuickLinkError, toProblem, unavailable } from '../errors.ts'
import type { Lines } from '../telemetry/sparing.ts'
import { holdBytes } from './answers.ts'

export interface Caller {
  readonly tenant: string
  /** The owner may see and change every tenant's links. */
  readonly isOwner: boolean
}

export function rememberCaller(response: Response, caller: Caller): void {
  response.locals['caller'] = caller
}

/** Who is asking. All others have been refused before a handler runs. */
export function callerOf(response: Response): Caller {
  return response.locals['caller'] as Caller
}

export const ownerOnly: RequestHandler = (_request, response, next) => {
  if (!callerOf(response).isOwner) throw new QuickLinkError('forbidden', "This needs the owner's key.")
  next()
}

export function sendJson(
  response: Response,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  send(response, status, 'application/json; charset=utf-8', body, headers)
}

function send(response: Response, status: number, type: string, body: unknown, headers: Record<string, string>): void {
  const bytes = Buffer.from(JSON.stringify(body))
  if (status < 400) holdBytes(response, bytes.length)
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': bytes.length,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  })
  write(response, bytes)
}

/** In parts, each when the one before it was taken: so it shows whether the client takes anything. */
function write(response: Response, bytes: Buffer): void {
  const part = bytes.subarray(0, limits.unreadBytes)
  const rest = bytes.subarray(part.length)
  if (rest.length === 0) response.end(part)
  else
    response.write(part, (error) => {
      if (!error) write(response, rest)
    })
}

export function sendNothing(response: Response): void {
  response.writeHead(204, { 'Cache-Control': 'no-store' }).end()
}

/** Put it last on a route, after the methods that it has. */
export const methodNotAllowed =
  (...methods: string[]): RequestHandler =>
  (request) => {
    const allow = methods.join(', ')
    throw new QuickLinkError('method_not_allowed', `${request.method} is not supported here: use ${allow}.`, {
      headers: { Allow: allow },
    })
  }

export const notFound: RequestHandler = () => {
  throw new QuickLinkError('not_found', 'There is nothing at this path.')
}

/** No text in Postgres has a NUL, so nothing has a name with one. (What a query may say, its schema says.) */
export const nothingWithNul: RequestHandler = (request, _response, next) => {
  if (request.path.includes('%00')) throw new QuickLinkError('not_found', 'There is nothing at this path.')
  next()
}

const parseJson = express.json({ limit: limits.bodyBytes, inflate: false })

/** For routes that take a body. Content of another type is refused, not ignored. */
export const jsonBody: RequestHandler[] = [
  (request, _response, next) => {
    if (!request.is('application/json') || request.headers['content-length'] === '0') {
      throw invalid('body', 'The body must be JSON, with "Content-Type: application/json".')
    }
    next()
  },
  parseJson,
]

export const parseBody = <T>(schema: z.ZodType<T>, request: Request): T => parse(schema, request.body, 'body')

export const parseQuery = <T>(schema: z.ZodType<T>, request: Request): T => parse(schema, request.query, 'query')

function parse<T>(schema: z.ZodType<T>, value: unknown, whole: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    const field = (issue.keys[0] ?? '').slice(0, 64)
    throw invalid(field, `${field} is not a field of this request: remove it.`)
  }
  const field = issue?.path.map(String).join('.') || whole
  throw invalid(field, `${field} ${issue?.message ?? 'is not valid'}.`)
}

/** `must be …` for a wrong type, `is missing` where there is nothing. */
export const mustBe = (what: string): { error: (issue: { input?: unknown }) => string } => ({
  error: (issue) => (issue.input === undefined ? 'is missing' : `must be ${what}`),
})

const pageForm = `must be a whole number from 1 to ${limits.pageMax}`

/** What a request for a page of a list says, of so many unless it says otherwise. */
export const pageOf = (items: number) => ({
  limit: z
    .string(mustBe('given once'))
    .regex(/^\d{1,9}$/, pageForm)
    .transform(Number)
    .refine((n) => n >= 1 && n <= limits.pageMax, pageForm)
    .default(items),
  cursor: z.string(mustBe('given once')).optional(),
})

/** For the log: the route that was found, with what the caller named in it, unless that is as long as a key. */
function routeOf(request: Request): string {
  const route = request.route as { path?: unknown } | undefined
  const pattern = request.baseUrl + (typeof route?.path === 'string' ? route.path : '')
  const said = (request.originalUrl.split('?', 1)[0] ?? '').split('/')
  const named = (part: string, i: number): string => {
    const name = said[i] ?? ''
    return part.startsWith(':') && name.length <= limits.loggedName ? name : part
  }
  return pattern.split('/').map(named).join('/')
}

/** Problems leave as problem+json. Their causes go to the log, never to the caller. */
export const problemHandler =
  (log: Lines): ErrorRequestHandler =>
  (error: unknown, request, response, _next) => {
    const translated = translate(error)
    const problem = toProblem(translated)
    const cause = translated instanceof QuickLinkError ? translated.cause : translated
    const where = { err: cause, method: request.method, path: routeOf(request) }
    if (problem.status === 503) log.warn(where, 'the API could not answer for now')
    else if (problem.status >= 500) log.error(where, 'the API failed')
    if (response.headersSent) {
      response.destroy()
      return
    }
    send(response, problem.status, 'application/problem+json', problem.body, { ...problem.headers })
  }

function translate(error: unknown): unknown {
  if (error instanceof QuickLinkError) return error
  // A path that is no valid percent-encoding names nothing.
  if (error instanceof URIError) return new QuickLinkError('not_found', 'There is nothing at this path.')
  const { type } = error as { type?: unknown }
  if (typeof type === 'string') return ofBodyParser(type) ?? error
  return isUnavailable(error) ? unavailable('The database cannot answer at the moment: try again soon.', error) : error
}

function ofBodyParser(type: string): QuickLinkError | undefined {
  if (type === 'entity.too.large') {
    return new QuickLinkError('too_large', `The body must not be larger than ${limits.bodyBytes} bytes.`)
  }
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') {
    return invalid('body', 'The body must be UTF-8 without a Content-Encoding.')
  }
  if (/^(entity|request|stream)\./.test(type)) return invalid('body', 'The body must be a JSON object.')
  return undefined
}
