// One connection of its own for what must happen once, whichever of the replicas is first: migrations, and what the first
// start puts into the database. The lock belongs to the session, so a process that dies gives it back.
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import type pg from 'pg'
import { pause } from './deadline.ts'
import { inSession, sqlOf, type Sql } from './postgres.ts'

export interface DatabaseLockOptions {
  readonly url: string
  readonly connectMs: number
  readonly onInfo: (message: string) => void
}

const databaseLock = 7_105_001
const migrations = fileURLToPath(new URL('../migrations', import.meta.url))
const lockStepMs = 5000
const lockRetryMs = 100
/** A migration of a large table takes its time; a server that is gone without a word must still be noticed. */
const longestStepMs = 15 * 60_000

/** Migrates, then runs `work` in a transaction, both while no other process does. */
export function withDatabaseLock<T>(options: DatabaseLockOptions, work: (sql: Sql) => Promise<T>): Promise<T> {
  return inSession({ ...options, name: 'quicklink boot', queryMs: longestStepMs }, async (client) => {
    await takeLock(client)
    await migrate(client, options.onInfo)
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

async function migrate(client: pg.Client, onInfo: (message: string) => void): Promise<void> {
  const quiet = (): void => undefined
  // What a migration has found that a person should know.
  const onNotice = ({ severity, message }: { severity?: string | undefined; message?: string | undefined }): void => {
    if (severity === 'WARNING' && message !== undefined) onInfo(message)
  }
  client.on('notice', onNotice)
  const applied = await runner({
    dbClient: client,
    dir: migrations,
    direction: 'up',
    migrationsTable: 'ql_migrations',
    schema: 'public',
    singleTransaction: true,
    noLock: true,
    logger: { debug: quiet, info: quiet, warn: onInfo, error: onInfo },
  })
  for (const { name } of applied) onInfo(`migrated the database: ${name}`)
}
