// One connection of its own for what must happen once, whichever of the replicas is first: migrations, and what the first
// start puts into the database. The lock belongs to the session, so a process that dies gives it back.
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import type pg from 'pg'
import { ConfigError } from '../config.ts'
import { pause } from './deadline.ts'
import type { DatabaseTarget } from './parameters.ts'
import { inSession, sqlOf, sqlState, type Sql } from './postgres.ts'

export interface DatabaseLockOptions extends DatabaseTarget {
  readonly connectMs: number
  readonly onInfo: (message: string) => void
}

const databaseLock = 7_105_001
const migrations = fileURLToPath(new URL('../migrations', import.meta.url))
const lockStepMs = 5000
const lockRetryMs = 100
/** A migration of a large table takes its time; a server that is gone without a word must still be noticed. */
const longestStepMs = 15 * 60_000

/**
 * Milliseconds that a migration waits for a table. Whoever asks for the table after it waits behind it, also where the one before only
 * reads, as an export does or a dump: so it gives way before a redirect's time is over, and tries again.
 */
const tableWaitMs = 80
const tableRetryMs = 500
/** Between two lines that say so. */
const tableTellMs = 10_000

/** Migrates, then runs `work` in a transaction, both while no other process does. */
export function withDatabaseLock<T>(options: DatabaseLockOptions, work: (sql: Sql) => Promise<T>): Promise<T> {
  return inSession({ ...options, name: 'quicklink boot', queryMs: longestStepMs }, async (client) => {
    await takeLock(client)
    if (!(await isMigrated(client))) {
      if (!(await mayMigrate(client))) throw mayNot()
      await migrate(client, options.onInfo)
    }
    await client.query('begin')
    const result = await work(sqlOf(client))
    // After an error the session ends, which rolls back.
    await client.query('commit')
    return result
  })
}

// Asked again and again instead of waiting inside Postgres, where a dead connection would not be noticed.
async function takeLock(client: pg.Client): Promise<void> {
  const ask: pg.QueryConfig & { query_timeout: number } = {
    text: `select pg_try_advisory_lock(${databaseLock}) as mine`,
    query_timeout: lockStepMs,
  }
  for (;;) {
    const { rows } = await client.query<{ mine: boolean }>(ask)
    if (rows[0]?.mine) return
    await pause(lockRetryMs)
  }
}

/** Then a role that may not change tables is enough. */
async function isMigrated(client: pg.Client): Promise<boolean> {
  try {
    return (await missing(client)).length === 0
  } catch (error) {
    const state = sqlState(error)
    if (state === undefinedTable) return false
    throw state === insufficientPrivilege ? mayNot() : error
  }
}

/** Names of those that are not done, in their order. */
async function missing(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('select name from public.ql_migrations')
  const done = new Set(rows.map(({ name }) => name))
  const files = (await readdir(migrations)).filter((file) => file.endsWith('.sql'))
  const names = files.map((file) => file.slice(0, -'.sql'.length))
  return names.filter((name) => !done.has(name)).sort()
}

const [undefinedTable, insufficientPrivilege] = ['42P01', '42501']

async function mayMigrate(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(
    `select has_schema_privilege('public', 'create') and coalesce((
       select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('public.ql_migrations')), true) as may`,
  )
  return rows[0]?.may === true
}

const mayNot = (): ConfigError =>
  new ConfigError(
    'The database has to be migrated, which this role may not do: run `npm run migrate` with the URL of the role that owns it, or set DATABASE_DIRECT_URL to that.',
  )

/** Each migration is a transaction of its own: what one has locked is free before the next one begins. */
async function migrate(client: pg.Client, onInfo: (message: string) => void): Promise<void> {
  // What a migration has found that a person should know.
  const onNotice = ({ severity, message }: { severity?: string | undefined; message?: string | undefined }): void => {
    if (severity === 'WARNING' && message !== undefined) onInfo(message)
  }
  client.on('notice', onNotice)
  await client.query(`set lock_timeout = ${tableWaitMs}`)
  const endMs = performance.now() + longestStepMs
  for (let toldMs = -Infinity; !(await migrated(client, onInfo, performance.now() < endMs));) {
    if (performance.now() - toldMs > tableTellMs) {
      toldMs = performance.now()
      onInfo(
        'a migration waits for a table that somebody else uses, for instance an export or a dump; it is tried again',
      )
    }
    await pause(tableRetryMs)
  }
  await client.query('set lock_timeout = 0')
}

/** False: somebody has a table that the next one needs, and it may be tried again. Those before it stay. */
async function migrated(client: pg.Client, onInfo: (message: string) => void, mayTryAgain: boolean): Promise<boolean> {
  const quiet = (): void => undefined
  try {
    const applied = await runner({
      dbClient: client,
      dir: migrations,
      direction: 'up',
      migrationsTable: 'ql_migrations',
      schema: 'public',
      singleTransaction: false,
      noLock: true,
      // One with a lower number may come later, from work that went on side by side: each runs beside all others.
      checkOrder: false,
      logger: { debug: quiet, info: quiet, warn: onInfo, error: quiet },
    })
    for (const { name } of applied) onInfo(`migrated the database: ${name}`)
    return true
  } catch (error) {
    const state = sqlState(error)
    // Not Postgres has said so: there may be no connection any more.
    if (state === undefined) throw error
    await client.query('rollback')
    if (mayTryAgain && state === lockNotAvailable) return false
    throw await named(client, error as Error)
  }
}
const lockNotAvailable = '55P03'

/** With the file that says it. */
async function named(client: pg.Client, error: Error): Promise<Error> {
  const [next] = await missing(client).catch(() => [])
  if (next !== undefined) error.message = `${next}.sql failed, and the migrations before it stay: ${error.message}`
  return error
}
