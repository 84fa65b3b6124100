// Answers that read as much as there is: by a cursor in a transaction of their own, a step at a time, and the next step when the last one was
// taken, as it all was at one moment. Each has a connection of its own, so that none takes one from the API; so few at once, one of a tenant.
import { limits } from '../limits.ts'
import { settingsOf } from '../connections/parameters.ts'
import { openSession, sqlOf, type Sql } from '../connections/postgres.ts'
import { database, type DatabaseConfig } from '../connections/target.ts'
import { QuickLinkError } from '../errors.ts'

interface Wanted {
  readonly text: string
  readonly values: readonly unknown[]
  /** Rows of a step. */
  readonly step: number
}

export type ExportTurns = ReturnType<typeof createExportTurns>

export function createExportTurns(config: DatabaseConfig) {
  const busy = new Set<string>()
  const options = {
    ...database(config),
    name: 'quicklink-export',
    connectMs: limits.dbConnectMs,
    queryMs: limits.exportStepMs,
  }

  /** `tenant` asks. What is yielded is good until the next is asked for. */
  return async function* read<Row>(
    tenant: string,
    wanted: (sql: Sql) => Promise<Wanted> | Wanted,
  ): AsyncGenerator<readonly Row[]> {
    if (busy.has(tenant)) throw another()
    if (busy.size >= limits.exports) throw noRoom()
    busy.add(tenant)
    try {
      await using session = await openSession(options)
      const sql = sqlOf(session.client)
      await begin(sql, tenant)
      const { text, values, step } = await wanted(sql)
      await sql.query(`declare wanted no scroll cursor for ${text}`, values)
      for (;;) {
        const rows = await sql.query<Row>(`fetch ${step} from wanted`)
        const isLast = rows.length < step
        if (rows.length > 0) yield rows
        // The promise of one step leads to that of the next, so that a collection of the young takes all steps since the last of the
        // old for alive: 100 MB of rows that nobody wants any more.
        rows.length = 0
        if (isLast) return
      }
    } finally {
      busy.delete(tenant)
    }
  }
}

const [tenantLock, placeLock] = [7_105_008, 7_105_009]

/** The tenant's turn, and one of the places of all processes, until the session ends. */
async function begin(sql: Sql, tenant: string): Promise<void> {
  const settings = settingsOf({ onlyIndexes: true, queryMs: limits.exportStepMs })
  await sql.query(`begin isolation level repeatable read read only; ${settings}`)
  const [{ mine } = { mine: false }] = await sql.query<{ mine: boolean }>(
    `select pg_try_advisory_xact_lock(${tenantLock}, hashtext($1)) as mine, set_config('statement_timeout', $2, true)`,
    [tenant, String(limits.exportStepMs)],
  )
  if (!mine) throw another()
  const place = await sql.query(
    `select place from generate_series(1, ${limits.exportsInAll}) as place
     where pg_try_advisory_xact_lock(${placeLock}, place) limit 1`,
  )
  if (place.length === 0) throw noRoom()
}

const another = (): QuickLinkError =>
  new QuickLinkError('rate_limited', 'Another export of this tenant is under way: try again when it has ended.', {
    retryAfterS: limits.exportRetryS,
  })

const noRoom = (): QuickLinkError =>
  new QuickLinkError('unavailable', 'Other exports are under way: try again when one has ended.', {
    retryAfterS: limits.exportRetryS,
  })
