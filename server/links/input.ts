// What a request may say, field by field, and how much of it a tenant's tier allows.
import { z } from 'zod'
import {
  codeGiven,
  domainAsked,
  domainGiven,
  futureTime,
  largestInteger,
  mustBe,
  pageOf,
  tenantIdGiven,
  textOf,
  timeGiven,
  wholeSecond,
} from '../api/fields.ts'
import { limits } from '../limits.ts'
import { invalid } from '../errors.ts'
import { specialGiven } from './special.ts'
import type { Tier } from '../tenants/tiers.ts'
import { customCodeLength, isReserved, lastTimeMs, parseCode, type Code } from '../link.ts'
import { eachOnce } from './tags.ts'

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

const startsAt = wholeSecond
  .nullable()
  .meta({ description: 'When it begins: until then visitors are answered 404. Before `expiresAt`; null: at once.' })

const asUrl = { format: 'uri', maxLength: limits.urlLength }
const url = z.string(mustBe('text')).meta({
  description: "Where it leads: http or https, and not to QuickLink's own host.",
  override: asUrl,
  examples: ['https://example.org/a/long/address'],
})
const expiredUrl = z
  .string(mustBe('text or null'))
  .nullable()
  .meta({
    description:
      "Where it leads from `expiresAt` on, and while the month's hits are used up; such a visit is no hit and no click. null: nowhere.",
    override: ({ jsonSchema }) => void Object.assign(jsonSchema.anyOf?.[0] ?? {}, asUrl),
    examples: ['https://example.org/over'],
  })
const mayChange = {
  ...specialGiven,
  permanent: boolean.optional().meta({ description: 'true: visitors are answered 301, else 302.' }),
  enabled: boolean.optional().meta({ description: 'false: visitors are answered 404.' }),
  startsAt: startsAt.optional(),
  expiresAt: expiresAt.optional(),
  expiredUrl: expiredUrl.optional(),
  forwardQuery: boolean.optional().meta({
    description:
      "true: what a visitor's query says is added to `url`, before its fragment; a name that both have is the visitor's. false: a query is ignored.",
  }),
  monthlyHits: monthlyHits.optional(),
}

const title = textOf(0, limits.titleChars)
  .transform((text) => text.trim() || null)
  .nullable()
  .meta({ description: 'What people call it; null: nothing.', examples: ['Spring sale'] })

const noteForm = `must have at most ${limits.noteChars} characters`
// eslint-disable-next-line no-control-regex
const printable = /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/
const note = z
  .string(mustBe('text'))
  .refine((text) => text.length <= 2 * limits.noteChars && Array.from(text).length <= limits.noteChars, noteForm)
  .regex(printable, 'must not contain control characters but line breaks and tabs')
  .refine((text) => text.isWellFormed(), 'must be valid Unicode')
  .transform((text) => text.trim() || null)
  .nullable()
  .meta({
    description: 'For the team: nobody else sees it.',
    override: ({ jsonSchema }) => void Object.assign(jsonSchema.anyOf?.[0] ?? {}, { maxLength: limits.noteChars }),
  })

const controls = String.raw`\u0000-\u001f\u007f-\u009f\u2028\u2029`
export const tagForm = {
  type: 'string' as const,
  minLength: 1,
  maxLength: limits.tagChars,
  // Without controls, as in every line of text, not only white, and no step up in a path.
  pattern: `^(?!\\s*\\.{1,2}\\s*$)[^,|${controls}]*[^,|\\s${controls}][^,|${controls}]*$`,
  examples: ['Spring'],
}

/** In files of links, and in those of other shorteners, a comma or a bar stands between two tags. */
export const tagGiven = textOf(1, limits.tagChars)
  .regex(/^[^,|]*$/, 'must not contain a comma or a |')
  .transform((text) => text.normalize('NFC').trim())
  .refine((text) => text !== '', 'must not be empty')
  // In a path, browsers and most clients take these for steps up, however they are written.
  .refine((text) => text !== '.' && text !== '..', 'must not be . or ..')
  .meta({
    description: 'Without a comma or a bar, and not `.` or `..`. Upper and lower case are the same tag.',
    override: ({ jsonSchema }) => {
      delete jsonSchema.allOf
      Object.assign(jsonSchema, tagForm)
    },
  })

const tags = z
  .array(tagGiven, mustBe('a list of texts'))
  .max(limits.tagsPerLink, `must have at most ${limits.tagsPerLink} items`)
  .transform(eachOnce)
  .meta({ description: 'Those that do not exist yet are made.' })

const details = { title: title.optional(), note: note.optional(), tags: tags.optional() }

export const createSchema = z
  .strictObject(
    { url, code: codeGiven.optional(), domain: domainGiven.optional(), ...mayChange, ...details },
    mustBe('a JSON object'),
  )
  .meta({ id: 'NewLink' })

export const onExistingSchema = z.strictObject({
  onExisting: z
    .enum(['return'], 'must be return')
    .optional()
    .meta({
      description:
        'With `return`, the newest plain link of the tenant to this URL is answered, if there is one, as it is: enabled, on this domain, with ' +
        "the tier's own end and hits, and nothing else that says when or where it leads. Of two such requests at the same moment one makes it.",
    }),
})

export const patchSchema = z
  .strictObject({ url: url.optional(), ...mayChange, ...details }, mustBe('a JSON object'))
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'LinkChange', minProperties: 1 })

/** Of many links: tags may also be added to those that each has, and taken off. */
export const bulkChangeSchema = z
  .strictObject(
    { url: url.optional(), ...mayChange, ...details, addTags: tags.optional(), removeTags: tags.optional() },
    mustBe('a JSON object'),
  )
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'BulkChange', minProperties: 1 })

const clicks = z.int(mustBe('a whole number')).min(0, 'must not be below 0')
const { password: _, ...importable } = mayChange

/** What a row of an import may say of a link. An end may be over by then. */
export const importedSchema = z.object({
  url,
  ...importable,
  expiresAt: wholeSecond.nullable().optional(),
  ...details,
  clicks: clicks.optional(),
  createdAt: timeGiven.optional(),
  createdBy: textOf(1, limits.titleChars).nullable().optional(),
})

export function parseCustomCode(text: string): Code {
  if (isReserved(text)) throw invalid('code', 'code is a reserved word: choose another one.')
  const { min, max } = customCodeLength
  const code = parseCode(text)
  if (code !== undefined && code.length >= min) return code
  throw invalid('code', `code must have ${min} to ${max} of the characters 0-9, A-Z, a-z, _ and -.`)
}

/** In a path. */
export const tagNamed = z.object({
  tag: z
    .string()
    .transform((text, context) => {
      const { data } = tagGiven.safeParse(text)
      if (data !== undefined) return data
      context.addIssue('There is no such tag.')
      return z.NEVER
    })
    .meta({ description: 'The name of a tag, in any case.', override: tagForm }),
})

export const tagsQuery = z.strictObject({
  tenant: tenantIdGiven
    .optional()
    .meta({ description: "Whose tags. Others than one's own only the owner may ask for." }),
})

export const listTagsSchema = z.strictObject({ ...pageOf(limits.pageMax), ...tagsQuery.shape })

export const renameSchema = z.strictObject({ name: tagGiven }, mustBe('a JSON object')).meta({ id: 'TagChange' })

export const clicksSchema = z.strictObject({
  domain: domainAsked,
  from: timeGiven.optional().meta({ description: 'By default 30 days before `to`.' }),
  to: timeGiven.optional().meta({ description: 'By default now.' }),
  by: z.enum(['hour', 'day'], 'must be hour or day').default('day').meta({ description: 'How long a bucket is.' }),
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

/** Of a new link. */
export function agreedTimes(terms: LinkTerms, startsAt: Date | null, asked: Date | null) {
  const expiresAt = agreedExpiry(terms, asked, Date.now())
  agreedWindow(startsAt, expiresAt)
  return { startsAt, expiresAt }
}

/** Both ends as they will be. */
export function agreedWindow(startsAt: Date | null, expiresAt: Date | null): void {
  if (startsAt !== null && expiresAt !== null && startsAt >= expiresAt) {
    throw invalid('startsAt', `startsAt must be earlier than expiresAt, which is ${expiresAt.toISOString()}.`)
  }
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
