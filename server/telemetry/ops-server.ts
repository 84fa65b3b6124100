// What orchestrators and Prometheus ask, on a port of its own that is never published.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HealthReport } from './health.ts'

/** `no_workers`: none has answered lately. */
export type Phase = 'starting' | 'serving' | 'no_workers' | 'draining'

export interface OpsSources {
  phase(): Phase
  health(): Promise<HealthReport>
  metrics(): Promise<string>
  status(): Promise<Record<string, unknown>>
  onError(error: unknown): void
}

export type OpsServer = Awaited<ReturnType<typeof startOpsServer>>

interface Page {
  readonly status: number
  readonly type: string
  readonly body: string
}

const json = (status: number, value: unknown): Page => ({
  status,
  type: 'application/json; charset=utf-8',
  body: `${JSON.stringify(value)}\n`,
})

/** Slow or many clients must not cost much: this port shares a process with the supervisor. */
const bounds = { headersTimeout: 5000, requestTimeout: 5000, keepAliveTimeout: 10_000, maxHeaderSize: 8192 }
const maxConnections = 128

async function answer(path: string, sources: OpsSources): Promise<Page> {
  switch (path) {
    case '/livez':
      return json(200, { status: 'ok' })
    case '/readyz': {
      const phase = sources.phase()
      return phase === 'serving' ? json(200, await sources.health()) : json(503, { status: phase })
    }
    case '/metrics':
      return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: await sources.metrics() }
    case '/statusz':
      return json(200, await sources.status())
    default:
      return json(404, { status: 'not found', pages: ['/livez', '/readyz', '/metrics', '/statusz'] })
  }
}

function write(response: ServerResponse, page: Page, headers: Record<string, string> = {}): void {
  response.writeHead(page.status, {
    'Content-Type': page.type,
    'Content-Length': Buffer.byteLength(page.body),
    'Cache-Control': 'no-store',
    ...headers,
  })
  // For a HEAD request node leaves the body out.
  response.end(page.body)
}

export async function startOpsServer(host: string, port: number, sources: OpsSources) {
  const server = createServer(bounds, (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      write(response, json(405, { status: 'method not allowed' }), { Allow: 'GET, HEAD' })
      return
    }
    const path = (request.url ?? '').split('?', 1)[0] ?? ''
    answer(path, sources).then(
      (page) => write(response, page),
      (error: unknown) => {
        sources.onError(error)
        write(response, json(500, { status: 'failed' }))
      },
    )
  })
  server.maxConnections = maxConnections
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', sources.onError)
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
