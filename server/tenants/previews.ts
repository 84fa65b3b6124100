// Whether the tenant of a link lets everybody see where it leads. Only such pages ask, so no redirect waits for it.
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import { microBatch } from '../connections/micro-batch.ts'
import type { Sql } from '../connections/postgres.ts'

/** 'unknown': Postgres could not answer in time. */
export function createPreviews(
  { dbTimeoutMs }: Pick<Config, 'dbTimeoutMs'>,
  sql: Sql,
  breaker: Pick<Breaker, 'run'>,
): (linkId: number) => Promise<boolean | 'unknown'> {
  const read = async (ids: number[]): Promise<boolean[]> => {
    const rows = await sql.query<{ id: number }>(
      'select l.id from links l join tenants t on t.id = l.tenant where l.id = any ($1) and t.preview',
      [ids],
      'ql-previews',
    )
    const shown = new Set(rows.map(({ id }) => id))
    return ids.map((id) => shown.has(id))
  }
  const asked = microBatch((ids: number[]) => breaker.run(() => withDeadline(read(ids), dbTimeoutMs, 'Postgres')), {
    maxKeys: limits.dbBatch,
    // Of the connections that redirects have, never more than this one.
    maxInFlight: 1,
    maxQueued: limits.previewQueue,
  })
  return (linkId) => withDeadline(asked.get(linkId), dbTimeoutMs, 'Postgres').catch(() => 'unknown')
}
