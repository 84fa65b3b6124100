// Few codes and one map to HTTP. `message` is for the caller; `cause` is for the operator's log and never leaves.

/** The status of each, and its title. */
const problems = {
  invalid: [400, 'The request is not valid'],
  unauthorized: [401, 'A valid API key is needed'],
  password_required: [401, 'A password is needed'],
  forbidden: [403, 'This key may not do that'],
  quota_exceeded: [403, 'The quota is used up'],
  not_found: [404, 'There is nothing here'],
  method_not_allowed: [405, 'This method is not supported here'],
  conflict: [409, 'This clashes with what exists'],
  precondition_failed: [412, 'This has changed since it was read'],
  too_large: [413, 'The request is too large'],
  unsupported_format: [415, 'This format is not supported'],
  rate_limited: [429, 'Too many requests'],
  hits_used_up: [429, 'This link has used up its hits for the month'],
  unavailable: [503, 'Temporarily unavailable'],
  internal: [500, 'Something went wrong'],
} as const

export type ErrorCode = keyof typeof problems

export const statusOf = (code: ErrorCode): number => problems[code][0]
export const titleOf = (code: ErrorCode): string => problems[code][1]

interface ProblemExtras {
  /** Further members of the problem document, e.g. `field`, `used`, `limit`. */
  readonly members?: Readonly<Record<string, string | number | null>>
  readonly retryAfterS?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

export class QuickLinkError extends Error {
  readonly code: ErrorCode
  readonly extras: ProblemExtras

  constructor(code: ErrorCode, message: string, extras: ProblemExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause })
    this.name = 'QuickLinkError'
    this.code = code
    this.extras = extras
  }
}

export const invalid = (field: string, message: string): QuickLinkError =>
  new QuickLinkError('invalid', message, { members: { field } })

export const unavailable = (message: string, cause?: unknown): QuickLinkError =>
  new QuickLinkError('unavailable', message, { retryAfterS: 1, cause })

/** Not the caller's doing: the same request may succeed another time. */
export const isOurFault = (error: unknown): boolean =>
  !(error instanceof QuickLinkError) || error.code === 'unavailable' || error.code === 'internal'

export interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** Anything thrown, as the answer its caller gets. What is not ours is `internal`, and says nothing of its reason. */
export function toProblem(error: unknown): Problem {
  const known =
    error instanceof QuickLinkError
      ? error
      : new QuickLinkError('internal', 'The server could not handle this request.')
  const { members, retryAfterS, headers } = known.extras
  const [status, title] = problems[known.code]
  return {
    status,
    headers: { ...(retryAfterS === undefined ? {} : { 'Retry-After': String(retryAfterS) }), ...headers },
    body: { type: 'about:blank', title, status, detail: known.message, code: known.code, ...members },
  }
}
