// Indexes of tables that may be large already. A migration would hold off all who write until it is done, so they are built
// beside the work, by one process of all, after the start. Queries that use one go without until it is there.
import type pg from 'pg'
import type { DatabaseTarget } from './parameters.ts'
import { inSession, sqlState } from './postgres.ts'

export interface IndexSpec {
  readonly name: string
  /** What follows the name: `on links (…)`. */
  readonly definition: string
  /** An index that nobody needs any more when this one is there. */
  readonly replaces?: string
}

export interface IndexOptions extends DatabaseTarget {
  readonly connectMs: number
  /** For one of them. */
  readonly buildMs: number
}

const indexLock = 7_105_004

/** Those that were built. Rejects with what hindered the first; one that was begun and not finished is begun anew. */
export function buildIndexes({ buildMs, ...options }: IndexOptions, choose: Choose): Promise<string[]> {
  return inSession({ ...options, name: 'quicklink-indexes', queryMs: buildMs }, async (client) => {
    const built: string[] = []
    const { rows } = await client.query<{ mine: boolean }>(`select pg_try_advisory_lock(${indexLock}) as mine`)
    if (!rows[0]?.mine) return built
    for (const { name, definition, replaces } of await choose((extension) => addExtension(client, extension))) {
      const state = await stateOf(client, name)
      if (state === 'invalid') await client.query(`drop index concurrently ${name}`)
      if (state !== 'valid') {
        await client.query(`create index concurrently ${name} ${definition}`)
        built.push(name)
      }
      if (replaces) await client.query(`drop index concurrently if exists ${replaces}`)
    }
    return built
  })
}

/** Which indexes there should be; it may depend on what this Postgres has. */
export type Choose = (add: (extension: string) => Promise<boolean>) => Promise<readonly IndexSpec[]>

async function stateOf(client: pg.Client, name: string): Promise<'valid' | 'invalid' | 'absent'> {
  const { rows } = await client.query<{ valid: boolean }>(
    'select indisvalid as valid from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  return rows[0] === undefined ? 'absent' : rows[0].valid ? 'valid' : 'invalid'
}

/** False: this Postgres does not have it, or we may not add it. */
async function addExtension(client: pg.Client, name: string): Promise<boolean> {
  try {
    await client.query(`create extension if not exists ${name}`)
    return true
  } catch (error) {
    if (sqlState(error) === undefined) throw error
    return false
  }
}
