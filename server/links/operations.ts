// What the API offers about links.
import { z } from 'zod'
import { codeNamed, count, domainQuery, pageShown, timeShown } from '../api/fields.ts'
import { operationsOf } from '../api/operation.ts'
import {
  clicksSchema,
  createSchema,
  onExistingSchema,
  listTagsSchema,
  patchSchema,
  renameSchema,
  tagNamed,
  tagsQuery,
} from './input.ts'
import { listSchema } from './filters.ts'
import { linkShown as link } from './shown.ts'

const ofLinks = operationsOf('Links')
const ofTags = operationsOf('Tags')

const params = z.object({ code: codeNamed })

export const create = ofLinks('createLink', 'post', '/links', 'editor', {
  summary: 'Make a link',
  about:
    'Without `code` it gets one of seven letters and digits. What is not said is as the tier of the tenant has it. A tenant may have a code ' +
    'again that it has deleted, or whose link has expired without an `expiredUrl`; to others it is taken until it is purged, 30 days later. With an ' +
    '`Idempotency-Key` the request may be repeated: for 24 hours it gets the same answer, and makes no second link.',
  headers: ['Idempotency-Key'],
  query: onExistingSchema,
  body: { schema: createSchema, example: { url: 'https://example.org/a/long/address', code: 'spring' } },
  answer: {
    status: 201,
    what: 'The link.',
    orThere: { status: 200, what: 'With `onExisting=return`: the link that was there.' },
    schema: link,
    headers: ['Location', 'ETag'],
  },
  problems: ['conflict', 'quota_exceeded', 'not_found'],
})

export const list = ofLinks('listLinks', 'get', '/links', 'viewer', {
  summary: 'List links',
  about:
    "A tenant sees its own; the owner everybody's, or those of one `tenant`. All filters that are given hold. One of them goes with the sorts `newest` and " +
    '`oldest` however many links there are (`url` within one `tenant`), and so do `createdAfter` and `createdBefore`; the other sorts go without a filter. Whatever else is asked is ' +
    'answered within a short time or refused with 503, one request of a tenant at a time.',
  query: listSchema,
  answer: { status: 200, what: 'A page of links.', schema: pageShown(link).meta({ id: 'LinkPage' }) },
  problems: ['forbidden', 'not_found'],
})

export const read = ofLinks('readLink', 'get', '/links/{code}', 'viewer', {
  summary: 'Read a link',
  params,
  query: domainQuery,
  answer: { status: 200, what: 'The link.', schema: link, headers: ['ETag'] },
})

export const change = ofLinks('changeLink', 'patch', '/links/{code}', 'editor', {
  summary: 'Change a link',
  about:
    'A merge patch: what it names is changed, the rest stays. `null` for `expiresAt` or `monthlyHits` means as the tier of the ' +
    "link's tenant has it; for `startsAt`, `expiredUrl`, `title` or `note`, none. `tags` are all that it has then. Every visitor sees the change within " +
    'a second.',
  params,
  query: domainQuery,
  headers: ['If-Match'],
  body: { schema: patchSchema, example: { url: 'https://example.org/another/address' } },
  answer: { status: 200, what: 'The link as it is now.', schema: link, headers: ['ETag'] },
  problems: ['conflict'],
})

export const remove = ofLinks('deleteLink', 'delete', '/links/{code}', 'editor', {
  summary: 'Delete a link',
  about: 'Within a second every visitor is answered 404.',
  params,
  query: domainQuery,
  headers: ['If-Match'],
  answer: { status: 204, what: 'It is deleted.' },
})

export const readClicks = ofLinks('readClicks', 'get', '/links/{code}/clicks', 'viewer', {
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

const tagShown = z.object({ tag: z.string(), links: count }).meta({ id: 'Tag' })

export const listTags = ofTags('listTags', 'get', '/tags', 'viewer', {
  summary: 'List tags',
  about: 'In the order of the alphabet, and how many links each has.',
  query: listTagsSchema,
  answer: { status: 200, what: 'A page of tags.', schema: pageShown(tagShown).meta({ id: 'TagPage' }) },
  problems: ['forbidden'],
})

export const renameTag = ofTags('renameTag', 'patch', '/tags/{tag}', 'editor', {
  summary: 'Rename a tag',
  about:
    'All links that have it show the new name; their `revision` stays. If there is a tag of that name already, the two become one: links of ' +
    'many thousands are moved in steps, and while that lasts, some have the one and some the other.',
  params: tagNamed,
  query: tagsQuery,
  body: { schema: renameSchema, example: { name: 'Summer' } },
  answer: { status: 200, what: 'The tag as it is now.', schema: tagShown },
})

export const removeTag = ofTags('deleteTag', 'delete', '/tags/{tag}', 'editor', {
  summary: 'Delete a tag',
  about: 'It is taken off all links that have it. The links stay.',
  params: tagNamed,
  query: tagsQuery,
  answer: { status: 204, what: 'It is deleted.' },
})
