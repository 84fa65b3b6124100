// A row of a file as it waits to be worked off: either all that its link will be, or why it cannot be one. It is held to what a create is
// held to; what differs is said in docs/decisions/0031-imports.md.
import { limits } from '../limits.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import { codeAt, customCodeLength, isReserved, parseCode, type Code } from '../link.ts'
import { parseDestination } from '../links/destination.ts'
import { agreedExpiry, agreedHits, agreedWindow, importedSchema } from '../links/input.ts'
import { agreedLead, newLead, parseRules } from '../links/special.ts'
import { keysOf } from '../links/tags.ts'
import type { Tier } from '../tenants/tiers.ts'
import type { Draft } from './formats/format.ts'
import type { SourceRow } from './formats/reading.ts'

/** By the names of the columns that Postgres reads them as: `rowColumns` in part.ts. What is not there is null. */
export interface StagedRow {
  readonly line: number
  readonly source: readonly string[]
  readonly refused?: string
  readonly warnings?: readonly string[]
  /** With the host of a further domain before it; absent: one of ours, at `host`. */
  readonly code?: Code
  readonly host?: string
  readonly url?: string
  readonly rules?: unknown
  /** It had one elsewhere, and nobody here knows it. */
  readonly has_password?: boolean
  readonly permanent?: boolean
  readonly enabled?: boolean
  readonly starts_at?: Date
  readonly expires_at?: Date
  readonly expired_url?: string
  readonly forward_query?: boolean
  readonly monthly_hits?: number
  readonly created_at?: Date
  readonly created_by?: string
  readonly title?: string
  readonly note?: string
  readonly tags?: readonly string[]
  readonly tag_keys?: readonly string[]
  readonly clicks?: number
}

export interface RowTerms {
  readonly names: Names
  /** QuickLink's own. */
  readonly ownHosts: readonly string[]
  readonly tier: Pick<Tier, 'monthlyHits' | 'lifeDays'>
  /** Where links go; undefined: where a file of ours says, else the default domain. */
  readonly host: string | null | undefined
  /** Of those that do not say who made them. */
  readonly createdBy: string
}

/** One for each link that the row speaks of. */
export function rowsOf({ line, source, drafts, wrong }: SourceRow, terms: RowTerms): StagedRow[] {
  // Postgres takes neither.
  const kept = source.map(storable)
  if (wrong !== undefined) return [{ line, source: kept, refused: wrong }]
  if (drafts.length === 0) return [{ line, source: kept, refused: 'The row says nothing of a link.' }]
  return drafts.map((draft) => {
    try {
      return { line, source: kept, ...linkOf(draft, terms) }
    } catch (error) {
      if (!(error instanceof QuickLinkError)) throw error
      return { line, source: kept, refused: storable(error.message) }
    }
  })
}

const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

const refuse = (sentence: string): never => {
  throw new QuickLinkError('invalid', sentence)
}

function linkOf(draft: Draft, terms: RowTerms): Omit<StagedRow, 'line' | 'source'> {
  const { tier, ownHosts, names } = terms
  const hasPassword = draft.hasPassword === true
  const host = terms.host === undefined ? names.hostOf(draft.domain ?? undefined) : terms.host
  const code = draft.code === undefined || draft.code === '' ? undefined : codeAt(host, codeOf(draft.code))
  const said = parsed(draft)
  // Our own export does not tell where a link with a password leads.
  if (said.url === undefined && !hasPassword) refuse('url is missing.')
  const url = said.url === undefined ? undefined : parseDestination(said.url, ownHosts)
  const rules = parseRules(said.rules, ownHosts)
  agreedLead({ url: url ?? '', rules, hasPassword, permanent: said.permanent ?? false })
  const startsAt = said.startsAt ?? null
  const expiresAt = agreedExpiry(tier, said.expiresAt ?? null, Date.now())
  agreedWindow(startsAt, expiresAt)
  const { rules: stored } = newLead({ url: url ?? '', special: { rules, passwordHash: undefined } })
  const tags = said.tags ?? []
  return compact({
    code,
    host: code === undefined ? (host ?? undefined) : undefined,
    url,
    rules: stored === null ? undefined : (JSON.parse(stored) as unknown),
    has_password: hasPassword || undefined,
    permanent: said.permanent,
    enabled: said.enabled,
    starts_at: startsAt ?? undefined,
    expires_at: expiresAt ?? undefined,
    expired_url: said.expiredUrl ? parseDestination(said.expiredUrl, ownHosts, 'expiredUrl') : undefined,
    forward_query: said.forwardQuery,
    monthly_hits: agreedHits(tier, said.monthlyHits ?? null) ?? undefined,
    created_at: said.createdAt && (said.createdAt.getTime() > Date.now() ? new Date() : said.createdAt),
    created_by: said.createdBy ?? terms.createdBy,
    title: said.title ?? undefined,
    note: said.note ?? undefined,
    tags: tags.length > 0 ? tags : undefined,
    tag_keys: tags.length > 0 ? keysOf(tags) : undefined,
    clicks: said.clicks,
    warnings: draft.warnings && draft.warnings.length > 0 ? draft.warnings : undefined,
  })
}

/** Of the alphabet that codes have here: no other code is made of it. Those of one and two characters come so, too. */
function codeOf(text: string): Code {
  if (isReserved(text)) return refuse(`The code ${shown(text)} is a reserved word: give it another one.`)
  const code = parseCode(text)
  return code ?? refuse(`The code ${shown(text)} cannot be kept: codes have 1 to ${customCodeLength.max} of the characters 0-9, A-Z, a-z, _ and -.`) // prettier-ignore
}

const shown = (text: string): string => (text.length > 70 ? `${text.slice(0, 70)}…` : text)

const schema = importedSchema.partial({ url: true })

function parsed({ fields }: Draft) {
  const result = schema.safeParse(fields)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  return refuse(`${issue?.path.map(String).join('.') || 'The row'} ${issue?.message ?? 'is not valid'}.`)
}

type Compact<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** What is undefined is not there. */
function compact<T extends object>(thing: T): Compact<T> {
  const kept: Partial<T> = {}
  for (const name in thing) if (thing[name] !== undefined) kept[name] = thing[name]
  return kept as unknown as Compact<T>
}

/** Characters that it takes while it waits, about. */
export const sizeOf = ({ source, url = '', note = '' }: StagedRow): number =>
  source.reduce((sum, cell) => sum + cell.length, url.length + note.length + 200)

export const isFull = (rows: number, chars: number): boolean =>
  rows >= limits.importPart || chars >= limits.importPartChars
