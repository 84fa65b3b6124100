// What a link answers, made once per tier-1 copy, in the two forms that are needed: the fields for `writeHead`, and all
// the bytes for the raw socket. Both come from the same list, so the two ways cannot drift apart.
import { STATUS_CODES } from 'node:http'
import type { Counter, Tally } from '../clicks/counter.ts'
import { limits } from '../config.ts'
import type { HitQuota, Lease } from '../hits/hit-quota.ts'
import { isLink, type Link } from '../link.ts'
import type { Copy } from './tier1-local.ts'

export interface Prepared {
  readonly status: 301 | 302
  /** Names and values in turn, as `writeHead` takes them. */
  readonly fields: string[]
  readonly head: string
  readonly tally: Tally
  /** Undefined: as many hits as there are. */
  readonly lease: Lease | undefined
  /** Unix milliseconds at which the link ends by time; Infinity where it does not. */
  readonly endsMs: number
  /** The whole answer, as of `wireDate`. */
  wire: string
  wireDate: string
}

type Tallies = Pick<Counter, 'tally'>
type Hits = Pick<HitQuota, 'leaseOf'>

/** Only what the WHATWG serialiser can have written becomes a header: a row put in by hand may hold anything. */
const fitsHeader = /^[\x21-\x7e]+$/

const tails = [
  `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(limits.keepAliveMs / 1000)}\r\n\r\n`,
  '\r\nConnection: close\r\n\r\n',
] as const
/** What stands behind the date. */
export const tailOf = (closes: boolean): string => tails[closes ? 1 : 0]

export function prepare(link: Link, clicks: Tallies, hits: Hits): Prepared | undefined {
  if (!fitsHeader.test(link.url)) return undefined
  const status = link.permanent ? 301 : 302
  const caching = link.permanent ? 'private, max-age=90' : 'no-store'
  const fields = ['Location', link.url, 'Cache-Control', caching, 'Content-Length', '0']
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i] ?? ''}: ${fields[i + 1] ?? ''}\r\n`
  return {
    status,
    fields,
    head: `${head}Date: `,
    tally: clicks.tally(link.id),
    lease: hits.leaseOf(link),
    endsMs: link.expiresAtS === null ? Infinity : link.expiresAtS * 1000,
    wire: '',
    wireDate: '',
  }
}

/** The clock is asked only for a link that has an end. */
export const isOver = (prepared: Prepared, nowMs: () => number): boolean =>
  prepared.endsMs !== Infinity && prepared.endsMs <= nowMs()

/** Undefined: there is nothing to redirect to. */
export function prepareCopy(copy: Copy, clicks: Tallies, hits: Hits): Prepared | undefined {
  const { known } = copy
  return (copy.prepared ??= isLink(known) ? prepare(known, clicks, hits) : undefined)
}

/** The answer as bytes, one per character. Put together anew only when the date has changed. */
export function wireOf(prepared: Prepared, date: string): string {
  if (prepared.wireDate !== date) {
    prepared.wire = prepared.head + date + tails[0]
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
