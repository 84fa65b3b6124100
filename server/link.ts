// The domain. Imports nothing, so that every room can speak of links without knowing the others.

/**
 * What a link is known by: of the default domain the short part of its URL, of a further domain `host/` and that. Only
 * `parseCode`, `codeAt` and `parseCodeAt` make one, so a malformed code cannot reach Redis or Postgres.
 */
export type Code = string & { readonly __brand: 'Code' }

/** Drawn from one Postgres sequence under the row's lock: of two versions of one code, the larger is the newer. */
export type Version = number

export interface Link {
  readonly code: Code
  /** Identity of this life of the code: clicks and hits belong to it, so a re-created code inherits nothing. */
  readonly id: number
  readonly url: string
  readonly permanent: boolean
  /** Both ends are exact to the second; every tier compares them, nobody announces them. */
  readonly startsAtS: number | null
  readonly expiresAtS: number | null
  /** Where it leads when it has ended, or its month's hits are used up. */
  readonly expiredUrl: string | null
  /** What a visitor's query says is said to the target, too. */
  readonly forwardQuery: boolean
  readonly monthlyHits: number | null
  readonly version: Version
  /** Undefined, as of nearly all: everybody is led to `url`. */
  readonly special?: Special
}

/** Rules, the first that fits; `url` is for whom none does. Or a password: where it leads, only Postgres knows, and `url` is ''. */
export type Special = readonly Rule[] | 'password'

export interface Rule {
  readonly when: When
  readonly url: string
}

/** All that is named has to be so. */
export interface When {
  readonly device?: Device | undefined
  readonly os?: Os | undefined
  /** The first choice of a visitor's Accept-Language, or what it begins with. */
  readonly language?: string | undefined
  /** From this second on, and until this one. */
  readonly afterS?: number | undefined
  readonly beforeS?: number | undefined
  readonly query?: Readonly<Record<string, string>> | undefined
}

export const devices = ['mobile', 'tablet', 'desktop'] as const
export type Device = (typeof devices)[number]

export const systems = ['android', 'ios', 'windows', 'macos', 'linux', 'chromeos'] as const
export type Os = (typeof systems)[number]

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
    one.startsAtS === other.startsAtS &&
    one.expiresAtS === other.expiresAtS &&
    one.expiredUrl === other.expiredUrl &&
    one.forwardQuery === other.forwardQuery &&
    one.monthlyHits === other.monthlyHits &&
    (one.special === other.special || JSON.stringify(one.special) === JSON.stringify(other.special))
  )
}

/** Of two that are not in order by their versions, the absence is the newer one: a row deleted by hand keeps its version. */
export const isOlder = (one: Known, other: Known): boolean =>
  one.version < other.version || (one.version === other.version && isLink(one) && !isLink(other))

export const absent = (version: Version): Absent => ({ absent: true, version })

/** The last second that RFC 3339 can write: what lies behind it could be shown, and not read back. */
export const lastTimeMs = Date.UTC(9999, 11, 31, 23, 59, 59)

/** From when on it is answered as if it were not there, and nobody has to remember it; null: never. */
export const goneAtS = ({ expiresAtS, expiredUrl }: Link): number | null => (expiredUrl === null ? expiresAtS : null)

/** It has begun, and has not ended. */
export const isOpen = ({ startsAtS, expiresAtS }: Link, nowMs: number): boolean =>
  (startsAtS ?? 0) * 1000 <= nowMs && nowMs < (expiresAtS ?? Infinity) * 1000

export const generatedCodeLength = 7
/** Shorter ones come by import only. */
export const customCodeLength = { min: 3, max: 64 } as const

/** First path segments that are QuickLink's own, or that a visitor or a crawler expects to mean something else. No link has ever had one. */
const alwaysReserved: ReadonlySet<string> = new Set([
  'api', 'admin', 'assets', 'docs', 'favicon', 'health', 'healthz', 'help', 'livez', 'login', 'logout', 'metrics',
  'readyz', 'robots', 'security', 'sitemap', 'static', 'status', 'statusz', 'well-known',
]) // prettier-ignore

/** Reserved since migrations 0009 and 0012, which name the links that have one. They keep it. */
export const laterReserved: ReadonlySet<string> = new Set([
  'account', 'auth', 'bulk', 'console', 'export', 'invite', 'oidc', 'session', 'signin', 'signout', 'signup',
]) // prettier-ignore

export const reservedWords: ReadonlySet<string> = alwaysReserved.union(laterReserved)

/** No link may get it. */
export const isReserved = (text: string): boolean => reservedWords.has(text.toLowerCase())

const codeGrammar = /^[0-9A-Za-z_-]{1,64}$/

/** A code that may exist: generated, custom, or imported. Anything else is a 404 without asking anyone. */
export function parseCode(text: string): Code | undefined {
  return codeGrammar.test(text) && !alwaysReserved.has(text.toLowerCase()) ? (text as Code) : undefined
}

/** The code of a further domain's link; of the default domain's, where there is no host. */
export const codeAt = (host: string | null, slug: Code): Code => (host === null ? slug : (`${host}/${slug}` as Code))

/** The further domain of a link; null: the default domain. */
export function domainOf(code: Code): string | null {
  const slash = code.indexOf('/')
  return slash === -1 ? null : code.slice(0, slash)
}

/** The part of a short URL behind its host. */
export const slugOf = (code: Code): Code => code.slice(code.indexOf('/') + 1) as Code

/** A host as it stands before a code: lower case, without a port or a dot at its end. */
const hostGrammar = /^[0-9a-z]([0-9a-z._-]{0,251}[0-9a-z])?$/

/** As `parseCode`, with a further domain's host before it or without. */
export function parseCodeAt(text: string): Code | undefined {
  const slash = text.indexOf('/')
  if (slash !== -1 && !hostGrammar.test(text.slice(0, slash))) return undefined
  return parseCode(text.slice(slash + 1)) && (text as Code)
}

export const isHostName = (text: string): boolean => hostGrammar.test(text)
