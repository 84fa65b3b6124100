// The salt of a UTC day: random, the same for all processes, kept by Postgres. Tomorrow's is made today, so that a visitor
// is counted while Postgres is away at midnight; one that is two days old is deleted, and what was counted with it says
// nothing of anybody any more. Where none is known, visitors are not counted.
import { randomBytes } from 'node:crypto'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'

const dayMs = 86_400_000

// By the database's clock: processes do not agree on when a day begins. A salt that another process makes at the same time
// is not seen here: the next look finds it.
const makeSql = `
with made as (
  insert into visit_salts (day, salt)
  select (now() at time zone 'UTC')::date + n, case n when 0 then $1::bytea else $2::bytea end from generate_series(0, 1) n
  on conflict do nothing
)
delete from visit_salts where day < (now() at time zone 'UTC')::date - 1`
const readSql = `select extract(epoch from day at time zone 'UTC')::float8 * 1000 as "dayMs", salt from visit_salts`

interface SaltsOptions {
  readonly sql: Sql
  readonly onError: (error: unknown, what: string) => void
}

export class Salts {
  readonly #options: SaltsOptions
  #salts = new Map<number, Buffer>()
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: SaltsOptions) {
    this.#options = options
    void this.#keep()
  }

  /** Of the day that a moment is in. */
  of(atMs: number): Buffer | undefined {
    return this.#salts.get(Math.floor(atMs / dayMs) * dayMs)
  }

  /** Asks Postgres. Never rejects: what was known stays known. */
  async look(): Promise<boolean> {
    const { sql, onError } = this.#options
    try {
      await sql.query(makeSql, [randomBytes(32), randomBytes(32)])
      const rows = await sql.query<{ dayMs: number; salt: Buffer }>(readSql)
      this.#salts = new Map(rows.map(({ dayMs, salt }) => [dayMs, salt]))
      return true
    } catch (error) {
      onError(error, 'the salts of visitors could not be read; they are not counted where none is known')
      return false
    }
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #keep(): Promise<void> {
    const found = await this.look()
    if (this.#stopped) return
    this.#timer = setTimeout(() => void this.#keep(), found ? limits.saltsEveryMs : limits.saltsRetryMs)
    this.#timer.unref()
  }
}
