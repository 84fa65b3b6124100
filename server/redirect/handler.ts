// GET and HEAD of a code. Tier 1 is looked at synchronously; everything else waits for the ladder.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { QuickLinkError, unavailable } from '../errors.ts'
import { isExpired, isLink, parseCode, type Answer, type Code, type Link } from '../link.ts'
import { answerProblem } from './pages.ts'
import type { Resolver, Source } from './resolve.ts'

export interface RedirectDeps {
  readonly resolver: Resolver
  readonly nowMs: () => number
  readonly countClick: (link: Link) => void
  /** One per answer: its status, how long it took, and who knew (undefined: nobody was asked). */
  readonly onAnswer: (status: number, seconds: number, source: Source | 'local' | undefined) => void
  readonly onShed: () => void
}

export interface RedirectHandler {
  /** A tier-1 hit is answered at once; false: somebody else has to handle the request. */
  tryLocal(req: IncomingMessage, res: ServerResponse): boolean
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>
}

const notFound = new QuickLinkError('not_found', 'There is no link with this address.')
const cannotSay = unavailable('This link cannot be looked up at the moment. Please try again in a moment.')
const overloaded = unavailable('Too many links are being looked up at the moment. Please try again in a moment.')
const wrongMethod = new QuickLinkError('method_not_allowed', 'A short link answers GET and HEAD.', {
  headers: { Allow: 'GET, HEAD' },
})

/** "/abc?x" → "abc". Nothing is decoded: a code needs no escapes. */
export function codeOf(url: string): Code | undefined {
  const query = url.indexOf('?')
  return parseCode(url.slice(1, query === -1 ? undefined : query))
}

export function createRedirectHandler(deps: RedirectDeps): RedirectHandler {
  const { resolver, onAnswer } = deps

  const redirect = (req: IncomingMessage, res: ServerResponse, link: Link): number => {
    const status = link.permanent ? 301 : 302
    res.writeHead(status, {
      Location: link.url,
      'Cache-Control': link.permanent ? 'private, max-age=90' : 'no-store',
      'Content-Length': 0,
    })
    res.end()
    if (req.method === 'GET') deps.countClick(link)
    return status
  }

  const answer = (req: IncomingMessage, res: ServerResponse, found: Answer): number => {
    if (found === 'unknown') return answerProblem(req, res, cannotSay)
    if (!isLink(found) || isExpired(found, deps.nowMs())) return answerProblem(req, res, notFound)
    return redirect(req, res, found)
  }

  return {
    tryLocal(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') return false
      const code = codeOf(req.url ?? '')
      const copy = code === undefined ? undefined : resolver.local(code)
      if (copy === undefined) return false
      const beganMs = performance.now()
      onAnswer(answer(req, res, copy.known), (performance.now() - beganMs) / 1000, 'local')
      return true
    },

    async handle(req, res) {
      const beganMs = performance.now()
      const done = (status: number, source?: Source): void => {
        onAnswer(status, (performance.now() - beganMs) / 1000, source)
      }
      const code = codeOf(req.url ?? '')
      if (req.method !== 'GET' && req.method !== 'HEAD') return done(answerProblem(req, res, wrongMethod))
      if (code === undefined) return done(answerProblem(req, res, notFound))
      const asked = resolver.ask(code)
      if (asked === undefined) {
        deps.onShed()
        return done(answerProblem(req, res, overloaded))
      }
      const found = await asked
      done(answer(req, res, found.answer), found.source)
    },
  }
}
