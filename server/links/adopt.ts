// Is this database still the one that the server last looked at? A restored copy must not mint the codes that were handed
// out after it was copied, and nothing that caches remember of the other one can be compared with it.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { hasGoneBack, highestCounter, type HighWater } from './high-water.ts'

/**
 * Asked before anything is minted. `running`: since when Postgres had been running when this process last looked; its
 * files can only have been exchanged while it was not.
 */
export async function mustLookAgain(sql: Sql, running: string): Promise<boolean> {
  const [meta] = await sql.query<{ look: boolean }>(
    `select identity is distinct from ql_identity() or ${runningSince} <> $1 as look from ql_meta`,
    [running],
  )
  return meta?.look ?? true
}

// A number as text: a Date has milliseconds only, and a time as text depends on the session's zone.
const runningSince = 'extract(epoch from pg_postmaster_start_time())::text'

export async function postgresRunningSince(sql: Sql): Promise<string> {
  const [row] = await sql.query<{ since: string }>(`select ${runningSince} as since`)
  return row?.since ?? ''
}

export type Adoption = 'known' | 'first' | 'restored'

/** What somebody outside of the database knows of it. */
export interface Witness {
  readonly highWater: HighWater | undefined
  /** The identity that a Redis has seen a later state of. */
  readonly goneBack: string | undefined
}

/** Call it under the database lock. */
export async function adoptDatabase(sql: Sql, { highWater, goneBack }: Witness): Promise<Adoption> {
  const [meta] = await sql.query<{ identity: string | null; now: string; announced: string | null }>(
    `select identity, ql_identity() as now, ql_identity() || '/' || ql_announcing() as announced
     from ql_meta for update`,
  )
  // Whoever held the lock before may have adopted it already: then it is of another epoch.
  const isBack =
    (goneBack !== undefined && goneBack === meta?.announced) ||
    (highWater !== undefined && (await hasGoneBack(sql, highWater)))
  const isKnown = meta?.identity === meta?.now && !isBack
  const adoption: Adoption = meta?.identity == null ? 'first' : isKnown ? 'known' : 'restored'
  if (adoption === 'restored') {
    await sql.query('update ql_meta set epoch = gen_random_uuid()')
    // Its transaction ids are those of another life, and may lie ahead of this one's.
    await sql.query('delete from outbox')
    await moveSequence(sql, 'link_version_seq', 'select max(version) from links')
    // Clicks of links that are gone wait in spools: their ids are nobody else's.
    const marked = isBack ? highWater : undefined
    await moveSequence(sql, 'link_id_seq', 'select max(id) from links', limits.counterRestoreMargin, marked?.linkId)
    await moveSequence(sql, 'link_counter_seq', highestCounter, limits.counterRestoreMargin, marked?.counter)
  } else await moveSequence(sql, 'link_counter_seq', highestCounter)
  // A statement of its own: the identity has the epoch in it.
  if (adoption !== 'known') await sql.query('update ql_meta set identity = ql_identity()')
  return adoption
}

/** Never backwards: to the value after the highest that is stored or marked, plus the margin. */
const moveSequence = (sql: Sql, sequence: string, highest: string, margin = 0, marked = -1): Promise<unknown> =>
  sql.query(
    `with next as (select last_value + is_called::int as value from ${sequence}),
       target as (select greatest(next.value, (${highest}) + 1, $2::bigint + 1) + $1::bigint as value from next)
     select setval('${sequence}', target.value, false) from next, target where target.value > next.value`,
    [margin, marked],
  )
