// What every room's API has in common: who is asking, what was sent, and how an answer or a problem leaves.
import express, { type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express'
import { z } from 'zod'
import { limits } from '../limits.ts'
import { isUnavailable } from '../connections/postgres.ts'
import { invalid, QuickLinkError, toProblem, unavailable } from '../errors.ts'
import type { Lines } from '../telemetry/sparing.ts'
import { holdBytes } from './answers.ts'
import type { Operation } from './operation.ts'

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

export function sendNothing(response: Response, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(204, { 'Cache-Control': 'no-store', ...headers }).end()
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

/** For routes that take a body. Content of another type is refused, not ignored. */
export const jsonBody = (types: readonly string[], bytes: number = limits.bodyBytes): RequestHandler[] => [
  (request, _response, next) => {
    if (!request.is([...types]) || request.headers['content-length'] === '0') {
      throw invalid('body', `The body must be JSON, with "Content-Type: ${types.join('" or "')}".`)
    }
    next()
  },
  express.json({ limit: bytes, inflate: false, type: [...types] }),
]

const nothing = z.strictObject({})

/** What was asked, as its operation declares it: what is not declared is refused by its name. */
export function parseRequest({ params, query, body }: Operation, request: Request) {
  return {
    params: params && parseNames(params, request.params),
    body: body && parse(body.schema, request.body, 'body', 'a field'),
    query: parse(query ?? nothing, request.query, 'query', 'a query parameter'),
  }
}

/** Names in a path. */
function parseNames(schema: z.ZodType, names: unknown): unknown {
  const parsed = schema.safeParse(names)
  if (parsed.success) return parsed.data
  throw new QuickLinkError('not_found', parsed.error.issues[0]?.message ?? 'There is nothing at this path.')
}

/** `whole`: what it is called where none of its parts is wrong, and what a part is called. */
export function parse<T>(schema: z.ZodType<T>, value: unknown, whole: string, part: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (issue?.code === 'unrecognized_keys') {
    const field = (issue.keys[0] ?? '').slice(0, 64)
    throw invalid(field, `${field} is not ${part} of this request: remove it.`)
  }
  const field = issue?.path.map(String).join('.') || whole
  throw invalid(field, `${field} ${issue?.message ?? 'is not valid'}.`)
}

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
  const { type, limit } = error as { type?: unknown; limit?: number }
  if (typeof type === 'string') return ofBodyParser(type, limit) ?? error
  return isUnavailable(error) ? unavailable('The database cannot answer at the moment: try again soon.', error) : error
}

function ofBodyParser(type: string, most: number = limits.bodyBytes): QuickLinkError | undefined {
  if (type === 'entity.too.large') {
    return new QuickLinkError('too_large', `The body must not be larger than ${most} bytes.`)
  }
  if (type === 'encoding.unsupported' || type === 'charset.unsupported') {
    return invalid('body', 'The body must be UTF-8 without a Content-Encoding.')
  }
  if (/^(entity|request|stream)\./.test(type)) return invalid('body', 'The body must be a JSON object.')
  return undefined
}
