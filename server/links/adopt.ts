// Is this database still the one that the server last looked at? A restored copy must not mint the codes that were handed
// out after it was copied, and nothing that caches remember of the other one can be compared with it.
import { limits } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'

export async function isRestoredCopy(sql: Sql): Promise<boolean> {
  const [meta] = await sql.query<{ copy: boolean }>(
    'select identity is distinct from ql_identity() as copy from ql_meta',
  )
  return meta?.copy ?? true
}

export type Adoption = 'known' | 'first' | 'restored'

/** Call it under the database lock. */
export async function adoptDatabase(sql: Sql): Promise<Adoption> {
  const [meta] = await sql.query<{ identity: string | null; now: string }>(
    'select identity, ql_identity() as now from ql_meta for update',
  )
  const adoption: Adoption = meta?.identity == null ? 'first' : meta.identity === meta.now ? 'known' : 'restored'
  if (adoption === 'restored') {
    await sql.query('update ql_meta set epoch = gen_random_uuid()')
    // Its transaction ids are those of another life, and may lie ahead of this one's.
    await sql.query('delete from outbox')
    await moveSequence(sql, 'link_version_seq', 'select max(version) from links')
    await moveSequence(sql, 'link_id_seq', 'select max(id) from links')
  }
  // A statement of its own: the identity has the epoch in it.
  if (adoption !== 'known') await sql.query('update ql_meta set identity = ql_identity()')
  await moveSequence(sql, 'link_counter_seq', highestCounter, adoption === 'restored' ? limits.counterRestoreMargin : 0)
  return adoption
}

// One index probe per generation of the salt; a plain max() would read the table.
const highestCounter = `
  select max(newest.counter) from ql_meta, generate_series(1, ql_meta.salt_generation) as generation,
    lateral (select counter from links
             where salt_generation = generation and counter is not null order by counter desc limit 1) as newest`

/** Never backwards: to the value after the highest that is stored, plus the margin. */
const moveSequence = (sql: Sql, sequence: string, highest: string, margin = 0): Promise<unknown> =>
  sql.query(
    `with next as (select last_value + is_called::int as value from ${sequence}),
       target as (select greatest(next.value, (${highest}) + 1) + $1::bigint as value from next)
     select setval('${sequence}', target.value, false) from next, target where target.value > next.value`,
    [margin],
  )
