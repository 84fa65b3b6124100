// What the API offers about imports.
import { z } from 'zod'
import { count, domainGiven, domainShown, idOf, pageOf, pageShown, tenantIdGiven, tenantShown, timeShown } from '../api/fields.ts' // prettier-ignore
import { operationsOf } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { formatNames } from './formats/all.ts'
import { conflicts, states } from './store.ts'

const operation = operationsOf('Imports')

const shown = {
  id: z.string(),
  tenant: tenantShown,
  domain: domainShown,
  format: z.enum(formatNames).meta({ description: 'What the file was recognised as, or was said to be.' }),
  onConflict: z.enum(conflicts),
  dryRun: z.boolean().meta({ description: 'true: nothing is made, and the numbers say what would be.' }),
  state: z.enum(states),
  rows: count.meta({ description: 'Links that the file speaks of.' }),
  created: count,
  replaced: count,
  skipped: count.meta({ description: 'Links that were there already, with `onConflict=skip`.' }),
  refused: count.meta({ description: 'Rows that are no links here: `/imports/{id}/refused` says why.' }),
  warned: count.meta({ description: 'Links that could not get all that their row says.' }),
  failure: z.string().nullable().meta({ description: 'Why it has failed. What was made before stays.' }),
  createdBy: z.string().nullable().meta({ description: 'The name of the key that asked for it.' }),
  createdAt: timeShown,
  endedAt: timeShown.nullable(),
}
const warning = z.object({
  line: count.meta({ description: 'Of the file.' }),
  code: z.string().nullable(),
  reason: z.string(),
})
const imported = z
  .object({
    ...shown,
    warnings: z.array(warning).meta({ description: `The first ${limits.importWarnings}.` }),
  })
  .meta({ id: 'Import' })

export type ImportShown = z.input<typeof imported>

const oneOf = <const T extends readonly [string, ...string[]]>(words: T) => z.enum(words, `must be one of: ${words.join(', ')}`) // prettier-ignore

const params = z.object({
  id: idOf('import', { description: 'The id of an import.' }),
})

export const createImport = operation('createImport', 'post', '/imports', 'editor', {
  summary: 'Import links',
  about:
    'The body is a file: CSV, NDJSON or JSON of QuickLink, Shlink, YOURLS, Kutt, Bitly or Dub, or a mysqldump of `yourls_url`, of up to ' +
    `${limits.importRows.toLocaleString('en')} rows. It is answered when all of it is kept, and worked off after that: \`GET /imports/{id}\` tells how far. ` +
    'Codes, dates, titles, notes, tags and clicks are taken over; the links count in the quota of the tenant, and not as creates. A row that cannot ' +
    'be a link is refused with its reason, and the others go on. `text/csv`, `application/x-ndjson`, `application/json`, `application/sql` and `text/plain` are taken, too. Which columns are read, and what does not move, is in docs/MIGRATE.md.',
  query: z.strictObject({
    format: oneOf(['auto', ...formatNames]).default('auto').meta({ description: 'Whose file it is; `auto`: as it looks.' }), // prettier-ignore
    onConflict: oneOf(conflicts)
      .default('skip')
      .meta({
        description:
          'What becomes of a row whose code the tenant has already, or an earlier row of the file has: the link stays as it is, becomes what the row ' +
          'says and keeps its id, dates and clicks, or the import ends there. A code of another tenant is refused.',
      }),
    dryRun: z
      .enum(['true', 'false'], 'must be true or false')
      .default('false')
      .transform((word) => word === 'true')
      .meta({
        description: 'Makes nothing, and counts what would be.',
        override: ({ jsonSchema }) => {
          delete jsonSchema.enum
          Object.assign(jsonSchema, { type: 'boolean', default: false })
        },
      }),
    domain: domainGiven.optional().meta({
      description: "Where all the links go; by default PUBLIC_URL's host, and links of our own export to the domain that they name.",
    }), // prettier-ignore
    tenant: tenantIdGiven.optional().meta({ description: 'Whose links they become. Others than its own only the owner may name.' }), // prettier-ignore
  }),
  upload: { types: ['application/octet-stream'], example: 'code,url\nspring,https://example.org/a/long/address\n' },
  answer: { status: 202, what: 'The file is kept, and will be worked off.', schema: imported, headers: ['Location'] },
  problems: ['forbidden', 'not_found', 'too_large', 'unsupported_format'],
})

const item = z.object(shown).meta({ id: 'ImportItem' })

export const listImports = operation('listImports', 'get', '/imports', 'viewer', {
  summary: 'List imports',
  about: `Newest first. Of each tenant ${limits.importsKept} that have ended are remembered, for ${limits.importDays} days.`,
  query: z.strictObject({
    ...pageOf(20),
    tenant: tenantIdGiven.optional().meta({ description: 'Whose. Others than its own only the owner may list.' }),
  }),
  answer: { status: 200, what: 'A page of imports.', schema: pageShown(item).meta({ id: 'ImportPage' }) },
  problems: ['forbidden'],
})

export const readImport = operation('readImport', 'get', '/imports/{id}', 'viewer', {
  summary: 'Read an import',
  about: 'How far it has come, and what it has found.',
  params,
  answer: { status: 200, what: 'The import.', schema: imported },
})

export const readRefused = operation('readRefused', 'get', '/imports/{id}/refused', 'viewer', {
  summary: 'Read the rows that were refused',
  about:
    'A CSV with `line` and `reason` first, then the columns of the file, and `newCode`: whoever writes codes there, or mends the rest, can import it again.',
  params,
  answer: { status: 200, what: 'The rows, in the order of the file.', stream: ['text/csv'] },
})

export const removeImport = operation('deleteImport', 'delete', '/imports/{id}', 'editor', {
  summary: 'End and forget an import',
  about: 'What it has made stays; the rest of its file is not worked off, and its refused rows are gone.',
  params,
  answer: { status: 204, what: 'It is forgotten.' },
})
