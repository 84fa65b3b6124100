// What the API offers about domains.
import { z } from 'zod'
import { allOf, mustBe, tenantIdGiven, timeShown } from '../api/fields.ts'
import { operationsOf } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { isHostName } from '../link.ts'
import { domainHost } from './host.ts'

const operation = operationsOf('Domains')

const hostForm = 'must be the name of a host, like go.example.com, without a port'
const hostMeta = (description: string) => ({
  description,
  override: { type: 'string' as const, pattern: '^[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?(\\.[a-z]{2,20}){1,3}$' },
  examples: ['go.example.com'],
})

const hostGiven = z
  .string(mustBe('text'))
  .transform((text, context) => {
    const host = domainHost(text)
    if (host !== undefined) return host
    context.addIssue(hostForm)
    return z.NEVER
  })
  .meta(hostMeta('What its short URLs have as their host: a name, of which letters beyond ASCII become `xn--…`.'))

const urlGiven = (description: string) =>
  z
    .string(mustBe('text, or null'))
    .nullable()
    .optional()
    .meta({
      description,
      override: { type: ['string', 'null'], format: 'uri', maxLength: limits.urlLength },
      examples: ['https://www.example.com/'],
    })

const given = {
  tenants: z
    .array(tenantIdGiven, mustBe('a list of tenants'))
    .max(limits.domainTenants, `must name at most ${limits.domainTenants} tenants`)
    .optional()
    .meta({ description: 'Who may make links there, besides the owner.' }),
  rootUrl: urlGiven('Where its `/` leads; null: to a small page.'),
  notFoundUrl: urlGiven('Where a visitor is sent who asks for a link that is not there; null: to the usual 404.'),
}

const newDomain = z.strictObject({ host: hostGiven, ...given }, mustBe('a JSON object')).meta({ id: 'NewDomain' })
const domainChange = z
  .strictObject(given, mustBe('a JSON object'))
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'DomainChange', minProperties: 1 })

const domain = z
  .object({
    host: z.string().meta({ examples: ['go.example.com'] }),
    tenants: z.array(z.string()).meta({ description: 'Who may make links there, besides the owner.' }),
    rootUrl: z.string().nullable(),
    notFoundUrl: z.string().nullable(),
    createdAt: timeShown,
    updatedAt: timeShown,
  })
  .meta({ id: 'Domain' })
export type DomainShown = z.input<typeof domain>

const params = z.object({
  host: z
    .string()
    .transform((text) => domainHost(text) ?? text)
    .refine(isHostName, 'There is no such domain.')
    .meta(hostMeta('The host of a domain.')),
})

export const create = operation('createDomain', 'post', '/domains', 'owner', {
  summary: 'Make a domain',
  about:
    'Its links are its own: the same code may lead elsewhere on another domain. When this is answered, every server knows of it, which ' +
    'takes most of a second. A host that no domain has is answered with the links of the default domain.',
  body: { schema: newDomain, example: { host: 'go.example.com', tenants: [] } },
  answer: { status: 201, what: 'The domain.', schema: domain, headers: ['Location'] },
  problems: ['conflict', 'not_found'],
})

export const list = operation('listDomains', 'get', '/domains', 'owner', {
  summary: 'List domains',
  about: 'By their hosts, without the default one.',
  answer: {
    status: 200,
    what: 'The domains.',
    schema: allOf(domain, 'Domains'),
  },
})

export const read = operation('readDomain', 'get', '/domains/{host}', 'owner', {
  summary: 'Read a domain',
  params,
  answer: { status: 200, what: 'The domain.', schema: domain },
})

export const change = operation('changeDomain', 'patch', '/domains/{host}', 'owner', {
  summary: 'Change a domain',
  about:
    'A merge patch: what it names is changed, the rest stays; `tenants` is replaced as a whole. A host stays as it is.',
  params,
  body: { schema: domainChange, example: { notFoundUrl: 'https://www.example.com/' } },
  answer: { status: 200, what: 'The domain as it is now.', schema: domain },
})

export const remove = operation('deleteDomain', 'delete', '/domains/{host}', 'owner', {
  summary: 'Remove a domain',
  about:
    'It must not have a link: delete them first. Within a second its host is answered 404, and never with links of the default domain; ' +
    'it may be made again.',
  params,
  answer: { status: 204, what: 'It is removed.' },
  problems: ['conflict'],
})
