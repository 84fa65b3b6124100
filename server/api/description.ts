// The API describes itself to whoever asks, for programs and for people; no key is needed. Each is made at the first question.
import { Router, type Response } from 'express'
import { methodNotAllowed } from './http.ts'
import type { Operation } from './operation.ts'

interface Made {
  readonly bytes: Buffer
  readonly headers: Readonly<Record<string, string>>
}

export function descriptionRouter(operations: readonly Operation[]): Router {
  const json = once(async () => {
    const { describe } = await import('./openapi.ts')
    return made(JSON.stringify(describe(operations)), 'application/json; charset=utf-8')
  })
  const page = once(async () => {
    const [{ describe }, { referencePage, referencePolicy }] = await Promise.all([
      import('./openapi.ts'),
      import('./reference-page.ts'),
    ])
    const policy = { 'Content-Security-Policy': referencePolicy, 'Referrer-Policy': 'no-referrer' }
    return made(referencePage(describe(operations)), 'text/html; charset=utf-8', policy)
  })
  const router = Router({ caseSensitive: true })
  for (const [path, make] of [
    ['/openapi.json', json],
    ['/docs', page],
  ] as const) {
    router
      .route(path)
      .get(async (_request, response) => send(response, await make()))
      .all(methodNotAllowed('GET', 'HEAD'))
  }
  return router
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => (made ??= make())
}

const made = (text: string, type: string, more: Record<string, string> = {}): Made => {
  const bytes = Buffer.from(text)
  const headers = { 'Content-Type': type, 'Content-Length': String(bytes.length), 'Cache-Control': 'no-cache' }
  return { bytes, headers: { ...headers, 'X-Content-Type-Options': 'nosniff', ...more } }
}

/** The bytes are everybody's: a client that does not read them keeps none of them in memory. */
function send(response: Response, { bytes, headers }: Made): void {
  response.writeHead(200, headers).end(bytes)
}
