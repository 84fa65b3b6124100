// The public API, by the browser's session. An answer that is no success is thrown, as a problem with one sentence for people.
import { every, quickLink, type Link, type Problem } from '../../clients/typescript/client.ts'
import type { components } from '../../clients/typescript/api.ts'

export type Schemas = components['schemas']
export type { Link, Problem }
export { every }

export const api = quickLink({ url: location.origin })

export class ProblemError extends Error {
  readonly code: string
  readonly field: string | undefined

  constructor({ code, detail, field }: Pick<Problem, 'code' | 'detail' | 'field'>) {
    super(detail)
    this.name = 'ProblemError'
    this.code = code
    this.field = field
  }
}

interface Asked<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** `offline`: nobody answered; `strange`: somebody else did, a proxy perhaps. */
async function complete<T>(asked: Promise<Asked<T>>): Promise<Asked<T>> {
  const answer = await asked.catch(() => {
    throw new ProblemError({ code: 'offline', detail: '' })
  })
  if (answer.response.ok) return answer
  const { code = 'strange', detail = '', field } = (answer.error ?? {}) as Partial<Problem>
  throw new ProblemError({ code, detail, ...(field === undefined ? {} : { field }) })
}

export async function answerOf<T>(asked: Promise<Asked<T>>): Promise<NonNullable<T>> {
  const { data } = await complete(asked)
  if (data === undefined || data === null) throw new ProblemError({ code: 'strange', detail: '' })
  return data
}

/** With the mark of the state that it shows, for `If-Match`. */
export async function markedAnswerOf<T>(
  asked: Promise<Asked<T>>,
): Promise<{ readonly value: NonNullable<T>; readonly etag: string }> {
  const { data, response } = await complete(asked)
  if (data === undefined || data === null) throw new ProblemError({ code: 'strange', detail: '' })
  return { value: data, etag: response.headers.get('ETag') ?? '' }
}

export async function done(asked: Promise<Asked<unknown>>): Promise<void> {
  await complete(asked)
}

export const problemOf = (error: unknown): ProblemError =>
  error instanceof ProblemError ? error : new ProblemError({ code: 'broken', detail: String(error) })

/** How a link is named in calls: its domain counts only where it is not the default one. */
export const named = ({ code, domain }: Pick<Link, 'code' | 'domain'>) => ({
  path: { code },
  query: domain === null ? {} : { domain },
})

export const linkKey = ({ code, domain }: Pick<Link, 'code' | 'domain'>) => ['link', domain ?? '', code] as const
