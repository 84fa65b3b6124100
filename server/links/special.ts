// Rules and passwords: what a request may say of them, how they stand in the row of a link, and what the API shows.
import { z } from 'zod'
import { mustBe, textOf, timeGiven, timeShown } from '../api/fields.ts'
import { readRules, storedRules } from '../coherence/stored-rules.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { invalid } from '../errors.ts'
import { devices, systems, type Code, type Rule, type When } from '../link.ts'
import { writeSecret } from '../passwords/store.ts'
import { parseDestination } from './destination.ts'

const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, mustBe(`one of ${words.join(', ')}`))

const languageForm = 'must be a language like de or pt-BR'
const instant = timeGiven.transform((at) => Math.floor(at.getTime() / 1000))
const queryForm = `must name 1 to ${limits.ruleQueryNames} parameters`

const when = z
  .strictObject(
    {
      device: oneOf(devices).optional(),
      os: oneOf(systems).optional(),
      language: z
        .string(mustBe('text'))
        .regex(/^[A-Za-z]{2,3}(?:-[0-9A-Za-z]{2,8}){0,3}$/, languageForm)
        .optional()
        .meta({ description: "The visitor's first choice; `de` is also `de-CH`.", examples: ['de'] }),
      after: instant.optional().meta({ description: 'From this second on.' }),
      before: instant.optional().meta({ description: 'Until this second.' }),
      query: z
        .record(textOf(1, limits.ruleQueryChars), textOf(0, limits.ruleQueryChars), mustBe('a JSON object'))
        .refine((query) => Object.keys(query).length > 0, queryForm)
        .refine((query) => Object.keys(query).length <= limits.ruleQueryNames, queryForm)
        .optional()
        .meta({
          description: 'What the short URL is asked for with, each name with this value.',
          examples: [{ from: 'poster' }],
          minProperties: 1,
          maxProperties: limits.ruleQueryNames,
        }),
    },
    mustBe('a JSON object'),
  )
  .refine((when) => Object.keys(when).length > 0, 'must name at least one condition')
  .refine(({ after, before }) => after === undefined || before === undefined || after < before, {
    message: 'must have an after that is earlier than its before',
  })
  .transform(({ after, before, ...rest }): When => ({
    ...rest,
    ...(after === undefined ? {} : { afterS: after }),
    ...(before === undefined ? {} : { beforeS: before }),
  }))
  .meta({ id: 'When', minProperties: 1, description: 'All that it names has to be so.' })

const urlGiven = z.string(mustBe('text')).meta({
  description: 'As the `url` of a link.',
  override: { format: 'uri', maxLength: limits.urlLength },
  examples: ['https://apps.apple.com/app/id1'],
})
const rulesForm = `at most ${limits.rules} rules, or null`

export const specialGiven = {
  rules: z
    .array(z.strictObject({ when, url: urlGiven }, mustBe('a JSON object')), mustBe(rulesForm))
    .max(limits.rules, `must be ${rulesForm}`)
    .nullable()
    .optional()
    .meta({
      description: `Tried in their order; the first that fits says where a visitor is led, and \`url\` where all others are. Their URLs have together at most ${limits.rulesUrls} characters. null or []: none.`,
      examples: [[{ when: { os: 'ios' }, url: 'https://apps.apple.com/app/id1' }]],
    }),
  password: textOf(limits.passwordLeast, limits.passwordMost)
    .nullable()
    .optional()
    .meta({
      description:
        'Visitors are asked for it. It is never shown again, and neither is `url` as long as it is there; null: none.',
      override: ({ jsonSchema }) => {
        for (const text of jsonSchema.anyOf ?? []) if (text.type === 'string') text.format = 'password'
        jsonSchema.writeOnly = true
      },
    }),
}

export const specialShown = {
  rules: z
    .array(
      z.object({
        when: z.object({
          device: z.enum(devices).optional(),
          os: z.enum(systems).optional(),
          language: z.string().optional(),
          after: timeShown.optional(),
          before: timeShown.optional(),
          query: z.record(z.string(), z.string()).optional(),
        }),
        url: z.string(),
      }),
    )
    .meta({ description: 'The first that fits says where a visitor is led; `url`, where all others are.' }),
  hasPassword: z.boolean().meta({ description: 'Visitors are asked for a password first.' }),
}

/** What a request says of them; undefined: nothing. */
export interface SpecialAsked {
  readonly rules?: readonly Rule[] | null | undefined
  readonly password?: string | null | undefined
}

/** Of a link that is made. */
export interface NewSpecial {
  readonly rules: readonly Rule[]
  readonly passwordHash: string | undefined
}

/** Where a link leads, and who is let. */
interface Lead {
  readonly url: string
  readonly permanent: boolean
  readonly rules: readonly Rule[]
  readonly hasPassword: boolean
}

/** As it stands in `links`: no server that does not know of them finds a target there. */
function columnsOf({ url, rules, hasPassword }: Pick<Lead, 'url' | 'rules' | 'hasPassword'>) {
  return {
    url: rules.length === 0 && !hasPassword ? url : '',
    rules: rules.length === 0 ? null : JSON.stringify(storedRules({ rules, url })),
    hasPassword,
  }
}

/** The same of a new link. */
export function newLead({ url, special }: { readonly url: string; readonly special?: NewSpecial | undefined }) {
  const { rules = [], passwordHash } = special ?? {}
  return columnsOf({ url, rules, hasPassword: passwordHash !== undefined })
}

/** What the API shows of the columns. */
export function shownOf(row: { readonly url: string; readonly rules: unknown; readonly hasPassword: boolean }) {
  const guided = row.rules === null ? undefined : readRules(row.rules)
  const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString()
  return {
    url: row.hasPassword ? null : (guided?.url ?? row.url),
    rules: (guided?.rules ?? []).map(({ when: { afterS, beforeS, ...rest }, url }) => ({
      when: {
        ...rest,
        ...(afterS === undefined ? {} : { after: timeOf(afterS) }),
        ...(beforeS === undefined ? {} : { before: timeOf(beforeS) }),
      },
      url,
    })),
    hasPassword: row.hasPassword,
  }
}

/** Each URL is held to what any destination is held to. */
export function parseRules(given: readonly Rule[] | null | undefined, ownHosts: readonly string[]): readonly Rule[] {
  const rules = (given ?? []).map(({ when, url }, i) => ({
    when,
    url: parseDestination(url, ownHosts, `rules.${i}.url`),
  }))
  const length = rules.reduce((sum, { url }) => sum + url.length, 0)
  if (length > limits.rulesUrls) {
    throw invalid('rules', `rules must have URLs of at most ${limits.rulesUrls} characters together.`)
  }
  return rules
}

/** Throws where it contradicts itself. */
export function agreedLead(lead: Lead): Lead {
  const { rules, hasPassword, permanent } = lead
  if (rules.length > 0 && hasPassword) {
    throw invalid('rules', 'A link has rules or a password, not both: set the other one to null.')
  }
  if (permanent && (rules.length > 0 || hasPassword)) {
    throw invalid(
      'permanent',
      'permanent must be false for a link with rules or a password: browsers would remember where it led.',
    )
  }
  return lead
}

interface LeadRow {
  readonly url: string
  readonly rules: unknown
  readonly hasPassword: boolean
  readonly permanent: boolean
  readonly secretUrl: string | null
}

/** What a change says of where a link leads. A hash of null: no password any more. */
interface LeadPatch {
  readonly url?: string | undefined
  readonly permanent?: boolean | undefined
  readonly rules?: readonly Rule[] | null | undefined
  readonly passwordHash?: string | null | undefined
}

/**
 * Where a link leads after this change: in its transaction, and with the row's lock, since what is named is put together with
 * what stays. `same`: it says nothing of that.
 */
export async function leadAfter(
  sql: Sql,
  { code, scope }: { readonly code: Code; readonly scope: string | null },
  { url, permanent, rules, passwordHash }: LeadPatch,
): Promise<Lead | 'same' | 'no link'> {
  if (url === undefined && permanent !== true && rules === undefined && passwordHash === undefined) return 'same'
  const [row] = await sql.query<LeadRow>(
    `select links.url, links.rules, links.has_password as "hasPassword", links.permanent, p.url as "secretUrl"
     from links left join link_passwords p on p.link_id = links.id
     where code = $1 and deleted_at is null and ($2::text is null or tenant = $2) for update of links`,
    [code, scope],
  )
  if (!row) return 'no link'
  const now = row.rules === null ? undefined : readRules(row.rules)
  return agreedLead({
    url: url ?? row.secretUrl ?? now?.url ?? row.url,
    permanent: permanent ?? row.permanent,
    rules: (rules === undefined ? now?.rules : rules) ?? [],
    hasPassword: passwordHash === undefined ? row.hasPassword : passwordHash !== null,
  })
}

/** What a change of the row sets for it. */
export const patchOf = ({ permanent, ...lead }: Lead) => ({ permanent, ...columnsOf(lead) })

/** Beside the row, in its transaction. What becomes of it where the password is taken off is a trigger's. */
export async function keepSecret(
  sql: Sql,
  linkId: number,
  { url, hasPassword }: Lead,
  hash: string | null | undefined,
): Promise<void> {
  if (hasPassword) await writeSecret(sql, linkId, { hash: hash ?? undefined, url })
}

export async function keepNewSecret(
  sql: Sql,
  linkId: number,
  { url, special }: { readonly url: string; readonly special?: NewSpecial | undefined },
): Promise<void> {
  const hash = special?.passwordHash
  if (hash !== undefined) await writeSecret(sql, linkId, { hash, url })
}
