// Fields that the rooms' operations share: how they are validated, and how the description shows them.
import { z } from 'zod'
import 'zod-openapi'
import { limits } from '../limits.ts'
import { customCodeLength, lastTimeMs, parseCode } from '../link.ts'

/** `must be …` for a wrong type, `is missing` where there is nothing. */
export const mustBe = (what: string): { error: (issue: { input?: unknown }) => string } => ({
  error: (issue) => (issue.input === undefined ? 'is missing' : `must be ${what}`),
})

/** Characters are counted as people do, and as a description is read: an emoji is one, however it is encoded. */
export const textOf = (least: number, most: number, what = 'text') => {
  const form = least > 0 ? `must have ${least} to ${most} characters` : `must have at most ${most} characters`
  return (
    z
      .string(mustBe(what))
      .refine((text) => text.length <= 2 * most && Array.from(text).length <= most && text.length >= least, form)
      // eslint-disable-next-line no-control-regex
      .regex(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/, 'must not contain control characters')
      // Half of a character: no database has it, and none could give it back.
      .refine((text) => text.isWellFormed(), 'must be valid Unicode')
      .meta({ override: { ...(least > 0 ? { minLength: least } : {}), maxLength: most } })
  )
}

export const largestInteger = 2 ** 31 - 1

/** The id of something in a path: what is of another form names nothing. */
export const idOf = (what: string, meta: z.GlobalMeta) =>
  z
    .string()
    .regex(/^[0-9A-Za-z_-]{1,64}$/, `There is no such ${what}.`)
    .meta(meta)

/** All of them, in one answer. */
export const allOf = <T extends z.ZodType>(item: T, id: string) => z.object({ items: z.array(item) }).meta({ id })

/** The format says what it is; the pattern that comes with it says nothing to a reader. */
const asTime: z.GlobalMeta = {
  override({ jsonSchema }) {
    delete jsonSchema.pattern
    Object.assign(jsonSchema, { format: 'date-time', examples: ['2030-01-31T12:00:00.000Z'] })
  },
}

/** As an answer has it: UTC, to the millisecond. */
export const timeShown = z.iso.datetime({ precision: 3 }).meta(asTime)

/** It signs in once. The token is in the fragment, which no browser sends. */
export const linkOnceShown = z.object({ url: z.string(), endsAt: timeShown }).meta({ id: 'LinkOnce' })

export const count = z.int().min(0)

export const codeShown = z
  .string()
  .meta({ description: 'The part of the short URL behind the slash.', examples: ['spring'] })

const codeForm = (least: number) => ({
  type: 'string' as const,
  pattern: `^[0-9A-Za-z_-]{${least},${customCodeLength.max}}$`,
  examples: ['spring'],
})

/** The code of a link, in a path. */
export const codeNamed = z
  .string()
  .transform((text, context) => {
    const code = parseCode(text)
    if (code !== undefined) return code
    context.addIssue('There is no link with this code.')
    return z.NEVER
  })
  .meta({ description: 'The code of a link.', override: codeForm(1) })

/** Where it is one of several, in a query or a body: whether there is such a domain is for `names.hostOf` to say. */
export const domainGiven = textOf(1, limits.hostLength).meta({
  description: "The host of a further domain; by default, PUBLIC_URL's.",
  examples: ['go.example.com'],
})

/** In a query beside a link's code. */
export const domainAsked = domainGiven
  .optional()
  .meta({ description: "Whose code it is: a further domain's host; by default, PUBLIC_URL's." })
export const domainQuery = z.strictObject({ domain: domainAsked })

export const domainShown = z
  .string()
  .nullable()
  .meta({ description: 'The host of its domain; null: the default one, of PUBLIC_URL.', examples: ['go.example.com'] })

export const codeGiven = z.string(mustBe('text')).meta({
  description:
    'A code of your own, of 3 to 64 letters, digits, `_` and `-`. Some words (`api`, `docs`, …) are reserved.',
  override: codeForm(customCodeLength.min),
})

const tenantIdGrammar = /^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$/
const tenantIdForm = 'must have 1 to 64 of the characters 0-9, A-Z, a-z, ., _ and -, and begin with a letter or digit'

export const isTenantId = (text: string): boolean => tenantIdGrammar.test(text)

export const tenantIdGiven = z
  .string(mustBe('text'))
  .regex(tenantIdGrammar, tenantIdForm)
  .meta({ examples: ['acme'] })

/** In a path. */
export const tenantNamed = z
  .string()
  .regex(tenantIdGrammar, 'There is no such tenant.')
  .meta({ description: 'The id of a tenant.', examples: ['acme'] })

export const tenantShown = z.string().meta({ description: 'The id of a tenant.', examples: ['acme'] })

const pageForm = `must be a whole number from 1 to ${limits.pageMax}`

/** What a request for a page of a list says, of so many items unless it says otherwise. */
export const pageOf = (items: number) => ({
  limit: z
    .string(mustBe('given once'))
    .regex(/^\d{1,9}$/, pageForm)
    .transform(Number)
    .refine((n) => n >= 1 && n <= limits.pageMax, pageForm)
    .default(items)
    .meta({
      description: 'How many items a page has at most.',
      override: ({ jsonSchema }) => {
        delete jsonSchema.pattern
        Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: limits.pageMax, default: items })
      },
    }),
  cursor: z
    .string(mustBe('given once'))
    .optional()
    .meta({ description: '`nextCursor` of the page before. It fits its own list only.' }),
})

export const pageShown = <T extends z.ZodType>(item: T) =>
  z.object({
    items: z.array(item),
    nextCursor: z.string().nullable().meta({ description: 'Where the next page begins; null on the last one.' }),
  })

const firstTimeMs = Date.parse('0001-01-01T00:00:00Z')
const timeForm = 'a time like 2030-01-31T12:00:00Z'

/** RFC 3339. */
export const timeGiven = z
  .string(mustBe(timeForm))
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/, `must be ${timeForm}`)
  .pipe(z.iso.datetime({ offset: true, error: `must be ${timeForm}` }))
  .transform((text) => new Date(text))
  // An offset carries the last day of our grammar, or the first, beyond what it can read back.
  .refine((at) => at.getTime() >= firstTimeMs && at.getTime() < lastTimeMs + 1000, `must be ${timeForm}`)
  .meta(asTime)

/** Both ends of a link are exact to the second, so the rest is cut off, and the answer shows what holds. */
export const wholeSecond = timeGiven.transform((at) => new Date(Math.floor(at.getTime() / 1000) * 1000)).meta(asTime)

export const futureTime = wholeSecond.refine((at) => at.getTime() > Date.now(), 'must be in the future').meta(asTime)

/** An error, as an answer has it. */
export const problemShown = z
  .looseObject({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int().min(400).max(599),
    detail: z.string().meta({ description: 'One sentence for people.' }),
    code: z.string().meta({ description: 'For programs.' }),
    field: z.string().optional().meta({ description: 'What of the request is wrong, or clashes.' }),
    used: z.int().optional(),
    limit: z.int().optional(),
  })
  .meta({ id: 'Problem' })
