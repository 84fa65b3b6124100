// How tests ask a QuickLink, wherever it runs.
import type { Agent } from 'node:http'
import { ask, type Answer } from '../embedded/ask.ts'
import { checkAnswer } from './operations.ts'

export type { Answer } from '../embedded/ask.ts'

export interface ApiAnswer extends Answer {
  /** Empty when it is no JSON. */
  readonly body: Record<string, unknown>
}

/** A text or bytes are sent as they are, anything else as JSON. */
export type Api = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<ApiAnswer>

export const send = (
  base: string,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Promise<Answer> => ask(base, path, { method, body, headers, agent })

/** Its API by a key; null: without one. Every answer is checked against what its operation declares. */
export const apiOf =
  (url: string, key: string | null): Api =>
  async (method, path, body, headers = {}) => {
    const asItIs = typeof body === 'string' || body instanceof Buffer || body === undefined
    const answer = await send(url, method, `/api/v1${path}`, asItIs ? body : JSON.stringify(body), {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      // Of a DELETE node:http says nothing of a body by itself.
      ...(asItIs || method !== 'DELETE' ? {} : { 'Content-Length': String(Buffer.byteLength(JSON.stringify(body))) }),
      ...headers,
    })
    const isJson = /^application\/(problem\+)?json/.test(answer.headers['content-type'] ?? '')
    const told = { ...answer, body: isJson && answer.text !== '' ? (JSON.parse(answer.text) as ApiAnswer['body']) : {} }
    checkAnswer(method, path, told)
    return told
  }

/** A new tenant, of the tier standard unless it is said, and its own way to ask. */
export async function newTenant(at: { readonly url: string; readonly api: Api }, id: string, more: object = {}) {
  await created(at.api, '/tenants', { id, name: id, tier: 'standard', ...more })
  const key = String((await created(at.api, `/tenants/${id}/keys`, { name: 'test' }))['key'])
  return { id, key, api: apiOf(at.url, key) }
}

/** What a POST made; anything but 201 is an error. */
export async function created(api: Api, path: string, body: object): Promise<ApiAnswer['body']> {
  const answer = await api('POST', path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} was answered ${answer.status}: ${answer.text}`)
  return answer.body
}

/** So many at once. */
export const times = <T>(n: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, make))

/** How many of each status. */
export function tally(answers: readonly { readonly status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
