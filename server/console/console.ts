// The web console under /console: files that never change, and one page that knows who is signed in. All else it asks of the
// public API, as anybody may. Where CONSOLE is off, nothing of this is there.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { Page, html, rootPage, sniffing } from '../redirect/pages.ts'
import { QuickLinkError } from '../errors.ts'
import { askersAddress } from '../rates/client-address.ts'
import { pathOf } from '../redirect/handler.ts'
import type { Sessions } from '../sessions/api.ts'
import { codingFor, readBuild, type Build } from './build.ts'
import { pageOf, themeIn, type Visit } from './page.ts'

interface ConsoleDeps {
  /** Whether it was asked for at the host of PUBLIC_URL. */
  readonly isAtPublicUrl: (req: IncomingMessage) => boolean
  readonly sessions: Pick<Sessions, 'cookie' | 'callerOf'>
}

const buildDir = join(import.meta.dirname, '..', '..', 'console', 'dist')

const wrongMethod = Page.of(
  new QuickLinkError('method_not_allowed', 'The console answers GET and HEAD.', { headers: { Allow: 'GET, HEAD' } }),
)
const noSuchFile = Page.of(new QuickLinkError('not_found', 'The console has no such file: load its page again.'))
/** It differs with who asks. */
const plainRoot = rootPage('no-store')

export function createConsole(
  { publicUrl, trustProxy }: Pick<Config, 'publicUrl' | 'trustProxy'>,
  { isAtPublicUrl, sessions }: ConsoleDeps,
  dir = buildDir,
): RequestListener {
  const whoIsSignedIn = async (req: IncomingMessage): Promise<Visit['signedIn']> => {
    const { cookie, callerOf } = sessions
    const token = cookie.read(req)
    return token === undefined
      ? undefined
      : callerOf(token, () => askersAddress(req, trustProxy)).catch(() => 'unknown')
  }
  const build = keptBuild(dir)
  const elsewhere = misdirected(publicUrl)
  const page = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const made = build()
    if (made === undefined) return notBuilt.send(req, res)
    const signedIn = await whoIsSignedIn(req)
    if (res.destroyed) return
    const nonce = randomBytes(16).toString('base64')
    const text = pageOf(made.index, { nonce, theme: themeIn(req.headers.cookie), signedIn, publicUrl })
    res.writeHead(200, { ...headersOf(nonce), 'Content-Length': Buffer.byteLength(text) })
    res.end(req.method === 'HEAD' ? undefined : text)
  }
  const root = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const signedIn = await whoIsSignedIn(req)
    if (res.destroyed) return
    if (signedIn === undefined || signedIn === 'unknown') plainRoot.send(req, res)
    else res.writeHead(302, { Location: '/console', 'Cache-Control': 'no-store' }).end()
  }
  return (req, res) => {
    const path = pathOf(req.url ?? '')
    const isHere = isAtPublicUrl(req)
    if (req.method !== 'GET' && req.method !== 'HEAD') wrongMethod.send(req, res)
    else if (path === '') void (isHere ? root(req, res) : plainRoot.send(req, res))
    else if (!isHere) elsewhere.send(req, res)
    else if (path.startsWith('console/assets/')) sendFile(build(), path.slice('console/assets/'.length), req, res)
    else void page(req, res)
  }
}

/** One that is made later is found at the next look. */
function keptBuild(dir: string): () => Build | undefined {
  let kept = readBuild(dir)
  let lookedMs = performance.now()
  return () => {
    if (kept === undefined && performance.now() - lookedMs >= limits.consoleLookMs) {
      kept = readBuild(dir)
      lookedMs = performance.now()
    }
    return kept
  }
}

function sendFile(build: Build | undefined, name: string, req: IncomingMessage, res: ServerResponse): void {
  const asset = build?.assets.get(name)
  if (asset === undefined) return noSuchFile.send(req, res)
  const coding = codingFor(req.headers['accept-encoding']?.toString() ?? '', asset)
  const bytes = asset.forms[coding]!
  res.writeHead(200, {
    'Content-Type': asset.type,
    'Content-Length': bytes.length,
    'Cache-Control': 'public, max-age=31536000, immutable',
    Vary: 'Accept-Encoding',
    'Cross-Origin-Resource-Policy': 'same-origin',
    ...(coding === 'identity' ? {} : { 'Content-Encoding': coding }),
    ...sniffing,
  })
  res.end(req.method === 'HEAD' ? undefined : bytes)
}

/** Nobody else's page shows it in a frame, and it asks nobody else for anything. */
const headersOf = (nonce: string): Record<string, string> => ({
  'Content-Type': html,
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:; ` +
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  ...sniffing,
})

const notBuilt = Page.of(
  new QuickLinkError(
    'unavailable',
    'The console has not been built. Build it with: npm run -s console. Then load this page again.',
    { retryAfterS: 10 },
  ),
)

const misdirected = (publicUrl: string): Page =>
  Page.of(
    new QuickLinkError(
      'not_found',
      `The console is at ${publicUrl}/console, and at no other host. If that is the address that you have asked for, the proxy ` +
        'before QuickLink says another one in Host: let it pass the host on.',
    ),
  )
