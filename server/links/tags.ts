// Tags of a tenant. A link refers to a tag by its id, so a tag is renamed in one row. What a tag is taken off, or merged into another,
// is done in small steps, each of which holds off who is about to tag a link: so no link is given a tag that is just going.
// How many links a tag has is its number and the changes of it that are not yet added up (docs/decisions/0041-tag-counts.md).
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import type { Step } from '../clicks/history.ts'
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'

/** What makes two spellings one tag. */
export const keyOf = (tag: string): string => tag.toLowerCase()
export const keysOf = (tags: readonly string[]): string[] => tags.map(keyOf)

const tagsLock = 7_105_006

/** In a transaction, before the tags are used: makes those that the tenant does not have. */
export function ensureTags(sql: Sql, tenant: string, tags: readonly string[]): Promise<unknown> {
  const asked = Promise.all([
    sql.query(`select pg_advisory_xact_lock_shared(${tagsLock}, hashtext($1))`, [tenant]),
    sql.query(
      `insert into tags (tenant, key, name)
       select $1, key, name from unnest($2::text[], $3::text[]) as given (key, name)
       where not exists (select from tags where tags.tenant = $1 and tags.key = given.key) order by key
       limit (select greatest(0, ${limits.tagsPerTenant} - count(*)) from tags where tags.tenant = $1)
       on conflict (tenant, key) do nothing`,
      [tenant, keysOf(tags), tags],
    ),
  ])
  // Who asks may not wait for it, and the transaction waits for its statements: this promise would be nobody's, and end the process.
  asked.catch(() => undefined)
  return asked
}

/** Those of them that the tenant has. */
export async function knownTags(sql: Sql, tenant: string, tags: readonly string[]): Promise<Set<string>> {
  const rows = await sql.query<{ key: string }>('select key from tags where tenant = $1 and key = any ($2)', [
    tenant,
    keysOf(tags),
  ])
  return new Set(rows.map(({ key }) => key))
}

/** Of a link that was given `tags`: it has all of them, unless the tenant has as many as it may have. */
export function haveAll(tags: readonly string[], has: readonly string[]): void {
  if (has.length === tags.length) return
  throw new QuickLinkError(
    'conflict',
    `A tenant has at most ${limits.tagsPerTenant} tags: delete one, or use one that exists.`,
    {
      members: { field: 'tags' },
    },
  )
}

export interface TagShown {
  readonly tag: string
  readonly links: number
}

const shown =
  'name as tag, links + coalesce((select sum(links) from tag_changes where tag_id = tags.id), 0)::bigint as links'

/** A page, in the order of the alphabet, and the key of its last tag, if there are more. */
export async function listTags(
  sql: Sql,
  { tenant, limit, after }: { readonly tenant: string; readonly limit: number; readonly after: string },
): Promise<{ items: TagShown[]; next: string | undefined }> {
  const rows = await sql.query<TagShown & { key: string }>(
    `select key, ${shown} from tags where tenant = $1 and key > $2 order by key limit $3`,
    [tenant, after, limit + 1],
  )
  const page = rows.slice(0, limit)
  return {
    items: page.map(({ tag, links }) => ({ tag, links })),
    next: rows.length > limit ? page.at(-1)?.key : undefined,
  }
}

/** Adds up what has changed. Who tags a link meanwhile waits for nothing. */
export async function addUpTags(sql: Sql, size: number): Promise<Step> {
  const [step] = await sql.query<{ rows: number }>(
    `with step as (
       delete from tag_changes where ctid = any (array(select ctid from tag_changes limit $1)) returning tag_id, links
     ), told as (
       update tags set links = tags.links + changed.links
       from (select tag_id, sum(links) as links from step group by tag_id) as changed where tags.id = changed.tag_id
     )
     select count(*) as rows from step`,
    [size],
  )
  const rows = step?.rows ?? 0
  return { rows, more: rows === size }
}

interface Tag {
  readonly id: number
  readonly key: string
  readonly name: string
}

const exclusively = <T>(db: Postgres, tenant: string, work: (sql: Sql) => Promise<T>): Promise<T> =>
  db.transaction(async (sql) => {
    void sql.query(`select pg_advisory_xact_lock(${tagsLock}, hashtext($1))`, [tenant])
    return work(sql)
  })

/** Both, or the first only. */
async function readTags(sql: Sql, tenant: string, tags: readonly string[]): Promise<(Tag | undefined)[]> {
  const rows = await sql.query<Tag>('select id, key, name from tags where tenant = $1 and key = any ($2)', [
    tenant,
    keysOf(tags),
  ])
  return keysOf(tags).map((key) => rows.find((row) => row.key === key))
}

const noTag = (tag: string): QuickLinkError => new QuickLinkError('not_found', `There is no tag ${tag}.`)

/** Throws where the tenant has no such tag. */
export async function findTag(sql: Sql, tenant: string, tag: string): Promise<{ readonly id: number }> {
  const [found] = await readTags(sql, tenant, [tag])
  if (!found) throw noTag(tag)
  return found
}

/** An existing name merges: links of both have that one then. */
export async function renameTag(db: Postgres, tenant: string, tag: string, name: string, by: By): Promise<TagShown> {
  const into = await exclusively(db, tenant, async (sql) => {
    const [from, to] = await readTags(sql, tenant, [tag, name])
    if (!from) throw noTag(tag)
    // With its first step, where it takes several.
    note(sql, by, { tenant, kind: 'tag', target: from.name, changes: changesOf({ before: from, after: { name } }) })
    if (to && to.id !== from.id) return { from, to }
    await sql.query('update tags set key = $2, name = $3 where id = $1', [from.id, keyOf(name), name])
    return undefined
  })
  if (into) await empty(db, tenant, into.from.id, into.to.id)
  const [row] = await db.query<TagShown>(`select ${shown} from tags where tenant = $1 and key = $2`, [
    tenant,
    keyOf(name),
  ])
  if (!row) throw noTag(name)
  return row
}

export async function deleteTag(db: Postgres, tenant: string, tag: string, by: By): Promise<void> {
  const found = await exclusively(db, tenant, async (sql) => {
    const [found] = await readTags(sql, tenant, [tag])
    if (!found) throw noTag(tag)
    // Before its first step: what is taken off its links is never without an entry.
    note(sql, by, { tenant, kind: 'tag', target: found.name })
    return found
  })
  await empty(db, tenant, found.id)
}

/** Takes the tag off its links, gives them the other one if there is one, and then removes it. */
async function empty(db: Postgres, tenant: string, id: number, into?: number): Promise<void> {
  const endMs = performance.now() + limits.tagMoveMs
  for (let more = true; more;) {
    if (performance.now() > endMs) {
      throw unavailable('The tag has so many links that this takes longer: a part is done, ask again for the rest.')
    }
    more = await exclusively(db, tenant, async (sql) => {
      if (into !== undefined && (await sql.query('select from tags where id = $1', [into])).length === 0) return false
      // Links that are just being deleted lose their tags without us.
      const moved = await sql.query(
        `with step as materialized (
           select link_id, created_at from link_tags where tag_id = $1 order by created_at, link_id limit ${limits.tagStep}
           for update skip locked
         ), given as (
           insert into link_tags (tag_id, link_id, created_at) select id, link_id, created_at from step, tags where id = $2
           on conflict do nothing
         )
         delete from link_tags using step where link_tags.tag_id = $1 and link_tags.link_id = step.link_id returning 1`,
        [id, into ?? null],
      )
      if (moved.length === limits.tagStep) return true
      await sql.query('delete from tags where id = $1', [id])
      return false
    })
  }
}

/** Trimmed, each once, whatever its case: the first spelling is taken. */
export function eachOnce(tags: readonly string[]): string[] {
  return [...new Map([...tags].reverse().map((tag) => [keyOf(tag), tag] as const)).values()].reverse()
}
