// A person's own connections to a database: few, patient, and never in the way of the server's pools.
import {
  openPostgres,
  sqlState,
  type Postgres,
  type PostgresOptions,
  type Sql,
} from '../server/connections/postgres.ts'

type More = Partial<Omit<PostgresOptions, 'url'>>

export const openSql = (url: string, more: More = {}): Postgres =>
  openPostgres({
    url,
    name: 'quicklink-hand',
    maxConnections: 2,
    connectMs: 30_000,
    queryMs: 60_000,
    onError: () => undefined,
    ...more,
  })

/** Closed when the work is done, or fails. */
export async function withSql<T>(url: string, work: (sql: Postgres) => Promise<T>, more?: More): Promise<T> {
  const sql = openSql(url, more)
  try {
    return await work(sql)
  } finally {
    await sql.close()
  }
}

/** SQLSTATE of a statement that was given up because it and another waited for each other. */
const deadlock = '40P01'

/** `vacuum` or `analyze`: while the server builds an index beside its work, each waits for the other, and this one is given up. */
export async function tend(sql: Pick<Sql, 'query'>, statement: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await sql.query(statement)
      return
    } catch (error) {
      if (sqlState(error) !== deadlock || tries === 60) throw error
    }
  }
}
