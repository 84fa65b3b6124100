// Few codes and one map to HTTP. `message` is for the caller; `cause` is for the operator's log and never leaves.

const statusOf = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  quota_exceeded: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  rate_limited: 429,
  hits_used_up: 429,
  unavailable: 503,
  internal: 500,
} as const

export type ErrorCode = keyof typeof statusOf

const titles: Record<ErrorCode, string> = {
  invalid: 'The request is not valid',
  unauthorized: 'A valid API key is needed',
  forbidden: 'This key may not do that',
  quota_exceeded: 'The quota is used up',
  not_found: 'There is nothing here',
  method_not_allowed: 'This method is not supported here',
  conflict: 'This clashes with what exists',
  too_large: 'The request is too large',
  rate_limited: 'Too many requests',
  hits_used_up: 'This link has used up its hits for the month',
  unavailable: 'Temporarily unavailable',
  internal: 'Something went wrong',
}

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
  return {
    status: statusOf[known.code],
    headers: { ...(retryAfterS === undefined ? {} : { 'Retry-After': String(retryAfterS) }), ...headers },
    body: {
      type: 'about:blank',
      title: titles[known.code],
      status: statusOf[known.code],
      detail: known.message,
      code: known.code,
      ...members,
    },
  }
}
