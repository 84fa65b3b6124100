// QuickLink's API for programs. Every path, body and answer has its type (api.ts); an error is a value with a `code`.
//   const api = quickLink({ url: 'https://go.example.org', key: process.env.QUICKLINK_KEY })
//   const { data, error } = await api.POST('/links', { body: { url: 'https://example.org/' } })
import createClient, { type Client } from 'openapi-fetch'
import type { components, paths } from './api.ts'

export type Problem = components['schemas']['Problem']
export type Link = components['schemas']['Link']
export type NewLink = components['schemas']['NewLink']
export type Tag = components['schemas']['Tag']
export type Tenant = components['schemas']['Tenant']
export type QuickLinkApi = Client<paths>

export interface Options {
  /** Of the server, without /api. */
  readonly url: string
  /** Without one: a browser's session. */
  readonly key?: string
  /** Instead of the global one. */
  readonly fetch?: (request: Request) => Promise<Response>
  /** Tries of what may be repeated, the first included. */
  readonly attempts?: number
}

/** A server that asks for more patience than this gets none. */
const mostPatienceMs = 10_000
const firstPauseMs = 200

export function quickLink({ url, key, fetch = globalThis.fetch, attempts = 3 }: Options): QuickLinkApi {
  return createClient<paths>({
    baseUrl: `${url.replace(/\/+$/, '')}/api/v1`,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    // A server that leads elsewhere is not the one that the key is for.
    redirect: 'error',
    fetch: (request) => patiently(request, fetch, attempts),
  })
}

/** What was refused for now, or not answered, is asked again where that makes nothing twice. */
async function patiently(first: Request, fetch: (request: Request) => Promise<Response>, attempts: number): Promise<Response> {
  const request = repeatable(first)
  for (let n = 1; ; n++) {
    const last = n >= attempts || !mayRepeat(request)
    try {
      const response = await fetch(request.clone())
      const waitMs = patience(response, n)
      if (last || waitMs === undefined) return response
      await response.body?.cancel()
      await pause(waitMs)
    } catch (error) {
      if (last) throw error
      await pause(firstPauseMs * 2 ** n)
    }
  }
} // prettier-ignore

/** With a key of its own, a POST of links is made once, however often it is sent. */
function repeatable(request: Request): Request {
  if (request.method !== 'POST' || !/\/links(\/bulk)?$/.test(new URL(request.url).pathname)) return request
  if (!request.headers.has('Idempotency-Key')) request.headers.set('Idempotency-Key', crypto.randomUUID())
  return request
}

const mayRepeat = ({ method, headers }: Request): boolean =>
  method === 'GET' || method === 'DELETE' || headers.has('Idempotency-Key')

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Undefined: this is the answer. */
function patience({ status, headers }: Response, n: number): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const asked = headers.get('Retry-After')
  const waitMs = asked === null ? firstPauseMs * 2 ** n : Number(asked) * 1000
  return waitMs <= mostPatienceMs ? waitMs : undefined
}

/** Every item of a list, page by page, as they are asked for. */
export async function* every<T>(
  page: (cursor: string | undefined) => Promise<{ items: readonly T[]; nextCursor: string | null }>,
): AsyncGenerator<T, void, undefined> {
  let cursor: string | undefined
  do {
    const { items, nextCursor } = await page(cursor)
    yield* items
    cursor = nextCursor ?? undefined
  } while (cursor !== undefined)
}
