// Which links: what a request may say of that, for lists, exports and what is done in bulk.
import { z } from 'zod'
import { domainGiven, mustBe, pageOf, tenantIdGiven, textOf, timeGiven } from '../api/fields.ts'
import type { Caller } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import { parseDestination } from './destination.ts'
import { tagGiven } from './input.ts'
import { sorts, type Filters } from './list.ts'
import { states, type Scope } from './store.ts'

const searchMax = 200

/** `form`: what a text has to be. */
const filters = (form: string) => ({
  q: textOf(0, searchMax, form).optional().meta({
    description:
      'A part of the code, of the first 500 characters of the URL, or of the title, without regard to case. On a database without pg_trgm, their beginning.',
  }),
  state: z
    .enum(states, `must be one of: ${states.join(', ')}`)
    .optional()
    .meta({ description: 'Only those that are in this state now.' }),
  tag: tagGiven.optional().meta({ description: 'Only those that have this tag.' }),
  url: z
    .string(mustBe(form))
    .optional()
    .meta({ description: 'Only those that lead exactly there.', override: { format: 'uri' } }),
  createdBy: textOf(1, limits.titleChars, form)
    .optional()
    .meta({ description: 'Only those that were made by a key of this name.' }),
  createdAfter: timeGiven.optional().meta({ description: 'Only those that were created then or later.' }),
  createdBefore: timeGiven.optional().meta({ description: 'Only those that were created earlier.' }),
  domain: domainGiven.optional().meta({ description: "Of one domain; the default one by PUBLIC_URL's host." }),
  tenant: tenantIdGiven.optional().meta({ description: 'Whose links. Others than its own only the owner may list.' }),
})

const inQuery = {
  ...filters('given once'),
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
}

const defaultPage = 20

export const listSchema = z.strictObject({
  ...pageOf(defaultPage),
  ...inQuery,
  sort: z
    .enum(sorts, `must be one of: ${sorts.join(', ')}`)
    .default('newest')
    .meta({
      description:
        '`newest` and `oldest` by when they were created, `updated` by when they were changed last, `clicks` by how often they were followed ' +
        'until they were counted last, a minute ago or, among very many links, up to half an hour: a link that moves meanwhile may come twice in ' +
        'a list, or not at all.',
    }),
})

export const exportSchema = z.strictObject({
  ...inQuery,
  format: z.enum(['csv', 'ndjson'], 'must be csv or ndjson').default('csv').meta({
    description:
      '`csv`: for spreadsheets, with the names of the fields in the first line. `ndjson`: for programs, a link in each line, as this API shows it.',
  }),
})

const enabled = z.boolean(mustBe('true or false')).optional().meta({ description: 'Only those that are, or are not.' })

/** In a body. */
export const filterSchema = z
  .strictObject({ ...filters('text'), enabled }, mustBe('a JSON object'))
  .refine((filter) => Object.keys(filter).length > 0, 'must name at least one filter')
  .meta({ id: 'LinkFilter', minProperties: 1 })

type Asked = z.output<typeof filterSchema>

/** As lists take it. */
export function filtersOf(
  { tenant, url, domain, ...asked }: Asked,
  caller: Caller,
  names: Names,
): Filters & { readonly scope: Scope; readonly q?: string | undefined } {
  return {
    ...asked,
    ...(url === undefined ? {} : { url: parseDestination(url, []) }),
    ...(domain === undefined ? {} : { domain: names.hostOf(domain) }),
    scope: listScope(caller, tenant),
  }
}

export function listScope(caller: Caller, tenant: string | undefined): Scope {
  if (caller.isOwner) return tenant ?? null
  if (tenant !== undefined && tenant !== caller.tenant) {
    throw new QuickLinkError('forbidden', "Only the owner may ask for what is another tenant's.")
  }
  return caller.tenant
}
