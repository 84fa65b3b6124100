// Redirects behind node:http: those that the front door leaves to it, and all where FRONT_DOOR is http.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter } from '../clicks/counter.ts'
import type { Asker, Decisions, Knower, Outcome } from './outcome.ts'
import { wrongMethod, type Page } from './pages.ts'

export interface RedirectDeps {
  readonly decisions: Pick<Decisions, 'atOnce' | 'ask'>
  /** Paths that are no code's. */
  readonly small: ReadonlyMap<string, Page>
  readonly clicks: Pick<Counter, 'hit'>
  /** One per answer: its status, how long it took, and who knew. */
  readonly onAnswer: (status: number, seconds: number, source: Knower) => void
}

export type RedirectHandler = (req: IncomingMessage, res: ServerResponse) => void

/** Of a path without its slash. The API has all of these, and no code is among them. */
export const isApi = (path: string): boolean => path.startsWith('api') && (path.length === 3 || path[3] === '/')

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
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return url.slice(1, query === -1 ? undefined : query)
}

export function createRedirectHandler({ decisions, small, clicks, onAnswer }: RedirectDeps): RedirectHandler {
  const say = (req: IncomingMessage, res: ServerResponse, outcome: Outcome, beganMs: number, source: Knower): void => {
    if (outcome.tally === undefined) outcome.send(req, res)
    else {
      res.writeHead(outcome.status, outcome.fields)
      res.end()
      if (req.method === 'GET') clicks.hit(outcome.tally)
    }
    onAnswer(outcome.status, (performance.now() - beganMs) / 1000, source)
  }
  return (req, res) => {
    const beganMs = performance.now()
    const isHead = req.method === 'HEAD'
    if (req.method !== 'GET' && !isHead) {
      say(req, res, wrongMethod, beganMs, undefined)
      return
    }
    const path = pathOf(req.url ?? '')
    const prepared = decisions.atOnce(path, isHead, beganMs)
    if (prepared !== undefined) {
      say(req, res, prepared, beganMs, 'local')
      return
    }
    const page = small.get(path)
    const told =
      page === undefined ? decisions.ask(path, isHead, askerOf(req, res)) : { outcome: page, source: undefined }
    if (!(told instanceof Promise)) {
      say(req, res, told.outcome, beganMs, told.source)
      return
    }
    void told.then(({ outcome, source }) => {
      if (!res.destroyed) say(req, res, outcome, beganMs, source)
    })
  }
}

function askerOf(req: IncomingMessage, res: ServerResponse): Asker {
  const said = req.headers['x-forwarded-for']
  return {
    isWanted: () => !res.destroyed,
    peer: req.socket.remoteAddress,
    forwardedFor: Array.isArray(said) ? said.join() : said,
  }
}
