// A link as the API shows it.
import { z } from 'zod'
import { codeShown, count, domainShown, tenantShown, timeShown } from '../api/fields.ts'
import type { Names } from '../domains/names.ts'
import { shownOf, specialShown } from './special.ts'
import { states, type LinkRow } from './store.ts'

export const linkShown = z
  .object({
    code: codeShown,
    domain: domainShown,
    shortUrl: z.string().meta({ format: 'uri', examples: ['https://go.example.org/spring'] }),
    url: z
      .string()
      .nullable()
      .meta({
        description:
          'Where it leads, exactly as visitors are sent there: as browsers write URLs (WHATWG), in ASCII. null: whoever knows the password is led there.',
        examples: ['https://example.org/a/long/address'],
      }),
    ...specialShown,
    permanent: z
      .boolean()
      .meta({ description: 'Visitors are answered 301, and may remember it for 90 seconds; else 302.' }),
    enabled: z.boolean().meta({ description: 'false: visitors are answered 404.' }),
    state: z.enum(states).meta({ description: 'What it is now, by its dates and `enabled`.' }),
    title: z.string().nullable(),
    note: z.string().nullable(),
    tags: z.array(z.string()).meta({ examples: [['Spring']] }),
    startsAt: timeShown.nullable().meta({ description: 'Until then visitors are answered 404; null: from the start.' }),
    expiresAt: timeShown
      .nullable()
      .meta({ description: 'From then on visitors are sent to `expiredUrl`, or answered 404; null: never.' }),
    expiredUrl: z
      .string()
      .nullable()
      .meta({ description: "Where it leads when it has ended, or the month's hits are used up; null: nowhere." }),
    forwardQuery: z.boolean().meta({ description: "true: what a visitor's query says is added to `url`." }),
    monthlyHits: count
      .nullable()
      .meta({ description: 'How often it redirects in a calendar month (UTC); null: without a limit.' }),
    clicks: count.meta({
      description: 'How often it was followed, up to a few seconds ago; with what an import has brought along.',
    }),
    tenant: tenantShown,
    createdBy: z.string().nullable().meta({ description: 'The name of the key or the member that made it.' }),
    version: count.meta({ description: 'A change of what visitors notice makes it larger.' }),
    revision: count.meta({ description: 'How often title, note or tags were changed.' }),
    createdAt: timeShown,
    updatedAt: timeShown.meta({ description: 'When any of it was changed last.' }),
  })
  .meta({ id: 'Link' })

export type LinkShown = z.input<typeof linkShown>

export function present(names: Names, row: LinkRow): LinkShown {
  return {
    ...names.shown(row.code),
    ...shownOf(row),
    permanent: row.permanent,
    enabled: row.enabled,
    startsAt: row.startsAt?.toISOString() ?? null,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    expiredUrl: row.expiredUrl,
    forwardQuery: row.forwardQuery,
    monthlyHits: row.monthlyHits,
    state: row.state,
    title: row.title,
    note: row.note,
    tags: [...row.tags],
    clicks: row.clicks,
    tenant: row.tenant,
    createdBy: row.createdBy,
    version: row.version,
    revision: row.revision,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
