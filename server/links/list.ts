// A page of links. Which ones, and where it goes on, is read from an index: one filter, with the dates of creation, goes with the orders
// newest and oldest; no filter, with all orders. Whatever else is asked has a short deadline (search.ts): most of it Postgres finds
// quickly, by one filter or by the order, and what it does not is refused with a sentence. Read docs/decisions/0026-details.md.
import type { Place } from '../api/cursors.ts'
import { limits } from '../limits.ts'
import type { IndexSpec } from '../connections/indexes.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Leash, Match } from './search.ts'
import { columns, inState, withDetails, type LinkRow, type Scope, type State } from './store.ts'
import { keyOf } from './tags.ts'

export const sorts = ['newest', 'oldest', 'updated', 'clicks'] as const
export type Sort = (typeof sorts)[number]

export interface Filters {
  readonly enabled?: boolean | undefined
  readonly state?: State | undefined
  readonly tag?: string | undefined
  readonly createdBy?: string | undefined
  readonly createdAfter?: Date | undefined
  readonly createdBefore?: Date | undefined
  /** As it is stored. */
  readonly url?: string | undefined
  /** null: the default one. */
  readonly domain?: string | null | undefined
}

export interface ListQuery extends Filters {
  readonly scope: Scope
  readonly sort: Sort
  readonly limit: number
  readonly after: Place | undefined
  readonly q?: string | undefined
}

/** All that fit, in the order of their creation. */
export type ExportQuery = Omit<ListQuery, 'sort' | 'limit' | 'after'>

export interface LinksPage {
  readonly rows: readonly LinkRow[]
  readonly next: Place | undefined
}

const isLive = 'where deleted_at is null'
/** Of codes with a host before them: see decision 29. */
const isFurther = `strpos(code, '/') > 0`
const domain = `split_part(code, '/', 1)`
/** Each is an order, or a filter with the order of creation. With `tenant` before it for one tenant, without for all. */
export const listIndexes: readonly IndexSpec[] = [
  {
    name: 'links_by_tenant_and_age',
    definition: `on links (tenant, created_at, id) ${isLive}`,
    replaces: 'links_by_tenant',
  },
  { name: 'links_by_age', definition: `on links (created_at, id) ${isLive}`, replaces: 'links_by_id' },
  // A tenant may have disabled most of its links, and they would all be passed over.
  { name: 'links_enabled', definition: `on links (tenant, created_at, id) ${isLive} and enabled` },
  { name: 'links_disabled', definition: `on links (created_at, id) include (tenant) ${isLive} and not enabled` },
  {
    name: 'links_by_end',
    definition:
      'on links (expires_at) include (created_at, id, tenant, enabled, deleted_at) where expires_at is not null',
    replaces: 'links_to_purge_expired',
  },
  {
    name: 'links_by_start',
    definition:
      'on links (starts_at) include (created_at, id, tenant, enabled, deleted_at) where starts_at is not null',
  },
  // A URL does not fit into a b-tree.
  { name: 'links_by_url', definition: `on links (hashtextextended(url, 0), tenant, created_at, id) ${isLive}` },
  {
    name: 'links_by_domain',
    definition: `on links (${domain}, created_at, id) include (tenant) ${isLive} and ${isFurther}`,
  },
  { name: 'details_by_tenant_and_update', definition: 'on link_details (tenant, updated_at, link_id)' },
  { name: 'details_by_update', definition: 'on link_details (updated_at, link_id)' },
  { name: 'details_by_tenant_and_clicks', definition: 'on link_details (tenant, clicks, link_id)' },
  { name: 'details_by_clicks', definition: 'on link_details (clicks, link_id)' },
  {
    name: 'details_by_maker',
    definition: 'on link_details (created_by, created_at, link_id) where created_by is not null',
  },
]

/** The same URL may be that of many tenants. */
const isUrlOfAll = ({ url, scope }: Pick<ListQuery, 'url' | 'scope'>): boolean => url !== undefined && scope === null

/** By an index alone, however many links there are. */
export function isPlain({
  q,
  sort,
  enabled,
  state,
  tag,
  createdBy,
  createdAfter,
  createdBefore,
  url,
  domain,
  scope,
}: ListQuery): boolean {
  if (isUrlOfAll({ url, scope })) return false
  // Of the default domain may be few links among many.
  if (q || domain === null) return false
  const filters = [enabled, state, tag, createdBy, url, domain].filter((filter) => filter !== undefined).length
  const dates = createdAfter ?? createdBefore
  return sort === 'newest' || sort === 'oldest' ? filters <= 1 : filters === 0 && dates === undefined
}

const tooLong = {
  search: 'This search takes too long: search for a longer or a rarer part of the code, the URL or the title.',
  urlOfAll: 'This page takes too long, because so many links lead there: say whose by tenant.',
  filters:
    'This page takes too long: one filter goes with sort newest or oldest however many links there are; leave out a filter, or the sort.',
} as const

/** `tenant` asks. */
export async function listLinks(sql: Sql, leash: Leash, tenant: string, query: ListQuery): Promise<LinksPage> {
  if (isPlain(query)) return readPage(sql, query)
  const { q } = query
  const refusal = q ? tooLong.search : isUrlOfAll(query) ? tooLong.urlOfAll : tooLong.filters
  return leash(tenant, refusal, (sql, matchOf) => readPage(sql, query, q ? matchOf(q) : undefined))
}

async function readPage(sql: Sql, query: ListQuery, match?: Match): Promise<LinksPage> {
  const tags = query.tag === undefined ? undefined : await tagIds(sql, query.scope, query.tag)
  if (tags?.length === 0) return { rows: [], next: undefined }
  const { text, values } = pageSql(query, tags, match)
  const rows = await sql.query<LinkRow & { place: string }>(text, values)
  const page = rows.slice(0, query.limit)
  const last = rows.length > query.limit ? page.at(-1) : undefined
  return { rows: page, next: last && { key: BigInt(last.place), id: last.id } }
}

/** Asked for first, so that Postgres plans with what it knows of this very tag. Of several tenants, for the owner. */
export async function tagIds(sql: Sql, scope: Scope, tag: string): Promise<number[]> {
  const rows = await sql.query<{ id: number }>(
    'select id from tags where key = $1 and ($2::text is null or tenant = $2) limit $3',
    [keyOf(tag), scope, limits.tagsPerTenant],
  )
  return rows.map(({ id }) => id)
}

const byDetails = 'join link_details as details on details.link_id = links.id'
const byTag = 'join link_tags on link_tags.link_id = links.id'

interface Source {
  readonly joins: readonly string[]
  /** What it is ordered by: a time, or a number; and the id of the link, in the same table. */
  readonly key: string
  readonly id: string
}

const isByAge = (sort: Sort): boolean => sort === 'newest' || sort === 'oldest'

/** The table of `key` has the order; the others are looked up row by row. */
function sourceOf({ sort, createdBy }: ListQuery, isTagged: boolean): Source {
  const tagged = isTagged ? [byTag] : []
  if (sort === 'updated' || sort === 'clicks') {
    const key = sort === 'updated' ? 'details.updated_at' : 'details.clicks'
    return { joins: [byDetails, ...tagged], key, id: 'details.link_id' }
  }
  const made = createdBy === undefined ? [] : [byDetails]
  if (isTagged) return { joins: [...tagged, ...made], key: 'link_tags.created_at', id: 'link_tags.link_id' }
  if (createdBy === undefined) return { joins: [], key: 'links.created_at', id: 'links.id' }
  return { joins: made, key: 'details.created_at', id: 'details.link_id' }
}

/** Values of a statement; answers how each is named in it. */
type Parameter = (value: unknown) => string

function conditionsOf(
  query: ListQuery,
  { joins, key, id }: Source,
  tags: readonly number[] | undefined,
  parameter: Parameter,
): string[] {
  const { scope, sort, after, domain: host, enabled, state, createdBy, createdAfter, createdBefore, url } = query
  const where = ['links.deleted_at is null']
  if (scope !== null) {
    const own = parameter(scope)
    where.push(`links.tenant = ${own}`)
    if (joins.includes(byDetails)) where.push(`details.tenant = ${own}`)
  }
  if (enabled !== undefined) where.push(enabled ? 'links.enabled' : 'not links.enabled')
  if (state !== undefined) where.push(inState[state])
  const created = sort === 'updated' || sort === 'clicks' ? 'links.created_at' : key
  if (createdAfter) where.push(`${created} >= ${parameter(createdAfter)}`)
  if (createdBefore) where.push(`${created} < ${parameter(createdBefore)}`)
  if (createdBy !== undefined) where.push(`details.created_by = ${parameter(createdBy)}`)
  if (url !== undefined) {
    const asked = parameter(url)
    where.push(`hashtextextended(links.url, 0) = hashtextextended(${asked}, 0) and links.url = ${asked}`)
  }
  if (host === null) where.push(`not ${isFurther}`)
  else if (host !== undefined) where.push(`${isFurther} and ${domain} = ${parameter(host)}`)
  if (tags?.length === 1) where.push(`link_tags.tag_id = ${parameter(tags[0])}`)
  else if (tags) where.push(isByAge(sort) ? 'link_tags.tag_id = tag.id' : `link_tags.tag_id = any (${parameter(tags)})`)
  if (after) {
    const number = `${parameter(String(after.key))}::bigint`
    const place = sort === 'clicks' ? number : `(timestamptz 'epoch' + ${number} * interval '1 microsecond')`
    where.push(`(${key}, ${id}) ${sort === 'oldest' ? '>' : '<'} (${place}, ${parameter(after.id)}::bigint)`)
  }
  return where
}

/** The page's ids first, then all that is shown of those. What is searched in two tables is a page of each, and the first of both. */
function pageSql(query: ListQuery, tags: readonly number[] | undefined, match?: Match) {
  const { sort, limit } = query
  const source = sourceOf(query, tags !== undefined)
  const { key, id } = source
  const values: unknown[] = []
  const parameter: Parameter = (value) => `$${values.push(value)}`
  const where = conditionsOf(query, source, tags, parameter)
  const most = parameter(limit + 1)
  const way = sort === 'oldest' ? 'asc' : 'desc'
  const inOrder = (key: string, id: string): string => `order by ${key} ${way}, ${id} ${way} limit ${most}`
  // The owner may ask for one that several tenants have: each is read in its order.
  const each =
    tags &&
    tags.length > 1 &&
    isByAge(sort) &&
    `from unnest(${parameter(tags)}::bigint[]) as tag (id) cross join lateral`
  const part = (joins: readonly string[], ...found: string[]): string => {
    const ids = `(select links.id, ${key} as key from links ${joins.join(' ')}
      where ${[...where, ...found].join(' and ')} ${inOrder(key, id)})`
    return each ? `(select found.id, found.key ${each} ${ids} as found ${inOrder('found.key', 'found.id')})` : ids
  }
  const { joins } = source
  const searched = (pattern: string, { inLink, inTitle }: Match): string =>
    [part(joins, inLink(pattern)), part([...new Set([...joins, byDetails])], inTitle(pattern))].join(' union ')
  const parts = match ? searched(parameter(match.pattern), match) : part(joins)
  const place = sort === 'clicks' ? 'page.key' : '(extract(epoch from page.key) * 1000000)::bigint'
  return {
    text: `with page as (${parts})
      select ${columns}, ${place}::text as place from page join (${withDetails}) on links.id = page.id
      ${inOrder('page.key', 'page.id')}`,
    values,
  }
}

/** All in one, for a cursor. */
export function allSql(asked: ExportQuery, tags: readonly number[] | undefined, match?: Match) {
  const query: ListQuery = { ...asked, sort: 'oldest', limit: Infinity, after: undefined }
  const source = sourceOf(query, tags !== undefined)
  const { joins, key, id } = source
  const values: unknown[] = []
  const parameter: Parameter = (value) => `$${values.push(value)}`
  // The owner may ask for one that several tenants have.
  const each =
    tags !== undefined && tags.length > 1 ? `join unnest(${parameter(tags)}::bigint[]) as tag (id) on true` : ''
  const where = tags?.length === 0 ? ['false'] : conditionsOf(query, source, tags, parameter)
  if (match) {
    const pattern = parameter(match.pattern)
    where.push(`(${match.inLink(pattern)} or ${match.inTitle(pattern)})`)
  }
  const details = joins.includes(byDetails) ? '' : `left ${byDetails}`
  return {
    text: `select ${columns} from links ${details} ${joins.join(' ')} ${each}
      where ${where.join(' and ')} order by ${key}, ${id}`,
    values,
  }
}
