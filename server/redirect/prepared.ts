// What a link answers, made once per tier-1 copy, in the two forms that are needed: the fields for `writeHead`, and all
// the bytes for the raw socket. Both come from the same list, so the two ways cannot drift apart.
import type { Counter, Tally } from '../clicks/counter.ts'
import type { HitQuota, Lease } from '../hits/hit-quota.ts'
import { isLink, type Link, type Special } from '../link.ts'
import { withQuery } from './forward.ts'
import { leadingTo, tooLongQuery, unfit, type Page } from './pages.ts'
import { passwordAsked } from './password-pages.ts'
import { firstThatFits, type Visit } from './rules.ts'
import { headOf, tailOf } from './wire.ts'
import type { Copy } from './tier1-local.ts'

export interface Prepared {
  readonly status: 301 | 302 | 303
  /** Names and values in turn, as `writeHead` takes them. */
  readonly fields: string[]
  readonly head: string
  readonly tally: Tally
  /** Undefined: as many hits as there are. */
  readonly lease: Lease | undefined
  /** It has no ends, is not special, and no query matters: there is nothing to look at before it is written. */
  readonly isPlain: boolean
  /** Unix milliseconds at which the link begins and ends by time; infinite where it does not. */
  readonly beginsMs: number
  readonly endsMs: number
  /** What is told instead when it has ended, or its hits are used up. */
  readonly ended: Page | undefined
  /** The target that a visitor's query is said to, too. */
  readonly forwards: string | undefined
  /** Of a link with rules, what decided where this visitor is led: 0 for none of them, else which. */
  readonly rule: number | undefined
  /** What else has to be looked at before anybody is led anywhere. */
  readonly special: Special | undefined
  /** Of a link with rules: what who is led by each of them is told, made when the first one is. */
  readonly led: Outcome[] | undefined
  /** The whole answer, as of `wireDate`. */
  wire: string
  wireDate: string
}

/** A redirect, or a page instead of one. */
export type Outcome = Prepared | Page

/** What of a visitor decides where it is led. */
interface Visitor extends Visit {
  readonly accept: string | undefined
}

type Tallies = Pick<Counter, 'tally'>
type Hits = Pick<HitQuota, 'leaseOf'>

/** Only what the WHATWG serialiser can have written becomes a header: a row put in by hand may hold anything. */
const fitsHeader = /^[\x21-\x7e]+$/

export function prepare(link: Link, clicks: Tallies, hits: Hits): Prepared | undefined {
  const { url, permanent, startsAtS, expiresAtS, expiredUrl, forwardQuery, special } = link
  if (special !== 'password' && !fitsHeader.test(url)) return undefined
  const status = permanent && special === undefined ? 301 : 302
  const fields = fieldsOf(status, url)
  return {
    status,
    fields,
    head: headOf(status, fields),
    tally: clicks.tally(link.id),
    lease: hits.leaseOf(link),
    isPlain: startsAtS === null && expiresAtS === null && !forwardQuery && special === undefined,
    beginsMs: startsAtS === null ? -Infinity : startsAtS * 1000,
    endsMs: expiresAtS === null ? Infinity : expiresAtS * 1000,
    ended: expiredUrl === null ? undefined : fitsHeader.test(expiredUrl) ? leadingTo(expiredUrl) : unfit,
    forwards: forwardQuery ? url : undefined,
    rule: undefined,
    special,
    led: special === undefined || special === 'password' ? undefined : [],
    wire: '',
    wireDate: '',
  }
}

const fieldsOf = (status: Prepared['status'], url: string): string[] => {
  const caching = status === 301 ? 'private, max-age=90' : 'no-store'
  const fields = ['Location', url, 'Cache-Control', caching, 'Content-Length', '0']
  if (status === 303) fields.push('Referrer-Policy', 'no-referrer')
  return fields
}

/** The same for this visitor. Nothing of it is kept. */
export function preparedFor(prepared: Prepared, visit: Visitor, nowMs: () => number): Outcome {
  const { special, forwards } = prepared
  if (special === undefined) return forwards === undefined ? prepared : preparedTo(prepared, forwards, visit)
  if (special === 'password') return passwordAsked(visit.accept)
  const [, url = ''] = prepared.fields
  const found = firstThatFits(special, visit, nowMs)
  const rule = found === undefined ? 0 : special.indexOf(found) + 1
  const led = (query: string | undefined): Outcome => preparedTo({ ...prepared, rule }, found?.url ?? url, { query })
  if (prepared.led === undefined || (forwards !== undefined && visit.query !== undefined)) return led(visit.query)
  return (prepared.led[rule] ??= led(undefined))
}

/** The same link, elsewhere. */
export function preparedTo(
  prepared: Prepared,
  to: string,
  { query }: Pick<Visitor, 'query'>,
  status = prepared.status,
): Outcome {
  const url = prepared.forwards === undefined || query === undefined ? to : withQuery(to, query)
  if (url === undefined) return tooLongQuery
  if (status === prepared.status && url === prepared.fields[1]) return prepared
  if (!fitsHeader.test(url)) return unfit
  const fields = fieldsOf(status, url)
  return { ...prepared, status, fields, head: headOf(status, fields), wire: '', wireDate: '' }
}

/** Where it stands between its ends. The clock is asked only for a link that may have one. */
export function standingOf(prepared: Prepared, nowMs: () => number): 'early' | 'open' | 'over' {
  if (prepared.isPlain) return 'open'
  const now = nowMs()
  if (now < prepared.beginsMs) return 'early'
  return now < prepared.endsMs ? 'open' : 'over'
}

/** Undefined: there is nothing to redirect to. */
export function prepareCopy(copy: Copy, clicks: Tallies, hits: Hits): Prepared | undefined {
  const { known } = copy
  return (copy.prepared ??= isLink(known) ? prepare(known, clicks, hits) : undefined)
}

/** The answer as bytes, one per character. Put together anew only when the date has changed. */
export function wireOf(prepared: Prepared, date: string): string {
  if (prepared.wireDate !== date) {
    prepared.wire = prepared.head + date + tailOf(false)
    prepared.wireDate = date
  }
  return prepared.wire
}

/** The value of `Date`, made once per second. */
export function createDateHeader(): (nowMs: number) => string {
  let text = ''
  let validUntilMs = -Infinity
  /** `nowMs` is of the monotonic clock, which the caller has read anyway. */
  return (nowMs) => {
    if (nowMs >= validUntilMs) {
      const wallMs = Date.now()
      text = new Date(wallMs).toUTCString()
      validUntilMs = nowMs + 1000 - (wallMs % 1000)
    }
    return text
  }
}
