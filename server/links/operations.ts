// What the API offers about links.
import { z } from 'zod'
import { codeNamed, codeShown, count, pageShown, tenantShown, timeShown } from '../api/fields.ts'
import { operation } from '../api/operation.ts'
import { clicksSchema, createSchema, listSchema, patchSchema } from './input.ts'

const link = z
  .object({
    code: codeShown,
    shortUrl: z.string().meta({ format: 'uri', examples: ['https://go.example.org/spring'] }),
    url: z.string().meta({
      description: 'Where it leads, exactly as visitors are sent there: as browsers write URLs (WHATWG), in ASCII.',
      examples: ['https://example.org/a/long/address'],
    }),
    permanent: z
      .boolean()
      .meta({ description: 'Visitors are answered 301, and may remember it for 90 seconds; else 302.' }),
    enabled: z.boolean().meta({ description: 'false: visitors are answered 404.' }),
    expiresAt: timeShown.nullable().meta({ description: 'From then on visitors are answered 404; null: never.' }),
    monthlyHits: count
      .nullable()
      .meta({ description: 'How often it redirects in a calendar month (UTC); null: without a limit.' }),
    clicks: count.meta({ description: 'How often it was followed, up to a few seconds ago.' }),
    tenant: tenantShown,
    version: count.meta({ description: 'A change makes it larger.' }),
    createdAt: timeShown,
    updatedAt: timeShown,
  })
  .meta({ id: 'Link' })

export type LinkShown = z.input<typeof link>

const params = z.object({ code: codeNamed })

export const create = operation({
  id: 'createLink',
  method: 'post',
  path: '/links',
  group: 'Links',
  needs: 'editor',
  summary: 'Make a link',
  about:
    'Without `code` it gets one of seven letters and digits. What is not said is as the tier of the tenant has it. A tenant may have a code ' +
    'again that it has deleted, or whose link has expired; to others it is taken until it is purged, 30 days later. With an ' +
    '`Idempotency-Key` the request may be repeated: for 24 hours it gets the same answer, and makes no second link.',
  headers: ['Idempotency-Key'],
  body: { schema: createSchema, example: { url: 'https://example.org/a/long/address', code: 'spring' } },
  answer: { status: 201, what: 'The link.', schema: link, headers: ['Location', 'ETag'] },
  problems: ['conflict', 'quota_exceeded', 'not_found'],
})

export const list = operation({
  id: 'listLinks',
  method: 'get',
  path: '/links',
  group: 'Links',
  needs: 'viewer',
  summary: 'List links',
  about: "The newest first. A tenant sees its own; the owner everybody's, or those of one `tenant`.",
  query: listSchema,
  answer: { status: 200, what: 'A page of links.', schema: pageShown(link).meta({ id: 'LinkPage' }) },
  problems: ['forbidden'],
})

export const read = operation({
  id: 'readLink',
  method: 'get',
  path: '/links/{code}',
  group: 'Links',
  needs: 'viewer',
  summary: 'Read a link',
  params,
  answer: { status: 200, what: 'The link.', schema: link, headers: ['ETag'] },
})

export const change = operation({
  id: 'changeLink',
  method: 'patch',
  path: '/links/{code}',
  group: 'Links',
  needs: 'editor',
  summary: 'Change a link',
  about:
    'A merge patch: what it names is changed, the rest stays. `null` for `expiresAt` or `monthlyHits` means as the tier of the ' +
    "link's tenant has it. Every visitor sees the change within a second.",
  params,
  headers: ['If-Match'],
  body: { schema: patchSchema, example: { url: 'https://example.org/another/address' } },
  answer: { status: 200, what: 'The link as it is now.', schema: link, headers: ['ETag'] },
})

export const remove = operation({
  id: 'deleteLink',
  method: 'delete',
  path: '/links/{code}',
  group: 'Links',
  needs: 'editor',
  summary: 'Delete a link',
  about: 'Within a second every visitor is answered 404.',
  params,
  headers: ['If-Match'],
  answer: { status: 204, what: 'It is deleted.' },
})

export const readClicks = operation({
  id: 'readClicks',
  method: 'get',
  path: '/links/{code}/clicks',
  group: 'Links',
  needs: 'viewer',
  summary: 'How often a link was followed',
  about:
    'Clicks over time; a bucket without clicks is left out. What is older than 90 days is kept by the day, what is older than two years by ' +
    'the month, each at its first hour.',
  params,
  query: clicksSchema,
  answer: {
    status: 200,
    what: 'The clicks of that time.',
    schema: z
      .object({ total: count, buckets: z.array(z.object({ at: timeShown, clicks: count })) })
      .meta({ id: 'Clicks' }),
  },
})
