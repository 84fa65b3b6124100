// The domain. Imports nothing, so that every room can speak of links without knowing the others.

/** The short part of a short URL. Only `parseCode` makes one, so a malformed code cannot reach Redis or Postgres. */
export type Code = string & { readonly __brand: 'Code' }

/** Drawn from one Postgres sequence under the row's lock: of two versions of one code, the larger is the newer. */
export type Version = number

export interface Link {
  readonly code: Code
  /** Identity of this life of the code: clicks and hits belong to it, so a re-created code inherits nothing. */
  readonly id: number
  readonly url: string
  readonly permanent: boolean
  /** Exact to the second; every tier compares it, nobody announces it. */
  readonly expiresAtS: number | null
  readonly monthlyHits: number | null
  readonly version: Version
}

/** Nothing to redirect to: no row (version 0), or a row that is disabled or deleted. */
export interface Absent {
  readonly absent: true
  readonly version: Version
}

/** What Redis or Postgres has answered. Only this is ever cached. */
export type Known = Link | Absent

/** 'unknown': neither of them could answer. That is not an absence, and is never cached. */
export type Answer = Known | 'unknown'

export const isLink = (known: Known): known is Link => !('absent' in known)

/** Both lead to the same, or both to nothing. */
export function agree(one: Known, other: Known): boolean {
  if (!isLink(one) || !isLink(other)) return isLink(one) === isLink(other)
  return (
    one.version === other.version &&
    one.id === other.id &&
    one.url === other.url &&
    one.permanent === other.permanent &&
    one.expiresAtS === other.expiresAtS &&
    one.monthlyHits === other.monthlyHits
  )
}

/** Of two that are not in order by their versions, the absence is the newer one: a row deleted by hand keeps its version. */
export const isOlder = (one: Known, other: Known): boolean =>
  one.version < other.version || (one.version === other.version && isLink(one) && !isLink(other))

export const absent = (version: Version): Absent => ({ absent: true, version })

/** The last second that RFC 3339 can write: what lies behind it could be shown, and not read back. */
export const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59)

export const isExpired = (link: Link, nowMs: number): boolean =>
  link.expiresAtS !== null && link.expiresAtS * 1000 <= nowMs

export const generatedCodeLength = 7
export const customCodeLength = { min: 3, max: 64 } as const

/** First path segments that are QuickLink's own, or that a visitor or a crawler expects to mean something else. */
export const reservedWords: ReadonlySet<string> = new Set([
  'api', 'admin', 'assets', 'docs', 'favicon', 'health', 'healthz', 'help', 'livez', 'login', 'logout', 'metrics',
  'readyz', 'robots', 'security', 'sitemap', 'static', 'status', 'statusz', 'well-known',
]) // prettier-ignore

const codeGrammar = /^[0-9A-Za-z_-]{3,64}$/

/** A code that may exist: generated or custom. Anything else is a 404 without asking anyone. */
export function parseCode(text: string): Code | undefined {
  return codeGrammar.test(text) && !reservedWords.has(text.toLowerCase()) ? (text as Code) : undefined
}
