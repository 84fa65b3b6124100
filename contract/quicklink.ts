// The QuickLink under test, asked as any client asks it: an app in this process and a server of two workers, or, with
// QL_CONTRACT_URL and QL_CONTRACT_KEY (and QL_CONTRACT_PUBLIC_URL, where its links begin with another), any other.
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { buildIndexes } from '../server/connections/indexes.ts'
import { chooseIndexes } from '../server/links/upkeep.ts'
import { startTestApp } from '../testing/app.ts'
import { apiOf, created, newTenant, send, type Answer, type Api, type ApiAnswer } from '../testing/http.ts'
import { waitFor } from '../embedded/wait.ts'
import { startServer } from '../testing/server-process.ts'
import { freshDatabase, freshRedis } from '../testing/services.ts'

export interface Tenant {
  readonly id: string
  readonly api: Api
}

interface Found {
  readonly url: string
  readonly key: string
  /** What its links begin with. */
  readonly publicUrl: string
}

export interface QuickLink extends Found {
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  send(method: string, path: string, body: string, headers: Record<string, string>): Promise<Answer>
  /** As the owner. */
  readonly api: Api
  /** null: without a key. */
  as(key: string | null): Api
  create(more?: object): Promise<string>
  /** Of the tier standard, unless it is said. */
  tenant(more?: object): Promise<Tenant>
}

/** For `expect.poll`: a second, and what a busy machine adds. */
export const aSecond = { timeout: 5000 }

export const target = 'https://example.org/somewhere?a=1'

let names = 0
const run = randomBytes(3).toString('hex')
/** A name that no earlier run against the same server has used. */
export const fresh = (word: string): string => `${word}-${run}-${++names}`

const publicUrl = 'https://ql.test'

async function inProcess(): Promise<Found> {
  const databaseUrl = await freshDatabase()
  const { url, key } = await startTestApp({ databaseUrl, env: { PUBLIC_URL: publicUrl } })
  // As the primary process does after the start.
  await buildIndexes({ url: databaseUrl, connectMs: 2000, buildMs: 20_000 }, chooseIndexes)
  return { url, key, publicUrl }
}

async function twoWorkers(): Promise<Found> {
  const services = { DATABASE_URL: await freshDatabase(), REDIS_URL: await freshRedis() }
  const { url, key, api } = await startServer({ ...services, WORKERS: '2', PUBLIC_URL: publicUrl })
  // Of both workers: connections go to one and to the other.
  await waitFor(
    async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => api('GET', '/limits')))
      return answers.every(({ status }) => status === 200)
    },
    { deadlineMs: 60_000 },
  )
  return { url, key, publicUrl }
}

const { QL_CONTRACT_URL: url, QL_CONTRACT_KEY: key } = process.env
const outside =
  url !== undefined && key !== undefined
    ? () => Promise.resolve({ url, key, publicUrl: process.env['QL_CONTRACT_PUBLIC_URL'] ?? url })
    : undefined

/** For `describe.each`. */
export const targets: readonly [string, () => Promise<QuickLink>][] = outside
  ? [[`the QuickLink at ${url}`, () => quickLink(outside)]]
  : [
      ['an app without Redis', () => quickLink(inProcess)],
      ['a server of two workers', () => quickLink(twoWorkers)],
    ]

export async function quickLink(open: () => Promise<Found> = outside ?? twoWorkers): Promise<QuickLink> {
  const found = await open()
  const as: QuickLink['as'] = (key) => apiOf(found.url, key)
  const api = as(found.key)
  return {
    ...found,
    as,
    api,
    send: (method, path, body, headers) => send(found.url, method, path, body, headers),
    get: (path, headers, method = 'GET') => send(found.url, method, path, undefined, headers),
    create: async (more = {}) => String((await created(api, '/links', { url: target, ...more }))['code']),
    tenant: (more) => newTenant({ url: found.url, api }, fresh('tenant'), more),
  }
}

export type Item = Record<string, unknown> & { readonly id: string; readonly code: string }

/** Of a list, up to its last one. */
export async function* pages(api: Api, path: string): AsyncGenerator<readonly Item[]> {
  for (let cursor: unknown; cursor !== null;) {
    const { body } = await api('GET', typeof cursor === 'string' ? `${path}&cursor=${cursor}` : path)
    yield body['items'] as Item[]
    cursor = body['nextCursor']
    expect(cursor ?? '').toMatch(/^[0-9A-Za-z_-]*$/)
  }
}

/** `400 invalid url`: status, code and field of a problem, which has the form that every problem has. */
export function problem({ status, headers, body }: ApiAnswer): string {
  const { code, field, detail } = body as { code: string; field?: string; detail: string }
  expect(headers['content-type']).toBe('application/problem+json')
  expect(body).toMatchObject({ type: 'about:blank', status, title: expect.stringMatching(/./) as string })
  expect(detail).toMatch(/^[^\n]+\.$/)
  if (status === 400) expect(detail).toContain(field)
  return [status, code, ...(field === undefined ? [] : [field])].join(' ')
}
