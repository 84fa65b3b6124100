// The QuickLink under test: one that is started for it, or, with QL_CONTRACT_URL and QL_CONTRACT_KEY, any other.
import { send, type Answer } from '../testing/app.ts'
import { startServer } from '../testing/server-process.ts'
import { freshDatabase, freshRedis } from '../testing/services.ts'

export interface QuickLink {
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiAnswer>
  raw(method: string, path: string, body: string, headers?: Record<string, string>): Promise<ApiAnswer>
  create(more?: object): Promise<string>
}

export interface ApiAnswer extends Answer {
  readonly body: Record<string, unknown>
}

export const target = 'https://example.org/somewhere?a=1'

export async function quickLink(env: Record<string, string> = {}): Promise<QuickLink> {
  const { url, key } = await found(env)
  const raw: QuickLink['raw'] = async (method, path, body, headers = {}) => {
    const answer = await send(url, method, `/api/v1${path}`, body, { Authorization: `Bearer ${key}`, ...headers })
    const isJson = String(answer.headers['content-type']).includes('json')
    return { ...answer, body: isJson ? (JSON.parse(answer.text) as Record<string, unknown>) : {} }
  }
  const api: QuickLink['api'] = (method, path, body, headers = {}) =>
    raw(method, path, body === undefined ? '' : JSON.stringify(body), {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    })
  return {
    get: (path, headers, method = 'GET') => send(url, method, path, undefined, headers),
    api,
    raw,
    async create(more = {}) {
      const { status, body, text } = await api('POST', '/links', { url: target, ...more })
      if (status !== 201) throw new Error(`creating a link was answered ${status}: ${text}`)
      return String(body['code'])
    },
  }
}

async function found(env: Record<string, string>): Promise<{ url: string; key: string }> {
  const { QL_CONTRACT_URL: url, QL_CONTRACT_KEY: key } = process.env
  if (url !== undefined && key !== undefined) return { url, key }
  return startServer({ DATABASE_URL: await freshDatabase(), REDIS_URL: await freshRedis(), WORKERS: '2', ...env })
}
