// What a request may say, field by field, and how much of it a tenant's tier allows.
import { z } from 'zod'
import {
  codeGiven,
  futureTime,
  largestInteger,
  mustBe,
  pageOf,
  tenantIdGiven,
  textOf,
  timeGiven,
} from '../api/fields.ts'
import { limits } from '../config.ts'
import { invalid } from '../errors.ts'
import type { Tier } from '../tenants/tiers.ts'
import { customCodeLength, lastTimeMs, parseCode, reservedWords, type Code } from '../link.ts'

const boolean = z.boolean(mustBe('true or false'))
const hits = `a whole number from 1 to ${largestInteger}, or null`
const monthlyHits = z
  .int(mustBe(hits))
  .min(1, `must be ${hits}`)
  .max(largestInteger, `must be ${hits}`)
  .nullable()
  .meta({ description: "Hits in a calendar month, at most as many as the tenant's tier has; null: as many." })

const expiresAt = futureTime
  .nullable()
  .meta({ description: "When it ends, in the future, at most as late as the tenant's tier has it; null: as late." })

const url = z.string(mustBe('text')).meta({
  description: "Where it leads: http or https, and not to QuickLink's own host.",
  override: { format: 'uri', maxLength: limits.urlLength },
  examples: ['https://example.org/a/long/address'],
})
const mayChange = {
  permanent: boolean.optional().meta({ description: 'true: visitors are answered 301, else 302.' }),
  enabled: boolean.optional().meta({ description: 'false: visitors are answered 404.' }),
  expiresAt: expiresAt.optional(),
  monthlyHits: monthlyHits.optional(),
}

export const createSchema = z
  .strictObject({ url, code: codeGiven.optional(), ...mayChange }, mustBe('a JSON object'))
  .meta({ id: 'NewLink' })

export const patchSchema = z
  .strictObject({ url: url.optional(), ...mayChange }, mustBe('a JSON object'))
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'LinkChange', minProperties: 1 })

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
  q: textOf(0, searchMax, 'given once').optional().meta({
    description:
      'A part of the code, or of the first 500 characters of the URL, without regard to case. On a database without pg_trgm, their beginning.',
  }),
  enabled: z
    .enum(['true', 'false'], 'must be true or false')
    .transform((word) => word === 'true')
    .optional()
    .meta({
      description: 'Only those that are, or are not.',
      override: ({ jsonSchema }) => {
        delete jsonSchema.enum
        jsonSchema.type = 'boolean'
      },
    }),
  tenant: tenantIdGiven.optional().meta({ description: 'Whose links. Others than its own only the owner may list.' }),
})

export const clicksSchema = z.strictObject({
  from: timeGiven.optional().meta({ description: 'By default 30 days before `to`.' }),
  to: timeGiven.optional().meta({ description: 'By default now.' }),
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
