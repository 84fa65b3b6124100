// What a request may say, field by field, and how much of it a tenant's tier allows.
import { z } from 'zod'
import { mustBe, pageOf } from '../api/http.ts'
import { invalid } from '../errors.ts'
import type { Tier } from '../tenants/tiers.ts'
import { customCodeLength, lastTimeMs, parseCode, reservedWords, type Code } from '../link.ts'

const boolean = z.boolean(mustBe('true or false'))
const largestInteger = 2 ** 31 - 1
const hits = `a whole number from 1 to ${largestInteger}, or null`
const monthlyHits = z.int(mustBe(hits)).min(1, `must be ${hits}`).max(largestInteger, `must be ${hits}`).nullable()

const firstTimeMs = Date.parse('0001-01-01T00:00:00Z')
const timeForm = 'a time like 2030-01-31T12:00:00Z'
const time = z
  .string(mustBe(timeForm))
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/, `must be ${timeForm}`)
  .pipe(z.iso.datetime({ offset: true, error: `must be ${timeForm}` }))
  .transform((text) => new Date(text))
  // An offset carries the last day of our grammar, or the first, beyond what it can read back.
  .refine((at) => at.getTime() >= firstTimeMs && at.getTime() < lastTimeMs + 1000, `must be ${timeForm}`)

/** Expiry is exact to the second, so the rest is cut off, and the answer shows what holds. */
export const futureTime = time
  .transform((at) => new Date(Math.floor(at.getTime() / 1000) * 1000))
  .refine((at) => at.getTime() > Date.now(), 'must be in the future')

const expiresAt = futureTime.nullable()

const text = z.string(mustBe('text'))
const mayChange = {
  permanent: boolean.optional(),
  enabled: boolean.optional(),
  expiresAt: expiresAt.optional(),
  monthlyHits: monthlyHits.optional(),
}

export const createSchema = z.strictObject({ url: text, code: text.optional(), ...mayChange }, mustBe('a JSON object'))

export const patchSchema = z
  .strictObject({ url: text.optional(), ...mayChange }, mustBe('a JSON object'))
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')

export function parseCustomCode(text: string): Code {
  const code = parseCode(text)
  if (code !== undefined) return code
  if (reservedWords.has(text.toLowerCase())) throw invalid('code', 'code is a reserved word: choose another one.')
  const { min, max } = customCodeLength
  throw invalid('code', `code must have ${min} to ${max} of the characters 0-9, A-Z, a-z, _ and -.`)
}

const defaultPage = 20
const searchMax = 200

export const listSchema = z.strictObject({
  ...pageOf(defaultPage),
  q: z
    .string(mustBe('given once'))
    .max(searchMax, `must have at most ${searchMax} characters`)
    // eslint-disable-next-line no-control-regex
    .regex(/^[^\u0000-\u001f]*$/, 'must not contain control characters')
    .optional(),
  enabled: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((word) => word === 'true')
    .optional(),
  tenant: z
    .string(mustBe('given once'))
    .regex(/^[^\s\p{C}]{1,64}$/u, 'must be the id of a tenant')
    .optional(),
})

export const clicksSchema = z.strictObject({
  from: time.optional(),
  to: time.optional(),
  by: z.enum(['hour', 'day'], 'must be hour or day').default('day'),
})

const bucketMs = { hour: 3_600_000, day: 86_400_000 } as const
/** Three months of hours, or six years of days: as much as a chart can show. */
const bucketsMax = 2200
const defaultRangeMs = 30 * bucketMs.day

export interface ClicksRange {
  readonly from: Date
  readonly to: Date
  readonly by: 'hour' | 'day'
}

export function clicksRange(query: z.output<typeof clicksSchema>, nowMs: number): ClicksRange {
  const to = query.to ?? new Date(nowMs)
  const from = query.from ?? new Date(to.getTime() - defaultRangeMs)
  if (from >= to) throw invalid('from', 'from must be earlier than to.')
  if (to.getTime() - from.getTime() > bucketsMax * bucketMs[query.by]) {
    throw invalid('from', `from and to must not be more than ${bucketsMax} ${query.by}s apart.`)
  }
  return { from, to, by: query.by }
}

/** The most that can be had: a tenant may ask for less, never for more, and what it does not say is its tier's. */
type LinkTerms = Pick<Tier, 'monthlyHits' | 'lifeDays'>

/** A client's clock may be ahead of ours when it asks for all of it. */
const clockMs = 60_000

export function agreedHits(terms: LinkTerms, asked: number | null): number | null {
  const most = terms.monthlyHits
  if (asked !== null && most !== null && asked > most) {
    throw invalid('monthlyHits', `monthlyHits must be at most ${most}, which is what this tenant's tier allows.`)
  }
  return asked ?? most
}

/** Exact to the second. A change may ask for the whole life anew. */
export function agreedExpiry(terms: LinkTerms, asked: Date | null, nowMs: number): Date | null {
  if (terms.lifeDays === null) return asked
  const latestMs = Math.min(nowMs + terms.lifeDays * bucketMs.day, lastTimeMs)
  if (asked !== null && asked.getTime() > latestMs + clockMs) {
    throw invalid(
      'expiresAt',
      `expiresAt must be at most ${terms.lifeDays} days ahead, which is what this tenant's tier allows.`,
    )
  }
  return asked ?? new Date(Math.floor(latestMs / 1000) * 1000)
}
