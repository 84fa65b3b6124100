// The SQL of links, one function per verb. Version and outbox come from the triggers of the table.
import type { Sql } from '../connections/postgres.ts'
import { absent, type Code, type Known, type Version } from '../link.ts'
import type { Match } from './search.ts'

export interface LinkRow {
  readonly id: number
  readonly code: Code
  readonly url: string
  readonly permanent: boolean
  readonly enabled: boolean
  readonly expiresAt: Date | null
  readonly monthlyHits: number | null
  readonly tenant: string
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly deletedAt: Date | null
  readonly clicks: number
}

const columns = `links.id, links.code, links.url, links.permanent, links.enabled, links.expires_at as "expiresAt",
  links.monthly_hits as "monthlyHits", links.tenant, links.version, links.created_at as "createdAt",
  links.updated_at as "updatedAt", links.deleted_at as "deletedAt",
  coalesce((select total.clicks from click_totals as total where total.link_id = links.id), 0) as clicks`

/** A row as the redirect path sees it. Expiry is left to the reader's clock. */
export function toKnown(row: LinkRow): Known {
  if (!row.enabled || row.deletedAt !== null) return absent(row.version)
  const expiresAtS = row.expiresAt === null ? null : Math.floor(row.expiresAt.getTime() / 1000)
  const { code, id, url, permanent, monthlyHits, version } = row
  return { code, id, url, permanent, expiresAtS, monthlyHits, version }
}

export interface NewLink {
  readonly tenant: string
  readonly url: string
  readonly permanent: boolean
  readonly enabled: boolean
  readonly expiresAt: Date | null
  readonly monthlyHits: number | null
}

const newValues = (link: NewLink): unknown[] => [
  link.url,
  link.permanent,
  link.enabled,
  link.expiresAt,
  link.monthlyHits,
  link.tenant,
]

const insertSql = `insert into links (url, permanent, enabled, expires_at, monthly_hits, tenant, code, counter, salt_generation)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

export async function drawCounter(sql: Sql): Promise<number> {
  const [drawn] = await sql.query<{ counter: number }>(`select nextval('link_counter_seq') as counter`)
  return drawn?.counter ?? NaN
}

/** undefined: the code is taken, by a custom code, a code of an older salt, or one not yet purged. */
export async function insertGenerated(
  sql: Sql,
  link: NewLink,
  minted: { readonly code: Code; readonly counter: number; readonly saltGeneration: number },
): Promise<LinkRow | undefined> {
  const { code, counter, saltGeneration } = minted
  const [row] = await sql.query<LinkRow>(`${insertSql} on conflict (code) do nothing returning ${columns}`, [
    ...newValues(link),
    code,
    counter,
    saltGeneration,
  ])
  return row
}

/**
 * What its tenant deleted, or let expire, it may create again at once. The row stays, so that the versions of the code
 * remain ordered by its lock; the id is new, so that nothing counted is inherited. undefined: the code is taken.
 */
export async function insertCustom(sql: Sql, link: NewLink, code: Code): Promise<LinkRow | undefined> {
  const [row] = await sql.query<LinkRow>(
    `${insertSql}
     on conflict (code) do update set id = excluded.id, url = excluded.url, permanent = excluded.permanent,
       enabled = excluded.enabled, expires_at = excluded.expires_at, monthly_hits = excluded.monthly_hits,
       counter = null, salt_generation = null, created_at = now(), deleted_at = null
     where links.tenant = excluded.tenant and (links.deleted_at is not null or links.expires_at <= now())
     returning ${columns}`,
    [...newValues(link), code, null, null],
  )
  return row
}

/** Whose links: a tenant's, or everybody's. */
export type Scope = string | null

export async function readLink(sql: Sql, code: Code, scope: Scope): Promise<LinkRow | undefined> {
  const [row] = await sql.query<LinkRow>(
    `select ${columns} from links where code = $1 and deleted_at is null and ($2::text is null or tenant = $2)`,
    [code, scope],
  )
  return row
}

export interface ListQuery {
  readonly scope: Scope
  readonly limit: number
  /** Links with a smaller id: newest first, and what is created meanwhile shifts no page. */
  readonly beforeId: number | undefined
  readonly enabled: boolean | undefined
}

export interface LinksPage {
  readonly rows: readonly LinkRow[]
  readonly nextId: number | undefined
}

export async function listLinks(sql: Sql, query: ListQuery, match?: Match): Promise<LinksPage> {
  const values: unknown[] = []
  const where = ['deleted_at is null']
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value === undefined || value === null) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  add(query.scope, (p) => `tenant = ${p}`)
  add(query.beforeId, (p) => `id < ${p}`)
  add(query.enabled, (p) => `enabled = ${p}`)
  if (match) add(match.pattern, match.condition)
  values.push(query.limit + 1)
  const rows = await sql.query<LinkRow>(
    `select ${columns} from links where ${where.join(' and ')} order by id desc limit $${values.length}`,
    values,
  )
  const page = rows.slice(0, query.limit)
  return { rows: page, nextId: rows.length > query.limit ? page.at(-1)?.id : undefined }
}

export interface LinkPatch {
  readonly url?: string | undefined
  readonly permanent?: boolean | undefined
  readonly enabled?: boolean | undefined
  readonly expiresAt?: Date | null | undefined
  readonly monthlyHits?: number | null | undefined
}

const patchColumns = {
  url: 'url',
  permanent: 'permanent',
  enabled: 'enabled',
  expiresAt: 'expires_at',
  monthlyHits: 'monthly_hits',
} as const satisfies Record<keyof LinkPatch, string>

/** `versions`: the link must have one of these; undefined: whichever it has. */
export async function patchLink(
  sql: Sql,
  code: Code,
  scope: Scope,
  patch: LinkPatch,
  versions?: readonly Version[],
): Promise<LinkRow | undefined> {
  const given = (Object.keys(patchColumns) as (keyof LinkPatch)[]).filter((field) => patch[field] !== undefined)
  const assignments = given.map((field, i) => `${patchColumns[field]} = $${i + 4}`).join(', ')
  const values = given.map((field) => patch[field])
  return updateOne(sql, assignments, [code, scope, versions ?? null, ...values])
}

export const deleteLink = (
  sql: Sql,
  code: Code,
  scope: Scope,
  versions?: readonly Version[],
): Promise<LinkRow | undefined> => updateOne(sql, 'deleted_at = now()', [code, scope, versions ?? null])

/** `version` is the one before the update: the trigger draws another. Who has waited for the row sees what it has become. */
async function updateOne(sql: Sql, assignments: string, values: readonly unknown[]): Promise<LinkRow | undefined> {
  const [row] = await sql.query<LinkRow>(
    `update links set ${assignments}
     where code = $1 and deleted_at is null and ($2::text is null or tenant = $2)
       and ($3::bigint[] is null or version = any ($3)) returning ${columns}`,
    values,
  )
  return row
}
