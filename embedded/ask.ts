// One HTTP request. Redirects are not followed, nothing is decoded; without an agent the connection is its own, which the
// request says: the front door leaves it to node:http.
import { request, type Agent, type IncomingHttpHeaders } from 'node:http'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly ms: number
}

interface Asked {
  readonly method?: string
  readonly body?: string | Buffer | undefined
  readonly headers?: Record<string, string>
  readonly agent?: Agent | false
  readonly timeoutMs?: number
}

/** `to` is what a URL begins with, or the path of a socket. */
export function ask(to: string, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = 'GET', body, headers = {}, agent = false, timeoutMs = 0 } = asked
  const beganMs = performance.now()
  return new Promise((resolve, reject) => {
    const at = to.startsWith('/') ? { socketPath: to } : { host: new URL(to).hostname, port: new URL(to).port }
    const sent = request({ ...at, path, method, headers, agent, timeout: timeoutMs }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text: Buffer.concat(chunks).toString(), ms: performance.now() - beganMs })
      })
    })
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`))).on('error', reject)
    sent.end(body)
  })
}
