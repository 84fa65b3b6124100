// The SQL of links, one function per verb. Version and outbox come from the triggers of the table; what people say of a link is in
// tables of its own (migration 0008), so that a change of it tells no process. Lists are in list.ts.
import type { Sql } from '../connections/postgres.ts'
import { leadIn } from '../coherence/stored-rules.ts'
import { absent, type Code, type Known } from '../link.ts'
import type { Revised } from './etag.ts'
import { keepNewSecret, newLead, type NewSpecial } from './special.ts'
import { keysOf } from './tags.ts'

export const states = ['active', 'scheduled', 'expired', 'disabled'] as const
export type State = (typeof states)[number]

/** The row of `links`. */
export interface LinkCore {
  readonly id: number
  readonly code: Code
  /** '' where there are rules or a password. */
  readonly url: string
  /** As they are stored; null: none. */
  readonly rules: unknown
  readonly hasPassword: boolean
  readonly permanent: boolean
  readonly enabled: boolean
  readonly startsAt: Date | null
  readonly expiresAt: Date | null
  readonly expiredUrl: string | null
  readonly forwardQuery: boolean
  readonly monthlyHits: number | null
  readonly tenant: string
  readonly version: number
  readonly createdAt: Date
  readonly deletedAt: Date | null
  readonly state: State
}

export interface LinkRow extends LinkCore {
  readonly title: string | null
  readonly note: string | null
  readonly tags: readonly string[]
  readonly createdBy: string | null
  readonly revision: number
  /** Of the link or of its details, whichever was later. */
  readonly updatedAt: Date
  readonly clicks: number
}

/** What redirects depend on, and where it stands: may be given when a link is made, and changed. */
const coreColumns = {
  url: 'url',
  rules: 'rules',
  hasPassword: 'has_password',
  permanent: 'permanent',
  enabled: 'enabled',
  startsAt: 'starts_at',
  expiresAt: 'expires_at',
  expiredUrl: 'expired_url',
  forwardQuery: 'forward_query',
  monthlyHits: 'monthly_hits',
} as const satisfies Partial<Record<keyof LinkCore, string>>
type CoreField = keyof typeof coreColumns
const coreFields = Object.keys(coreColumns) as CoreField[]

const hasEnded = 'links.expires_at <= now()'
const isToBegin = 'links.starts_at > now()'

const core = `${coreFields.map((field) => `links.${coreColumns[field]} as "${field}"`).join(', ')}, links.id, links.code,
  links.tenant, links.version, links.created_at as "createdAt", links.deleted_at as "deletedAt",
  case when not links.enabled then 'disabled' when ${hasEnded} then 'expired' when ${isToBegin} then 'scheduled' else 'active' end as state`

/** The same as conditions. */
export const inState: Readonly<Record<State, string>> = {
  active: `links.enabled and coalesce(not ${hasEnded}, true) and coalesce(not ${isToBegin}, true)`,
  scheduled: `links.enabled and coalesce(not ${hasEnded}, true) and ${isToBegin}`,
  expired: `links.enabled and ${hasEnded}`,
  disabled: 'not links.enabled',
}

/** Of `withDetails`. */
export const columns = `${core}, details.title, details.note, details.created_by as "createdBy",
  coalesce(details.revision, 0) as revision, coalesce(details.updated_at, links.updated_at) as "updatedAt",
  array(select tags.name from link_tags join tags on tags.id = link_tags.tag_id where link_tags.link_id = links.id order by tags.key) as tags,
  coalesce(details.clicks_before, 0)
    + coalesce((select total.clicks from click_totals as total where total.link_id = links.id), 0) as clicks`

/** A link without details is possible where somebody has switched triggers off. */
export const withDetails = 'links left join link_details as details on details.link_id = links.id'

/** A row as the redirect path sees it. When it begins and ends is left to the reader's clock. */
export function toKnown(row: LinkCore): Known {
  if (!row.enabled || row.deletedAt !== null) return absent(row.version)
  const { code, id, permanent, startsAt, expiresAt, expiredUrl, forwardQuery, monthlyHits, version } = row
  const startsAtS = startsAt === null ? null : Math.ceil(startsAt.getTime() / 1000)
  const expiresAtS = expiresAt === null ? null : Math.floor(expiresAt.getTime() / 1000)
  return { code, id, ...leadIn(row), permanent, startsAtS, expiresAtS, expiredUrl, forwardQuery, monthlyHits, version }
}

/** What people say of a link. */
export interface Details {
  readonly title: string | null
  readonly note: string | null
  /** Known to the tenant already: `ensureTags`. */
  readonly tags: readonly string[]
}

export interface NewLink extends Details, Pick<LinkCore, Exclude<CoreField, 'rules' | 'hasPassword'> | 'tenant'> {
  readonly special?: NewSpecial | undefined
  readonly createdBy: string | null
}

const makes = [...Object.values(coreColumns), 'tenant', 'code', 'counter', 'salt_generation']
/** The names of the values behind those. */
const [by, title, note, tagKeys] = [1, 2, 3, 4].map((n) => `$${makes.length + n}`)

/** The link and its details in one statement; tags only where there are some. */
function insertSql(conflict: string, hasTags: boolean): string {
  const ofTenant = `tags.tenant = made.tenant and tags.key = any (${tagKeys})`
  const tagged = `, tagged as (
    insert into link_tags (tag_id, link_id, created_at) select tags.id, made.id, made.created_at from made, tags where ${ofTenant}
  )`
  return `with made as (
    insert into links (${makes.join(', ')}) values (${makes.map((_, n) => `$${n + 1}`).join(', ')}) ${conflict} returning links.*
  ), details as (
    insert into link_details (link_id, tenant, created_at, updated_at, created_by, title, note)
    select id, tenant, created_at, updated_at, ${by}, ${title}, ${note} from made returning *
  )${hasTags ? tagged : ''}
  select ${core}, details.title, details.note, details.created_by as "createdBy", details.revision,
    details.updated_at as "updatedAt", 0 as clicks,
    ${hasTags ? `array(select tags.name from tags, made where ${ofTenant} order by tags.key)` : 'array[]::text[]'} as tags
  from made as links, details`
}

interface Minted {
  readonly code: Code
  /** null: a code of somebody's own. */
  readonly counter: number | null
  readonly saltGeneration: number | null
}

async function insertOne(sql: Sql, link: NewLink, minted: Minted, conflict: string): Promise<LinkRow | undefined> {
  const hasTags = link.tags.length > 0
  const columns = { ...link, ...newLead(link) }
  const [row] = await sql.query<LinkRow>(insertSql(conflict, hasTags), [
    ...coreFields.map((field) => columns[field]),
    ...[link.tenant, minted.code, minted.counter, minted.saltGeneration],
    ...[link.createdBy, link.title, link.note],
    ...(hasTags ? [keysOf(link.tags)] : []),
  ])
  if (row) await keepNewSecret(sql, row.id, link)
  return row
}

export async function drawCounter(sql: Sql): Promise<number> {
  const [drawn] = await sql.query<{ counter: number }>(`select nextval('link_counter_seq') as counter`)
  return drawn?.counter ?? NaN
}

/** undefined: the code is taken, by a custom code, a code of an older salt, or one not yet purged. */
export const insertGenerated = (sql: Sql, link: NewLink, minted: Minted): Promise<LinkRow | undefined> =>
  insertOne(sql, link, minted, 'on conflict (code) do nothing')

export const isOver = '(links.deleted_at is not null or (links.expires_at <= now() and links.expired_url is null))'
const takeOver = `on conflict (code) do update set
    ${['id', ...Object.values(coreColumns)].map((column) => `${column} = excluded.${column}`).join(', ')},
    counter = null, salt_generation = null, created_at = now(), deleted_at = null
  where links.tenant = excluded.tenant and ${isOver}`

/**
 * What its tenant deleted, or let expire, it may create again at once; not what still leads somewhere after its end. The row
 * stays, so that the versions of the code remain ordered by its lock; the id is new, so that nothing counted or said is inherited.
 * undefined: the code is taken.
 */
export const insertCustom = (sql: Sql, link: NewLink, code: Code): Promise<LinkRow | undefined> =>
  insertOne(sql, link, { code, counter: null, saltGeneration: null }, takeOver)

/** Whose links: a tenant's, or everybody's. */
export type Scope = string | null

const ofScope = 'links.code = $1 and links.deleted_at is null and ($2::text is null or links.tenant = $2)'

export async function readLink(sql: Sql, code: Code, scope: Scope): Promise<LinkRow | undefined> {
  const [row] = await sql.query<LinkRow>(`select ${columns} from ${withDetails} where ${ofScope}`, [code, scope])
  return row
}

type Patch<T> = { readonly [K in keyof T]?: T[K] | undefined }
export type LinkPatch = Patch<Pick<LinkCore, CoreField>> & Patch<Details>

const detailColumns = { title: 'title', note: 'note' } as const

const namesIn = <K extends keyof LinkPatch>(names: Readonly<Record<K, string>>, patch: LinkPatch): K[] =>
  (Object.keys(names) as K[]).filter((field) => patch[field] !== undefined)

/** Whether visitors notice, so that every process has to be told. */
export const changesCore = (patch: LinkPatch): boolean => namesIn(coreColumns, patch).length > 0

/** The link that is meant, if it is in one of these states; undefined: in whichever. Locked by `lock` before. */
const found = `select links.id, links.tenant, links.created_at from ${withDetails}
  where ${ofScope} and ($3::bigint[] is null or exists (
    select from unnest($3::bigint[], $4::integer[]) as wanted (version, revision)
    where wanted.version = links.version and wanted.revision = coalesce(details.revision, 0)))`

const foundBy = (code: Code, scope: Scope, states?: readonly Revised[]): unknown[] => [
  code,
  scope,
  states?.map(({ version }) => version) ?? null,
  states?.map(({ revision }) => revision) ?? null,
]

/** A statement of its own, so that the next one sees what whoever held the link has committed, of its details, too. */
const lock = (sql: Sql, code: Code, scope: Scope): Promise<unknown> =>
  sql.query(`select from links where ${ofScope} for no key update`, [code, scope])

/** In a transaction: as it is until this transaction changes it. */
export async function readLocked(sql: Sql, code: Code, scope: Scope): Promise<LinkRow | undefined> {
  const [, row] = await Promise.all([lock(sql, code, scope), readLink(sql, code, scope)])
  return row
}

/** In a transaction; all is asked at once. undefined: there is no such link, or not in one of these states. */
export async function patchLink(
  sql: Sql,
  code: Code,
  scope: Scope,
  patch: LinkPatch,
  states?: readonly Revised[],
): Promise<LinkRow | undefined> {
  const values = foundBy(code, scope, states)
  const parameter = (value: unknown): string => `$${values.push(value)}`
  const assign = <K extends keyof LinkPatch>(names: Readonly<Record<K, string>>): string[] =>
    namesIn(names, patch).map((field) => `${names[field]} = ${parameter(patch[field])}`)
  const [ofLink, ofDetails] = [assign(coreColumns), assign(detailColumns)]
  const steps = [`found as materialized (${found})`]
  if (ofLink.length > 0) {
    steps.push(`changed as (update links set ${ofLink.join(', ')} from found where links.id = found.id)`)
  }
  if (ofDetails.length > 0 || patch.tags) {
    const assignments = [...ofDetails, 'revision = revision + 1', 'updated_at = now()'].join(', ')
    steps.push(`detailed as (update link_details set ${assignments} from found where link_id = found.id)`)
  }
  if (patch.tags) {
    const ofTenant = `tags.tenant = found.tenant and tags.key = any (${parameter(keysOf(patch.tags))})`
    steps.push(
      `untagged as (delete from link_tags using found where link_id = found.id
         and not exists (select from tags where tags.id = tag_id and ${ofTenant}))`,
      `tagged as (insert into link_tags (tag_id, link_id, created_at)
         select tags.id, found.id, found.created_at from found, tags where ${ofTenant} on conflict do nothing)`,
    )
  }
  const [, changed, row] = await Promise.all([
    lock(sql, code, scope),
    sql.query(`with ${steps.join(', ')} select from found`, values),
    readLink(sql, code, scope),
  ])
  return changed.length > 0 ? row : undefined
}

export async function deleteLink(
  sql: Sql,
  code: Code,
  scope: Scope,
  states?: readonly Revised[],
): Promise<LinkCore | undefined> {
  const [, [row]] = await Promise.all([
    lock(sql, code, scope),
    sql.query<LinkCore>(
      `with found as materialized (${found})
       update links set deleted_at = now() from found where links.id = found.id returning ${core}`,
      foundBy(code, scope, states),
    ),
  ])
  return row
}
