// What the API offers about many links at once.
import { z } from 'zod'
import { domainQuery, mustBe, problemShown } from '../api/fields.ts'
import { operationsOf } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { exportSchema, filterSchema } from './filters.ts'
import { bulkChangeSchema, onExistingSchema } from './input.ts'
import { linkShown } from './shown.ts'

const operation = operationsOf('Links')

export const exportLinks = operation('exportLinks', 'get', '/links/export', 'viewer', {
  summary: 'Export links',
  about:
    'All that fit, the oldest first, as they were at one moment, as fast as you read them. Filters go together as you like. ' +
    'A tenant has one export at a time. Of a link with a password neither that nor where it leads is told. **CSV**: tags have a ' +
    "`|` between them, rules are JSON, nothing is an empty cell; a cell that would begin with one of `= + - @`, a tab, a line's end or `'` has a `'` before it, " +
    'so that no spreadsheet takes it for a formula: take one off where a cell begins with one. An export that breaks off ends its connection without an end of the answer, which clients report as ' +
    'an error.',
  query: exportSchema,
  answer: { status: 200, what: 'The links.', stream: ['text/csv', 'application/x-ndjson'] },
  problems: ['forbidden', 'not_found'],
})

const most = limits.bulkLinks
const oneToMost = `must have 1 to ${most} items`
const listOf = <T extends z.ZodType>(item: T, what: string) =>
  z.array(item, mustBe(what)).min(1, oneToMost).max(most, oneToMost)

/** Each is read by itself, so that one that is not valid does not refuse the others. */
const eachLink = z.unknown().meta({
  override({ jsonSchema }) {
    jsonSchema.$ref = '#/components/schemas/NewLink'
  },
})

const codes = listOf(z.string(mustBe('text')), 'a list of codes').meta({
  description: 'Codes of links, of the default domain or of `domain`.',
  examples: [['spring', 'summer']],
})

const cursor = z.string(mustBe('text')).optional().meta({
  description: '`nextCursor` of the answer before: goes on behind the links of that one. It fits the same filter only.',
})

const which = { codes: codes.optional(), filter: filterSchema.optional(), cursor }
const isOneOf = ({ codes, filter }: { codes?: unknown; filter?: unknown }): boolean =>
  (codes === undefined) !== (filter === undefined)

const result = <S extends number>(status: S, what: string) =>
  z.object({
    status: z.int().meta({ description: `What one call of it would be answered: ${status}, or that of \`problem\`.` }),
    link: linkShown.optional().meta({ description: what }),
    problem: problemShown.optional().meta({ description: 'Why nothing was done.' }),
  })

const nextCursor = z
  .string()
  .nullable()
  .meta({ description: 'Of a filter: where the next links begin; null when no more fit.' })

export const createMany = operation('createLinks', 'post', '/links/bulk', 'editor', {
  summary: 'Make many links',
  about:
    `Up to ${most}, as so many calls of \`POST /links\` one after the other, in one transaction. Each has its own result, in the order given, and what is refused does not refuse the others. Of ` +
    `creates per hour and places of the tenant each takes what it would take alone; where the room ends, the rest is refused. At most ${limits.bulkPasswords} may have a password. ` +
    'With an `Idempotency-Key` the request may be repeated as a whole: if it has made a link, it gets the same answer for 24 hours.',
  headers: ['Idempotency-Key'],
  query: onExistingSchema,
  body: {
    schema: z
      .strictObject({ links: listOf(eachLink, 'a list of links') }, mustBe('a JSON object'))
      .meta({ id: 'NewLinks' }),
    example: { links: [{ url: 'https://example.org/spring', code: 'spring' }, { url: 'https://example.org/summer' }] },
    bytes: limits.bulkBodyBytes,
  },
  answer: {
    status: 200,
    what: 'What came of each.',
    schema: z
      .object({ results: z.array(result(201, 'It is made; with `onExisting=return`, status 200: it was there.')) })
      .meta({ id: 'LinksMade' }),
  },
  problems: ['conflict', 'not_found'],
})

export const changeMany = operation('changeLinks', 'patch', '/links/bulk', 'editor', {
  summary: 'Change many links',
  about:
    `The same change of up to ${most} links, each named by its code or all that fit a filter, the newest first. It means for each what \`PATCH /links/{code}\` would, and ` +
    '`addTags` and `removeTags` besides. One transaction, one of the changes per hour; each link has its own result. Who changes by a filter goes on with `nextCursor` until it is null; a link ' +
    'that is changed by somebody else in that moment is answered 412.',
  query: domainQuery,
  body: {
    schema: z
      .strictObject({ ...which, change: bulkChangeSchema }, mustBe('a JSON object'))
      .refine(isOneOf, 'must have either codes or a filter')
      .meta({ id: 'LinksChange', description: 'With either `codes` or a `filter`.' }),
    example: { codes: ['spring', 'summer'], change: { addTags: ['Sale'], enabled: true } },
    bytes: limits.bulkBodyBytes,
  },
  answer: {
    status: 200,
    what: 'What came of each.',
    schema: z.object({ results: z.array(result(200, 'As it is now.')), nextCursor }).meta({ id: 'LinksChanged' }),
  },
  problems: ['forbidden', 'not_found'],
})

export const removeMany = operation('deleteLinks', 'delete', '/links/bulk', 'editor', {
  summary: 'Delete many links',
  about: `Up to ${most}, each named by its code or all that fit a filter. One transaction, one of the changes per hour; each link has its own result. Who deletes by a filter asks again until \`nextCursor\` is null.`,
  query: domainQuery,
  body: {
    schema: z
      .strictObject(which, mustBe('a JSON object'))
      .refine(isOneOf, 'must have either codes or a filter')
      .meta({ id: 'LinksToDelete', description: 'Either `codes` or a `filter`.' }),
    example: { filter: { state: 'expired' } },
    bytes: limits.bulkBodyBytes,
  },
  answer: {
    status: 200,
    what: 'What came of each.',
    schema: z
      .object({
        results: z.array(
          z.object({
            status: z.int().meta({ description: '204: it is deleted; or that of `problem`.' }),
            code: z.string(),
            problem: problemShown.optional().meta({ description: 'Why nothing was done.' }),
          }),
        ),
        nextCursor,
      })
      .meta({ id: 'LinksDeleted' }),
  },
  problems: ['forbidden', 'not_found'],
})
