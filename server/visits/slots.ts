// What a redirect leaves of its visitor: the bytes that matter, in one slot of a buffer that is made once. They are parsed
// later, outside of any request, and wiped then: no address and no user agent goes further than this.
//
//   flags, rule, then with a length before each: address, language, three utm values, referrer's host, user agent
import { limits } from '../limits.ts'

/** What of a request says who came, and from where. A character per byte, as it came. */
export interface Said {
  readonly userAgent: string | undefined
  readonly referer: string | undefined
  readonly acceptLanguage: string | undefined
  /** DNT or Sec-GPC asks for it. */
  readonly isPrivate: boolean
  /** Sec-Purpose, or one of the names that it had before. */
  readonly purpose: string | undefined
}

export interface Seen {
  readonly address: string
  readonly userAgent: string
  /** The host, as it was written. */
  readonly referrer: string
  readonly language: string
  /** Source, medium, campaign. */
  readonly utm: readonly [string, string, string]
  readonly isPrivate: boolean
  readonly isPrefetch: boolean
  /** Of a link with rules: 0 where none fitted, else which. Undefined: it has none. */
  readonly rule: number | undefined
}

/** In the order in which they are looked at. */
export const purposeNames = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const

export const saidBy = (
  userAgent: string | undefined,
  referer: string | undefined,
  acceptLanguage: string | undefined,
  dnt: string | undefined,
  gpc: string | undefined,
  purposes: readonly (string | undefined)[],
): Said => ({
  userAgent,
  referer,
  acceptLanguage,
  // node:http joins what came twice; the first one counts.
  isPrivate: dnt?.[0] === '1' || gpc?.[0] === '1',
  purpose: purposes.find((purpose) => purpose !== undefined)?.split(',', 1)[0],
})
export const nothingSaid = saidBy(undefined, undefined, undefined, undefined, undefined, [])

const privateFlag = 1
const prefetchFlag = 2
const most = { address: 45, language: 8, utm: 40, referrer: 72, userAgent: 255 } as const
const utmNames = ['utm_source=', 'utm_medium=', 'utm_campaign='] as const

export function writeSlot(
  slots: Buffer,
  begin: number,
  { userAgent, referer, acceptLanguage, isPrivate, purpose }: Said,
  address: string,
  query: string | undefined,
  rule: number | undefined,
): void {
  slots[begin] = (isPrivate ? privateFlag : 0) | (isPrefetch(purpose) ? prefetchFlag : 0)
  slots[begin + 1] = rule === undefined ? 0 : rule + 1
  let at = put(slots, begin + 2, address, most.address)
  at = put(slots, at, acceptLanguage ?? '', most.language)
  for (const name of utmNames) at = putUnescaped(slots, at, query, name)
  at = put(slots, at, hostOf(referer), most.referrer)
  put(slots, at, userAgent ?? '', most.userAgent)
}

/** A length is one byte. */
function put(slots: Buffer, at: number, text: string, longest: number): number {
  const length = Math.min(text.length, longest)
  slots[at] = length
  slots.write(text, at + 1, length, 'latin1')
  return at + 1 + length
}

/** The value of a parameter, with its escapes resolved, as far as there is room. */
function putUnescaped(slots: Buffer, at: number, query: string | undefined, name: string): number {
  const end = at + 1 + most.utm
  let to = at + 1
  let from = query === undefined ? -1 : beginOf(query, name)
  if (query !== undefined && from !== -1) {
    for (; to < end && from < query.length; from++) {
      const code = query.charCodeAt(from)
      if (code === 38) break
      const escaped = code === 37 ? parseInt(query.slice(from + 1, from + 3), 16) : NaN
      if (escaped >= 0) from += 2
      slots[to++] = escaped >= 0 ? escaped : code === 43 ? 32 : code
    }
  }
  slots[at] = to - at - 1
  return to
}

function beginOf(query: string, name: string): number {
  const short = query.length > limits.visitQuery ? query.slice(0, limits.visitQuery) : query
  if (short.startsWith(name)) return name.length
  const at = short.indexOf(`&${name}`)
  return at === -1 ? -1 : at + 1 + name.length
}

function hostOf(referer: string | undefined): string {
  const begin = referer?.indexOf('://') ?? -1
  if (referer === undefined || begin === -1) return ''
  let end = begin + 3
  while (end < referer.length && end < begin + 3 + most.referrer && !'/?#'.includes(referer[end]!)) end++
  return referer.slice(begin + 3, end)
}

function isPrefetch(purpose: string | undefined): boolean {
  const said = purpose?.slice(0, 32).toLowerCase() ?? ''
  return said.includes('prefetch') || said.includes('prerender') || said.includes('preview')
}

export function readSlot(slots: Buffer, begin: number): Seen {
  const [flags = 0, rule = 0] = [slots[begin], slots[begin + 1]]
  let at = begin + 2
  const take = (as: 'latin1' | 'utf8'): string => {
    const from = at + 1
    at = from + slots[at]!
    return slots.toString(as, from, at)
  }
  return {
    address: take('latin1'),
    language: take('latin1'),
    utm: [take('utf8'), take('utf8'), take('utf8')],
    referrer: take('latin1'),
    userAgent: take('latin1'),
    isPrivate: (flags & privateFlag) !== 0,
    isPrefetch: (flags & prefetchFlag) !== 0,
    rule: rule === 0 ? undefined : rule - 1,
  }
}
