// The SQL of imports as they are worked off.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Job, Outcome } from './part.ts'

/** The one that has waited longest, locked until this transaction ends. */
export async function nextImport(sql: Sql): Promise<Job | undefined> {
  const [job] = await sql.query<Job>(
    `select id, tenant, on_conflict as "onConflict", dry_run as "dryRun", created from imports
     where state in ('queued', 'running') order by worked_at nulls first, seq limit 1 for update skip locked`,
  )
  return job
}

export async function nextPart(sql: Sql, id: string): Promise<number | undefined> {
  const [part] = await sql.query<{ n: number }>('select n from import_parts where import_id = $1 order by n limit 1', [
    id,
  ])
  return part?.n
}

/** The checkpoint: it is committed with what it speaks of. */
export const noteOutcome = (
  sql: Sql,
  id: string,
  { created, replaced, skipped, refused, warned }: Outcome,
): Promise<unknown> =>
  sql.query(
    `update imports set state = 'running', created = created + $2, replaced = replaced + $3, skipped = skipped + $4,
       refused = refused + $5, warned = warned + $6, tries = 0, slow_tries = 0, worked_at = clock_timestamp() where id = $1`,
    [id, created, replaced, skipped, refused, warned],
  )

export async function finishImport(sql: Sql, id: string, failure: string | null): Promise<void> {
  // First: where the rest cannot be done any more, nobody takes an import without its parts for one that is done.
  await sql.query('update imports set state = $2, failure = $3, ended_at = clock_timestamp() where id = $1', [
    id,
    failure === null ? 'done' : 'failed',
    failure,
  ])
  await sql.query('delete from import_parts where import_id = $1', [id])
  await sql.query('delete from import_tried where import_id = $1', [id])
}

/** Why a part fails, as its tenant is told when it has failed often enough. */
interface Failure {
  /** What counts it. */
  readonly column: 'tries' | 'slow_tries'
  readonly most: number
  readonly sentence: string
}

export const ourFault: Failure = {
  column: 'tries',
  most: limits.importTries,
  sentence: 'The server could not go on, and its log says why. What was made before it stays.',
}
export const tookTooLong: Failure = {
  column: 'slow_tries',
  most: limits.importSlowTries,
  sentence:
    'The database took too long for the next rows, again and again. What was made before them stays: import the file again later.',
}

/** After a part has failed: not for ever, and those of others come first. */
export async function noteTry(sql: Sql, id: string, { column, most, sentence }: Failure): Promise<void> {
  const [row] = await sql.query<{ tries: number }>(
    `update imports set ${column} = ${column} + 1, worked_at = clock_timestamp() where id = $1 returning ${column} as tries`,
    [id],
  )
  if ((row?.tries ?? 0) >= most) await finishImport(sql, id, sentence)
}
