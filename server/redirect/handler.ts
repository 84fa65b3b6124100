// GET and HEAD of a code. Tier 1 is looked at synchronously; everything else waits for the ladder.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter } from '../clicks/counter.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import type { HitQuota, Lease } from '../limits/hit-quota.ts'
import { isExpired, isLink, parseCode, type Code } from '../link.ts'
import { answerProblem } from './pages.ts'
import { isOver, prepareCopy, type Prepared } from './prepared.ts'
import type { Resolver, Source } from './resolve.ts'
import type { Copy } from './tier1-local.ts'

export interface RedirectDeps {
  readonly resolver: Resolver
  readonly nowMs: () => number
  readonly clicks: Pick<Counter, 'tally' | 'hit'>
  /** Of links with a limit. Without it there are none. */
  readonly hits?: Pick<HitQuota, 'leaseOf' | 'acquire' | 'look' | 'secondsToMonthEnd'>
  /** One per answer: its status, how long it took, and who knew (undefined: nobody was asked). */
  readonly onAnswer: (status: number, seconds: number, source: Source | 'local' | undefined) => void
  readonly onShed: () => void
  /** Hears of every 404, and says when it should be a 429. */
  readonly absentCodes?: {
    onNotFound(peer: string | undefined, forwardedFor: string | undefined): { blocked: boolean; retryAfterS: number }
  }
}

export interface RedirectHandler {
  /** A tier-1 hit is answered at once; false: somebody else has to handle the request. */
  tryLocal(req: IncomingMessage, res: ServerResponse): boolean
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>
}

const notFound = new QuickLinkError('not_found', 'There is no link with this address.')
const tooManyAbsent = (retryAfterS: number): QuickLinkError =>
  new QuickLinkError('rate_limited', 'Too many addresses without a link were asked for. Please wait a minute.', {
    retryAfterS,
  })
const cannotSay = unavailable('This link cannot be looked up at the moment. Please try again in a moment.')
const overloaded = unavailable('Too many links are being looked up at the moment. Please try again in a moment.')
const usedUp = (retryAfterS: number | undefined): QuickLinkError =>
  new QuickLinkError('hits_used_up', 'This link works again at the beginning of the next month.', {
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  })
const ungrantable = unavailable('It cannot be said at the moment whether this link has hits left. Please try again.')
const unfit = new QuickLinkError('internal', 'This link is not a URL that a redirect can carry.')
const wrongMethod = new QuickLinkError('method_not_allowed', 'A short link answers GET and HEAD.', {
  headers: { Allow: 'GET, HEAD' },
})

/**
 * "http://host/abc" → "/abc": a server has to take this form as well (RFC 9112, 3.2.2). Which host is named decides nothing,
 * as in `Host`. With a user in it, or without a host, it is left as it is, and leads nowhere.
 */
export function originForm(target: string): string {
  const [beginning] = /^https?:\/\/[^/?#@]+/i.exec(target) ?? []
  if (beginning === undefined || target[beginning.length] === '@') return target
  const path = target.slice(beginning.length)
  return path.startsWith('/') ? path : `/${path}`
}

/** "/abc?x" → "abc". Nothing is decoded: a code needs no escapes. */
function segmentOf(url: string): string {
  const query = url.indexOf('?')
  return url.slice(1, query === -1 ? undefined : query)
}
export const codeOf = (url: string): Code | undefined => parseCode(segmentOf(url))

export function createRedirectHandler(deps: RedirectDeps): RedirectHandler {
  const { resolver, onAnswer } = deps

  const redirect = (req: IncomingMessage, res: ServerResponse, prepared: Prepared): number => {
    res.writeHead(prepared.status, prepared.fields)
    res.end()
    if (req.method === 'GET') deps.clicks.hit(prepared.tally)
    return prepared.status
  }

  const answerAbsent = (req: IncomingMessage, res: ServerResponse): number => {
    const said = req.headers['x-forwarded-for']
    const verdict = deps.absentCodes?.onNotFound(req.socket.remoteAddress, Array.isArray(said) ? said.join() : said)
    return answerProblem(req, res, verdict?.blocked ? tooManyAbsent(verdict.retryAfterS) : notFound)
  }

  /** Its link has a limit: a hit is waited for, or there is none. HEAD looks whether there is one, and leaves it. */
  const redirectLimited = async (
    req: IncomingMessage,
    res: ServerResponse,
    prepared: Prepared,
    lease: Lease,
  ): Promise<number> => {
    const asked = req.method === 'GET' ? deps.hits?.acquire(lease, () => !res.destroyed) : deps.hits?.look(lease)
    const verdict = (await asked) ?? 'unknown'
    switch (verdict) {
      case 'granted':
        return redirect(req, res, prepared)
      case 'used_up':
        return answerProblem(req, res, usedUp(deps.hits?.secondsToMonthEnd()))
      case 'gone':
        return answerAbsent(req, res)
      case 'unknown':
        return answerProblem(req, res, ungrantable)
      case 'overloaded':
        deps.onShed()
        return answerProblem(req, res, overloaded)
    }
  }

  const serve = (req: IncomingMessage, res: ServerResponse, prepared: Prepared): number | Promise<number> => {
    const { lease } = prepared
    const isFree = lease === undefined || (req.method === 'GET' && lease.spend(performance.now()))
    return isFree ? redirect(req, res, prepared) : redirectLimited(req, res, prepared, lease)
  }

  const answer = (req: IncomingMessage, res: ServerResponse, copy: Copy | 'unknown'): number | Promise<number> => {
    if (copy === 'unknown') return answerProblem(req, res, cannotSay)
    const { known } = copy
    if (!isLink(known) || isExpired(known, deps.nowMs())) return answerAbsent(req, res)
    const prepared = prepareCopy(copy, deps.clicks, deps.hits)
    return prepared === undefined ? answerProblem(req, res, unfit) : serve(req, res, prepared)
  }

  // Apart, so that the usual case makes no closure.
  const afterwards = (status: Promise<number>, beganMs: number, res: ServerResponse): void => {
    status.then(
      (known) => {
        onAnswer(known, (performance.now() - beganMs) / 1000, 'local')
      },
      () => res.destroy(),
    )
  }

  return {
    tryLocal(req, res) {
      if (req.method !== 'GET' && req.method !== 'HEAD') return false
      const beganMs = performance.now()
      // Only parsed codes are ever held, so a copy proves the code.
      const copy = resolver.local(segmentOf(req.url ?? '') as Code)
      if (copy === undefined) return false
      const prepared = copy.prepared ?? prepareCopy(copy, deps.clicks, deps.hits)
      const status =
        prepared === undefined || isOver(prepared, deps.nowMs) ? answer(req, res, copy) : serve(req, res, prepared)
      if (typeof status === 'number') onAnswer(status, (performance.now() - beganMs) / 1000, 'local')
      else afterwards(status, beganMs, res)
      return true
    },

    async handle(req, res) {
      const beganMs = performance.now()
      const done = (status: number, source?: Source): void => {
        onAnswer(status, (performance.now() - beganMs) / 1000, source)
      }
      const code = codeOf(req.url ?? '')
      if (req.method !== 'GET' && req.method !== 'HEAD') return done(answerProblem(req, res, wrongMethod))
      if (code === undefined) return done(answerAbsent(req, res))
      const asked = resolver.ask(code)
      if (asked === undefined) {
        deps.onShed()
        return done(answerProblem(req, res, overloaded))
      }
      const found = await asked
      done(await answer(req, res, found.copy), found.source)
    },
  }
}
