// A person's own connections to a database: few, patient, and never in the way of the server's pools.
import { openPostgres, type Postgres, type PostgresOptions } from '../server/connections/postgres.ts'

type More = Partial<Omit<PostgresOptions, 'url'>>

export const openSql = (url: string, more: More = {}): Postgres =>
  openPostgres({
    url,
    name: 'quicklink-hand',
    maxConnections: 2,
    connectMs: 5000,
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
