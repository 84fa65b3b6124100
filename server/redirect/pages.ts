// What a visitor sees instead of a redirect: a small page in a browser, problem+json for everyone else. Each is put together
// once, for both writers: the fields for `writeHead`, and all the bytes for the raw socket.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { QuickLinkError, toProblem, unavailable, type ErrorCode } from '../errors.ts'
import { limits } from '../limits.ts'
import { headOf, tailOf } from './wire.ts'

interface Rendered {
  readonly fields: readonly string[]
  readonly head: string
  readonly text: string
  readonly encoding: 'latin1' | 'utf8'
}

export class Page {
  readonly status: number
  /** No click: see `Prepared`. */
  readonly tally = undefined
  readonly #make: (forBrowser: boolean) => [fields: Record<string, string>, text: string]
  readonly #forms: [Rendered?, Rendered?] = []

  constructor(status: number, make: (forBrowser: boolean) => [fields: Record<string, string>, text: string]) {
    this.status = status
    this.#make = make
  }

  static of(error: QuickLinkError): Page {
    const { status, headers, body } = toProblem(error)
    return new Page(status, (forBrowser) => [
      {
        ...headers,
        'Cache-Control': 'no-store',
        'Content-Type': forBrowser ? html : 'application/problem+json',
        Vary: 'Accept',
        ...(forBrowser ? policy : sniffing),
      },
      forBrowser ? pageText(String(body['title']), String(body['detail'])) : JSON.stringify(body),
    ])
  }

  /** For node:http. */
  send(req: IncomingMessage, res: ServerResponse): void {
    const { fields, text, encoding } = this.#in(req.headers.accept)
    res.writeHead(this.status, fields as string[])
    if (req.method === 'HEAD') res.end()
    else res.end(text, encoding)
  }

  /** For the raw socket: what `send` makes node:http write. */
  write(
    socket: { write(text: string, encoding: 'latin1' | 'utf8'): boolean },
    accept: string | undefined,
    date: string,
    closes: boolean,
    isHead: boolean,
  ): boolean {
    const { head, text, encoding } = this.#in(accept)
    return socket.write(head + date + tailOf(closes) + (isHead ? '' : text), encoding)
  }

  #in(accept: string | undefined): Rendered {
    const forBrowser = wantsHtml(accept)
    return (this.#forms[forBrowser ? 1 : 0] ??= render(this.status, ...this.#make(forBrowser)))
  }
}

function render(status: number, fields: Record<string, string>, text: string): Rendered {
  const length = Buffer.byteLength(text)
  const list = Object.entries({ ...fields, 'Content-Length': String(length) }).flat()
  return {
    fields: list,
    head: headOf(status, list),
    text,
    // One byte a character goes to the kernel without being encoded.
    encoding: length === text.length ? 'latin1' : 'utf8',
  }
}

export const html = 'text/html; charset=utf-8'
export const sniffing = { 'X-Content-Type-Options': 'nosniff' }
export const policy = { ...sniffing, 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" }

/** Browsers name text/html first or alone; tools say anything, or JSON. */
export const wantsHtml = (accept: string | undefined): boolean => accept?.includes('text/html') === true

export const styleOf = (more = ''): string =>
  `<style>:root{color-scheme:light dark}
body{font:1.1rem/1.5 system-ui,sans-serif;margin:15vh auto 0;max-width:32rem;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem;line-height:1.3;margin:0 0 1.2rem}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}${more}</style>`

// Nothing of the request is ever part of such a page.
const pageText = (title: string, detail: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
${styleOf()}
<main><h1>${title}</h1><p>${detail}</p></main></html>
`

/** With the seconds to wait. The last one is kept: who asks again within the second is told the same. */
export function perSecond(code: ErrorCode, detail: string): (retryAfterS: number) => Page {
  let said = -1
  let page: Page | undefined
  return (retryAfterS) => {
    if (said !== retryAfterS) page = undefined
    said = retryAfterS
    return (page ??= Page.of(new QuickLinkError(code, detail, { retryAfterS })))
  }
}
const unable = (detail: string): Page => Page.of(unavailable(detail))

export const notFound = Page.of(new QuickLinkError('not_found', 'There is no link with this address.'))
export const tooManyAbsent = perSecond(
  'rate_limited',
  'Too many addresses without a link were asked for. Please wait a minute.',
)
export const cannotSay = unable('This link cannot be looked up at the moment. Please try again in a moment.')
export const overloaded = unable('Too many links are being looked up at the moment. Please try again in a moment.')
export const usedUp = perSecond('hits_used_up', 'This link works again at the beginning of the next month.')
export const tooLongQuery = Page.of(
  new QuickLinkError(
    'invalid',
    `What follows the question mark is too long for this link: use at most ${limits.forwardedQuery} characters.`,
  ),
)
/** Where a link leads after its end, or a domain where it has none: as a redirect would, and no click. */
export const leadingTo = (url: string): Page =>
  new Page(302, () => [{ Location: url, 'Cache-Control': 'no-store' }, ''])
export const tooManyDrawings = unable('Too many QR codes are being drawn at the moment. Please try again in a moment.')
export const ungrantable = unable('It cannot be said at the moment whether this link has hits left. Please try again.')
export const unfit = Page.of(new QuickLinkError('internal', 'This link is not a URL that a redirect can carry.'))
export const broken = Page.of(new QuickLinkError('internal', 'The server could not look this link up.'))
export const wrongMethod = Page.of(
  new QuickLinkError('method_not_allowed', 'A short link answers GET and HEAD.', { headers: { Allow: 'GET, HEAD' } }),
)

/** Two links of a chain. */
const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#2563eb" stroke-width="2">' +
  '<rect x="1" y="5" width="8" height="6" rx="3"/><rect x="7" y="5" width="8" height="6" rx="3"/></svg>\n'

/** What `/` is where nobody has said where it leads. */
export const rootPage = (cacheControl: string): Page =>
  new Page(200, () => [
    { 'Cache-Control': cacheControl, 'Content-Type': html, ...policy },
    pageText('Short links', 'This is a link shortener. A short link is this address, and its code behind it.'),
  ])

/** Paths that everybody asks for, and that no code can have. They cost no look-up, and are no tries for an absent code. */
export function smallPages(rootUrl: string | undefined): ReadonlyMap<string, Page> {
  const aDay = { 'Cache-Control': 'public, max-age=86400' }
  return new Map([
    ['favicon.ico', new Page(200, () => [{ ...aDay, 'Content-Type': 'image/svg+xml', ...sniffing }, icon])],
    [
      'robots.txt',
      new Page(200, () => [
        { ...aDay, 'Content-Type': 'text/plain; charset=utf-8', ...sniffing },
        'User-agent: *\nDisallow: /api\n',
      ]),
    ],
    ['', rootUrl === undefined ? rootPage(aDay['Cache-Control']) : leadingTo(new URL(rootUrl).href)],
  ])
}

/** A line for programs, which nobody keeps. */
export const textPage = (line: string): Page =>
  new Page(200, () => [
    { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8', ...sniffing },
    `${line}\n`,
  ])
