// Redirects behind node:http: those that the front door leaves to it, and all where FRONT_DOOR is http.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counter } from '../clicks/counter.ts'
import { purposeNames, saidBy, type Said } from '../visits/slots.ts'
import type { OnVisit } from '../visits/visits.ts'
import { asideOf, type Asides } from './asides.ts'
import type { Asker, Decisions, Knower } from './outcome.ts'
import type { Outcome } from './prepared.ts'
import { passwordIn } from './password-form.ts'
import { wrongMethod } from './pages.ts'
import { queryOf } from './recognise.ts'
import { heldAs, type Sites } from './sites.ts'

export interface RedirectDeps {
  readonly decisions: Pick<Decisions, 'atOnce' | 'ask' | 'submit'>
  readonly sites: Sites
  readonly clicks: Pick<Counter, 'hit'>
  readonly onVisit: OnVisit | undefined
  readonly asides: Asides
  /** One per answer: its status, how long it took, and who knew. */
  readonly onAnswer: (status: number, seconds: number, source: Knower) => void
  /** In its place for a password's form: how long that takes says nothing of redirects. */
  readonly onForm: (status: number) => void
}

export type RedirectHandler = (req: IncomingMessage, res: ServerResponse) => void

/** Of requests of the absolute form: the host that they name, which counts before `Host`. */
const authorities = new WeakMap<IncomingMessage, string>()

/**
 * "http://host/abc" → "/abc": a server has to take this form as well (RFC 9112, 3.2.2). With a user in it, or without a host,
 * it is left as it is, and leads nowhere.
 */
export function toOriginForm(req: IncomingMessage): void {
  const target = req.url ?? ''
  const [beginning, authority] = /^https?:\/\/([^/?#@]+)/i.exec(target) ?? []
  if (beginning === undefined || authority === undefined || target[beginning.length] === '@') return
  authorities.set(req, authority)
  const path = target.slice(beginning.length)
  req.url = path.startsWith('/') ? path : `/${path}`
}

export const siteOf = (sites: Sites, req: IncomingMessage) => sites.ofRequest(req, authorities.get(req))

/** It was asked for at the host of PUBLIC_URL. */
export const isAtPublicUrl = (sites: Sites, req: IncomingMessage): boolean =>
  sites.isPublicUrl(req, authorities.get(req))

/** "/abc?x" → "abc". Nothing is decoded: a code needs no escapes. */
export function pathOf(url: string): string {
  const query = url.indexOf('?')
  return url.slice(1, query === -1 ? undefined : query)
}

export function createRedirectHandler({
  decisions,
  sites,
  clicks,
  onVisit,
  asides,
  onAnswer,
  onForm,
}: RedirectDeps): RedirectHandler {
  const write = (req: IncomingMessage, res: ServerResponse, outcome: Outcome): void => {
    if (outcome.tally === undefined) outcome.send(req, res)
    else {
      res.writeHead(outcome.status, outcome.fields)
      res.end()
      if (req.method !== 'HEAD') {
        clicks.hit(outcome.tally)
        onVisit?.(outcome.tally, new RequestAsker(req, res), outcome.rule)
      }
    }
  }
  const say = (req: IncomingMessage, res: ServerResponse, outcome: Outcome, beganMs: number, source: Knower): void => {
    write(req, res, outcome)
    onAnswer(outcome.status, (performance.now() - beganMs) / 1000, source)
  }
  const submit = async (req: IncomingMessage, res: ServerResponse, beganMs: number): Promise<void> => {
    const guess = Object.assign(new RequestAsker(req, res), { password: () => passwordIn(req) })
    const { outcome, source } = await decisions.submit(siteOf(sites, req), pathOf(req.url ?? ''), guess)
    if (res.destroyed) return
    if (outcome === wrongMethod) say(req, res, outcome, beganMs, source)
    else {
      write(req, res, outcome)
      onForm(outcome.status)
    }
  }
  return (req, res) => {
    const beganMs = performance.now()
    const isHead = req.method === 'HEAD'
    if (req.method === 'POST') {
      void submit(req, res, beganMs)
      return
    }
    if (req.method !== 'GET' && !isHead) {
      say(req, res, wrongMethod, beganMs, undefined)
      return
    }
    const target = req.url ?? ''
    const path = pathOf(target)
    const site = siteOf(sites, req)
    const prepared = decisions.atOnce(heldAs(site, path), isHead, beganMs, path.length + 1 < target.length)
    if (prepared !== undefined) {
      say(req, res, prepared, beganMs, 'local')
      return
    }
    const aside = asideOf(path)
    if (aside !== undefined) {
      void asides(aside, site, new RequestAsker(req, res)).then((answer) => {
        if (!res.destroyed) answer.send(req, res)
      })
      return
    }
    const page = site.small.get(path)
    const told =
      page === undefined
        ? decisions.ask(site, path, isHead, new RequestAsker(req, res))
        : { outcome: page, source: undefined }
    if (!(told instanceof Promise)) {
      say(req, res, told.outcome, beganMs, told.source)
      return
    }
    void told.then(({ outcome, source }) => {
      if (!res.destroyed) say(req, res, outcome, beganMs, source)
    })
  }
}

/** Its fields are read when somebody looks at them: of a hot link's visitors that is one in hundreds. */
class RequestAsker implements Asker {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req
    this.#res = res
  }

  isWanted(): boolean {
    return !this.#res.destroyed
  }

  get peer(): string | undefined {
    return this.#req.socket.remoteAddress
  }

  get forwardedFor(): string | undefined {
    const said = this.#req.headers['x-forwarded-for']
    return Array.isArray(said) ? said.join() : said
  }

  get query(): string | undefined {
    return queryOf(this.#req.url ?? '')
  }

  get accept(): string | undefined {
    return this.#req.headers.accept
  }

  get userAgent(): string | undefined {
    return this.#req.headers['user-agent']
  }

  get acceptLanguage(): string | undefined {
    return languageOf(this.#req)
  }

  said(): Said {
    const { headers } = this.#req
    const field = (name: string): string | undefined => [headers[name]].flat()[0]
    const { 'user-agent': userAgent, referer } = headers
    return saidBy(userAgent, referer, this.acceptLanguage, field('dnt'), field('sec-gpc'), purposeNames.map(field))
  }
}

/** The first of several, as the raw front door reads it, for rules and statistics alike; Node joins them. */
const languageOf = (req: IncomingMessage): string | undefined => req.headersDistinct['accept-language']?.[0]
