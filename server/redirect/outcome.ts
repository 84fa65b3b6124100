// What a request for a code is told: decided here, once, and written by whoever holds the connection: the front door on
// the raw socket, or node:http behind it.
import type { Counter } from '../clicks/counter.ts'
import type { HitQuota, Verdict } from '../hits/hit-quota.ts'
import { isLink, isOpen, parseCode, type Code, type Link } from '../link.ts'
import { FormRefused, type Guard, type Guess } from '../passwords/guard.ts'
import {
  broken,
  cannotSay,
  notFound,
  overloaded,
  tooManyAbsent,
  unfit,
  ungrantable,
  usedUp,
  wrongMethod,
  type Page,
} from './pages.ts'
import { askAnew, formRefused, passwordsBusy, passwordWrong, tooManyPasswords } from './password-pages.ts'
import { prepareCopy, preparedFor, preparedTo, standingOf, type Outcome, type Prepared } from './prepared.ts'
import type { Resolver, Source } from './resolve.ts'
import type { Site } from './sites.ts'
import type { Caller } from '../visits/visits.ts'
import type { Copy } from './tier1-local.ts'

/** Which tier answered; undefined: none was asked. */
export type Knower = Source | 'local' | undefined

export interface Told {
  readonly outcome: Outcome
  readonly source: Knower
}

/** Who asks. What it has to say is looked at only if it matters. */
export interface Asker extends Caller {
  /** False: the client has gone meanwhile, and nothing is spent on it. */
  isWanted(): boolean
  readonly accept: string | undefined
  readonly userAgent: string | undefined
  readonly acceptLanguage: string | undefined
}

export interface DecisionDeps {
  readonly resolver: Pick<Resolver, 'local' | 'ask'>
  /** Unix milliseconds, which links end by. */
  readonly nowMs: () => number
  readonly clicks: Pick<Counter, 'tally'>
  readonly hits: Pick<HitQuota, 'leaseOf' | 'acquire' | 'look' | 'secondsToMonthEnd'>
  /** Hears of every 404, and says when it should be a 429. */
  readonly absentCodes: {
    onNotFound(peer: string | undefined, forwardedFor: string | undefined): { blocked: boolean; retryAfterS: number }
  }
  readonly guard: Pick<Guard, 'open'>
  readonly onShed: () => void
  /** A visitor was sent to where a link leads after its end. */
  readonly onEnded: () => void
  readonly onError: (error: unknown) => void
}

/**
 * What is known of a code, and whether there is a hit left of it, make what is told. `prepared` is the copy's redirect,
 * if it can be one; `redirect` the same for who asks.
 */
export function outcome(
  copy: Copy | 'unknown',
  prepared: Prepared | undefined,
  redirect: Outcome | undefined,
  nowMs: () => number,
  verdict: Verdict,
  secondsToMonthEnd: () => number,
): Outcome {
  if (copy === 'unknown') return cannotSay
  if (!isLink(copy.known)) return notFound
  if (prepared === undefined || redirect === undefined) return unfit
  const standing = standingOf(prepared, nowMs)
  if (standing === 'early') return notFound
  if (standing === 'over') return prepared.ended ?? notFound
  switch (verdict) {
    case 'granted':
      return redirect
    case 'used_up':
      return prepared.ended ?? usedUp(secondsToMonthEnd())
    case 'gone':
      return notFound
    case 'unknown':
      return ungrantable
    case 'overloaded':
      return overloaded
  }
}

const isReady = (prepared: Prepared, nowMs: () => number, hasQuery: boolean): boolean =>
  prepared.special === undefined &&
  !(hasQuery && prepared.forwards !== undefined) &&
  standingOf(prepared, nowMs) === 'open'

export class Decisions {
  readonly #deps: DecisionDeps

  constructor(deps: DecisionDeps) {
    this.#deps = deps
  }

  /**
   * The redirect that tier 1 has ready: no promise, no allocation. Undefined: `ask`. Only parsed codes are ever held, so a
   * copy proves the code.
   */
  atOnce(code: string, isHead: boolean, monotonicMs: number, hasQuery: boolean): Prepared | undefined {
    const { resolver, clicks, hits, nowMs } = this.#deps
    const copy = resolver.local(code as Code)
    if (copy === undefined) return undefined
    const prepared = copy.prepared ?? prepareCopy(copy, clicks, hits)
    if (prepared === undefined || !(prepared.isPlain || isReady(prepared, nowMs, hasQuery))) return undefined
    const { lease } = prepared
    return lease === undefined || (!isHead && lease.spend(monotonicMs)) ? prepared : undefined
  }

  /** Everything else. HEAD is told what GET would be, and takes no hit. */
  ask(site: Site, path: string, isHead: boolean, asker: Asker): Told | Promise<Told> {
    const slug = parseCode(path)
    if (slug === undefined) return this.#tell(notFound, undefined, site, asker)
    if (site.always !== undefined) return this.#tell(site.always, undefined, site, asker)
    const code = (site.prefix + slug) as Code
    const { resolver, onShed } = this.#deps
    const copy = resolver.local(code)
    if (copy !== undefined) {
      const told = this.#of(copy, 'local', isHead, site, asker)
      return told instanceof Promise ? told.catch(this.#onBroken) : told
    }
    const found = resolver.ask(code)
    if (found === undefined) {
      onShed()
      return { outcome: overloaded, source: undefined }
    }
    return found.then(({ copy, source }) => this.#of(copy, source, isHead, site, asker)).catch(this.#onBroken)
  }

  /** The link itself, for what is told about it besides: no hit, no click. Otherwise the page that its visitor would see. */
  async look(site: Site, path: string, asker: Asker): Promise<Link | Page> {
    const slug = parseCode(path)
    if (slug === undefined || site.always === notFound) return this.#absent(site, asker)
    if (site.always !== undefined) return site.always
    const code = (site.prefix + slug) as Code
    const { resolver, nowMs, onShed } = this.#deps
    const copy = resolver.local(code) ?? (await resolver.ask(code))?.copy
    if (copy === undefined) {
      onShed()
      return overloaded
    }
    if (copy === 'unknown') return cannotSay
    return isLink(copy.known) && isOpen(copy.known, nowMs()) ? copy.known : this.#absent(site, asker)
  }

  /** A mistake is answered, too: an unhandled rejection would end the process. */
  readonly #onBroken = (error: unknown): Told => {
    this.#deps.onError(error)
    return { outcome: broken, source: undefined }
  }

  #of(copy: Copy | 'unknown', source: Knower, isHead: boolean, site: Site, asker: Asker): Told | Promise<Told> {
    const { clicks, hits, nowMs } = this.#deps
    const prepared = copy === 'unknown' ? undefined : prepareCopy(copy, clicks, hits)
    return this.#spend(copy, prepared, prepared && preparedFor(prepared, asker, nowMs), source, isHead, site, asker)
  }

  /** A hit, if it takes one to say so. */
  #spend(
    copy: Copy | 'unknown',
    prepared: Prepared | undefined,
    redirect: Outcome | undefined,
    source: Knower,
    isHead: boolean,
    site: Site,
    asker: Asker,
  ): Told | Promise<Told> {
    const { hits, nowMs, onShed, onEnded } = this.#deps
    const tell = (verdict: Verdict): Told => {
      if (verdict === 'overloaded') onShed()
      const said = outcome(copy, prepared, redirect, nowMs, verdict, () => hits.secondsToMonthEnd())
      if (!isHead && said === prepared?.ended) onEnded()
      return this.#tell(said, source, site, asker)
    }
    // A hit is asked for only where it can be spent.
    const lease = redirect?.tally && prepared?.lease
    if (prepared === undefined || lease === undefined || standingOf(prepared, nowMs) !== 'open') return tell('granted')
    if (isHead) return hits.look(lease).then(tell)
    return lease.spend(performance.now()) ? tell('granted') : hits.acquire(lease, () => asker.isWanted()).then(tell)
  }

  /** The form of a password. Where none is asked for, a POST is a wrong method. */
  submit(site: Site, path: string, guess: Asker & Guess): Promise<Told> {
    return this.#submit(site, path, guess).catch((error: unknown) =>
      error instanceof FormRefused ? { outcome: formRefused[error.why], source: undefined } : this.#onBroken(error),
    )
  }

  async #submit(site: Site, path: string, guess: Asker & Guess): Promise<Told> {
    const { resolver, clicks, hits, nowMs, onShed } = this.#deps
    const slug = parseCode(path)
    if (slug === undefined || site.always !== undefined) return { outcome: wrongMethod, source: undefined }
    const code = (site.prefix + slug) as Code
    const local = resolver.local(code)
    const found = local === undefined ? await resolver.ask(code) : { copy: local, source: 'local' as const }
    if (found === undefined) {
      onShed()
      return { outcome: overloaded, source: undefined }
    }
    const { copy, source } = found
    if (copy === 'unknown') return { outcome: cannotSay, source }
    const { known } = copy
    if (!isLink(known)) {
      // It says no more than a link without a password would, and is a try for an absent code all the same.
      const told = this.#tell(notFound, source, site, guess)
      return told.outcome.status === 429 ? told : { outcome: wrongMethod, source }
    }
    const prepared = prepareCopy(copy, clicks, hits)
    if (known.special !== 'password' || prepared === undefined) return { outcome: wrongMethod, source }
    const isOpen = standingOf(prepared, nowMs) === 'open'
    const redirect = isOpen ? await this.#open(code, slug, known.id, prepared, guess) : prepared
    return this.#spend(copy, prepared, redirect, source, false, site, guess)
  }

  async #open(code: Code, slug: string, linkId: number, prepared: Prepared, guess: Asker & Guess): Promise<Outcome> {
    const opened = await this.#deps.guard.open(code, linkId, guess)
    switch (opened) {
      case 'wrong':
        return passwordWrong(guess.accept)
      case 'changed':
        return askAnew(`/${slug}`)
      case 'busy':
        return passwordsBusy
      case 'unavailable':
        return cannotSay
      default:
        return 'url' in opened ? preparedTo(prepared, opened.url, guess, 303) : tooManyPasswords(opened.tooManyForS)
    }
  }

  /** An address that has asked for many absent codes is told 429. */
  #tell(outcome: Outcome, source: Knower, site: Site, asker: Asker): Told {
    return { outcome: outcome === notFound ? this.#absent(site, asker) : outcome, source }
  }

  #absent(site: Site, asker: Asker): Page {
    const { blocked, retryAfterS } = this.#deps.absentCodes.onNotFound(asker.peer, asker.forwardedFor)
    return blocked ? tooManyAbsent(retryAfterS) : site.notFound
  }
}
