// What is asked of a server, down to the bytes, and what of an answer has to be read.
import { randomOf, zipf } from '../k6/lib/world.ts'

export type Paths =
  | { readonly kind: 'one'; readonly path: string }
  /** `/link-0` to `/link-<count - 1>`, drawn anew for each request: all alike, or by Zipf's popularity. */
  | { readonly kind: 'uniform' | 'zipf'; readonly prefix: string; readonly count: number }
  /** Never the same twice. */
  | { readonly kind: 'distinct'; readonly prefix: string }

export interface Load {
  readonly paths: Paths
  readonly headers: readonly (readonly [string, string])[]
  /** Another one than the server's. */
  readonly host?: string
  /** POSTs this instead of a GET. */
  readonly body?: string
  /** Sends this instead, to something that is no HTTP server. */
  readonly inline?: string
  /** What is answered, except to an absent code. */
  readonly status: number
  /** One request in so many asks for a code that nobody has, or is a HEAD. */
  readonly absentEvery?: number
  readonly headEvery?: number
  /** The answer ends its connection: the headers say so. */
  readonly closes?: boolean
}

/** In the order of Chrome on Linux, as it opens a link that was typed in. */
export const browserHeaders: Load['headers'] = [
  ['Connection', 'keep-alive'],
  ['sec-ch-ua', '"Chromium";v="140", "Not=A?Brand";v="24", "Google Chrome";v="140"'],
  ['sec-ch-ua-mobile', '?0'],
  ['sec-ch-ua-platform', '"Linux"'],
  ['Upgrade-Insecure-Requests', '1'],
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'],
  ['Accept', 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8'],
  ['Sec-Fetch-Site', 'none'],
  ['Sec-Fetch-Mode', 'navigate'],
  ['Sec-Fetch-User', '?1'],
  ['Sec-Fetch-Dest', 'document'],
  ['Accept-Encoding', 'gzip, deflate, br, zstd'],
  ['Accept-Language', 'en-US,en;q=0.9'],
] // prettier-ignore

/** A request is a method, then what `paths` draws, then `after`. */
export function bytesOf({ paths, headers, body, host: named }: Load, host: string): { before: string; after: string } {
  const own =
    body === undefined
      ? []
      : [
          ['Content-Type', 'application/json'],
          ['Content-Length', String(body.length)],
        ]
  const lines = [['Host', named ?? host], ...headers, ...own].map(([name, value]) => `${name}: ${value}\r\n`)
  const after = ` HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
  const method = body === undefined ? 'GET' : 'POST'
  return { before: `${method} ${paths.kind === 'one' ? paths.path : `/${paths.prefix}`}`, after }
}

export interface Asked {
  readonly text: string
  readonly isHead: boolean
  /** What it has to be answered. */
  readonly status: number
}

/** Drawn ahead and gone through in turn: drawing costs more than sending. */
const drawn = 2 ** 18

export function requestsOf(load: Load, host: string, seed: number): () => Asked {
  const { paths, absentEvery = Infinity, headEvery = Infinity } = load
  if (load.inline !== undefined) {
    const asked = { text: load.inline, isHead: false, status: load.status }
    return () => asked
  }
  const { before, after } = bytesOf(load, host)
  const head = before.replace(/^GET/, 'HEAD')
  const run = seed.toString(36)
  const which = paths.kind === 'uniform' || paths.kind === 'zipf' ? ranks(paths, seed) : undefined
  let n = 0
  const pathEnd = (): string => {
    if (which !== undefined) return String(which[n % drawn])
    return paths.kind === 'distinct' ? `${run}-${n}` : ''
  }
  return () => {
    n++
    const isHead = n % headEvery === 0
    const isAbsent = n % absentEvery === 0
    const end = isAbsent ? `-absent-${run}-${n}` : pathEnd()
    return { text: (isHead ? head : before) + end + after, isHead, status: isAbsent ? 404 : load.status }
  }
}

function ranks({ kind, count }: Extract<Paths, { count: number }>, seed: number): Uint32Array {
  return Uint32Array.from({ length: drawn }, (_, n) => {
    const random = randomOf(seed + n)
    return kind === 'zipf' ? zipf(random, count, 1) : Math.floor(random * count)
  })
}

/** The answer at the beginning of these bytes, if all of it is there. */
export function answerIn(bytes: Buffer, isHead: boolean): { status: number } | undefined {
  if (bytes[0] === dollar) return bulkIn(bytes)
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const status = Number(bytes.toString('latin1', 9, 12))
  // Nearly always: a redirect has no body, and neither has an answer to HEAD.
  if (isHead || status === 302) return { status }
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1] ?? '0'
  return bytes.length >= headEnd + 4 + Number(length) ? { status } : undefined
}

const dollar = 36

/** Redis' answer to GET: `$2\r\nok\r\n`. */
function bulkIn(bytes: Buffer): { status: number } | undefined {
  const lineEnd = bytes.indexOf('\r\n')
  if (lineEnd === -1) return undefined
  const length = Number(bytes.toString('latin1', 1, lineEnd))
  if (length < 0) return { status: 404 }
  return bytes.length >= lineEnd + 4 + length ? { status: 200 } : undefined
}

/** One request of each kind that the load mixes. */
export function examplesOf(load: Load, host: string): Asked[] {
  const { absentEvery = 1, headEvery = 1 } = load
  const draw = requestsOf(load, host, 1)
  const all = Array.from({ length: Math.max(absentEvery, headEvery) }, draw)
  const kindOf = ({ isHead, status }: Asked): string => `${isHead} ${status}`
  return [...new Map(all.map((asked) => [kindOf(asked), asked])).values()]
}
