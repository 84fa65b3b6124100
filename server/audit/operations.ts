// What the API offers of the audit log.
import { z } from 'zod'
import {
  codeNamed,
  domainGiven,
  domainShown,
  pageOf,
  pageShown,
  tenantIdGiven,
  tenantShown,
  timeShown,
} from '../api/fields.ts'
import { operationsOf } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { doers, kinds } from './store.ts'

const operation = operationsOf('Audit')

const entry = z
  .object({
    id: z.string(),
    at: timeShown,
    action: z.string().meta({ description: 'The name of the operation, as here.', examples: ['changeLink'] }),
    tenant: tenantShown.meta({ description: 'In whose log it stands.' }),
    target: z
      .object({ kind: z.enum(kinds), id: z.string(), domain: domainShown })
      .meta({ description: 'What it was done to; of a link its code.' }),
    by: z.object({
      kind: z.enum(doers),
      id: z.string(),
      name: z.string(),
      tenant: tenantShown,
      sessionId: z.string().nullable().meta({ description: 'null: by a key itself.' }),
    }),
    address: z
      .string()
      .nullable()
      .meta({ description: `From where, for ${limits.auditAddressDays} days. The owner's is shown to the owner.` }),
    changes: z
      .record(z.string(), z.object({ before: z.unknown().optional(), after: z.unknown().optional() }))
      .nullable()
      .meta({
        description: `What each field was and is; long ones are cut at ${limits.auditChars} characters. Never a password or a key.`,
      }),
  })
  .meta({ id: 'AuditEntry' })
export type EntryShown = z.input<typeof entry>

export const listAudit = operation('listAudit', 'get', '/audit', 'admin', {
  summary: 'Who did what',
  about:
    `The newest first, for ${limits.auditDays} days. An admin sees what was done in its tenant, the owner everything. With ` +
    '`Accept: application/x-ndjson` the answer is all that fits, an entry on each line, without pages; `limit` and `cursor` do not go with it.',
  query: z.strictObject({
    ...pageOf(limits.pageMax / 2),
    code: codeNamed.optional().meta({ description: 'Of this link only.' }),
    domain: domainGiven.optional().meta({ description: 'Its domain, with `code`.' }),
    tenant: tenantIdGiven.optional().meta({ description: "In this tenant's log." }),
  }),
  answer: {
    status: 200,
    what: 'A page of the log.',
    schema: pageShown(entry).meta({ id: 'AuditPage' }),
    stream: ['application/x-ndjson'],
  },
  problems: ['not_found'],
})
