// What is asked of a server, down to the bytes, so that every generator sends the same.

export type Paths =
  | { readonly kind: 'one'; readonly path: string }
  /** `/link-0` to `/link-<count - 1>`, drawn anew for each request. */
  | { readonly kind: 'uniform'; readonly prefix: string; readonly count: number }
  /** Never the same twice. */
  | { readonly kind: 'distinct'; readonly prefix: string }

export interface Load {
  readonly paths: Paths
  readonly headers: readonly (readonly [string, string])[]
  /** POSTs this instead of a GET. */
  readonly body?: string
  readonly status: number
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

/** A request is `before`, then what `paths` draws, then `after`. */
export function bytesOf({ paths, headers, body }: Load, host: string): { before: string; after: string } {
  const own =
    body === undefined
      ? []
      : [
          ['Content-Type', 'application/json'],
          ['Content-Length', String(body.length)],
        ]
  const lines = [['Host', host], ...headers, ...own].map(([name, value]) => `${name}: ${value}\r\n`)
  const after = ` HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`
  const method = body === undefined ? 'GET' : 'POST'
  return { before: `${method} ${paths.kind === 'one' ? paths.path : `/${paths.prefix}`}`, after }
}

/** One that stands for the others: to look at the answer before it is measured. */
export const examplePath = ({ paths }: Load): string => (paths.kind === 'one' ? paths.path : `/${paths.prefix}0`)
