// The SQL that many links need besides that of one.
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import { columns, isOver, withDetails, type LinkRow, type Scope } from './store.ts'

/** So many at once. */
export async function drawCounters(sql: Sql, most: number): Promise<number[]> {
  if (most === 0) return []
  const drawn = await sql.query<{ counter: number }>(
    `select nextval('link_counter_seq') as counter from generate_series(1, $1)`,
    [most],
  )
  return drawn.map(({ counter }) => counter)
}

/** What stands where a tenant wants codes of its own. */
export const inTheWay = (
  sql: Sql,
  tenant: string,
  codes: readonly Code[],
): Promise<{ code: Code; isFree: boolean; hasPlace: boolean }[]> =>
  sql.query(
    `select code, tenant = $1 and ${isOver} as "isFree", tenant = $1 and deleted_at is null as "hasPlace"
     from links where code = any ($2)`,
    [tenant, codes],
  )

/** Those of them that there are, locked in the order of their codes, which all who lock many keep to. */
export async function readManyLocked(sql: Sql, codes: readonly Code[], scope: Scope): Promise<LinkRow[]> {
  const are = 'links.code = any ($1) and links.deleted_at is null and ($2::text is null or links.tenant = $2)'
  const [, rows] = await Promise.all([
    sql.query(`select from links where ${are} order by code for no key update`, [codes, scope]),
    sql.query<LinkRow>(`select ${columns} from ${withDetails} where ${are}`, [codes, scope]),
  ])
  return rows
}
