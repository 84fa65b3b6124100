// How tests ask a QuickLink, wherever it runs.
import { request, type Agent, type IncomingHttpHeaders } from 'node:http'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly ms: number
}

export interface ApiAnswer extends Answer {
  /** Empty when it is no JSON. */
  readonly body: Record<string, unknown>
}

/** A text or bytes are sent as they are, anything else as JSON. */
export type Api = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<ApiAnswer>

/**
 * Redirects are not followed, nothing is decoded. Without an agent the connection is not kept, which the request says: the
 * front door leaves it to node:http.
 */
export function send(
  base: string,
  method: string,
  path: string,
  body?: string | Buffer,
  headers: Record<string, string> = {},
  agent: Agent | false = false,
): Promise<Answer> {
  const beganMs = performance.now()
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const asked = request({ hostname, port, path, method, headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        resolve({
          status: statusCode,
          headers,
          text: Buffer.concat(chunks).toString(),
          ms: performance.now() - beganMs,
        })
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** Its API by a key; null: without one. */
export const apiOf =
  (url: string, key: string | null): Api =>
  async (method, path, body, headers = {}) => {
    const asItIs = typeof body === 'string' || body instanceof Buffer || body === undefined
    const answer = await send(url, method, `/api/v1${path}`, asItIs ? body : JSON.stringify(body), {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    })
    const isJson = String(answer.headers['content-type']).includes('json')
    return { ...answer, body: isJson && answer.text !== '' ? (JSON.parse(answer.text) as ApiAnswer['body']) : {} }
  }

/** What a POST made; anything but 201 is an error. */
export async function created(api: Api, path: string, body: object): Promise<ApiAnswer['body']> {
  const answer = await api('POST', path, body)
  if (answer.status !== 201) throw new Error(`POST ${path} was answered ${answer.status}: ${answer.text}`)
  return answer.body
}
