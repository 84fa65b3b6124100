// The secret of the shortcodes. Generated: it is kept in the database. Supplied: the database keeps a fingerprint, so that
// a start with another salt, whose codes would run into the ones that exist, is noticed.
import { createHash, randomBytes } from 'node:crypto'
import { ConfigError } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'

export interface Salt {
  readonly salt: string
  readonly saltGeneration: number
}

interface Stored {
  readonly salt: string | null
  readonly fingerprint: string | null
  readonly generation: number
}

const howToRotate =
  'to change the salt on purpose, run `npm run rotate-salt` with the CODE_SALT that the next start will have'

/** Call it under the database lock. */
export async function settleSalt(sql: Sql, supplied: string | undefined): Promise<Salt> {
  const stored = await readStored(sql)
  if (stored.salt === null && stored.fingerprint === null) {
    return store(sql, supplied, stored.generation)
  }
  const settled = supplied ?? stored.salt
  if (settled === null) {
    throw new ConfigError(`CODE_SALT is missing: set it to the salt that this database was used with (${howToRotate}).`)
  }
  if (!isSame(stored, settled)) {
    throw new ConfigError(
      stored.salt === null
        ? `CODE_SALT is not the salt that this database was used with: set it to that one (${howToRotate}).`
        : `CODE_SALT is set, but this database has generated its own salt: remove CODE_SALT (${howToRotate}).`,
    )
  }
  return { salt: settled, saltGeneration: stored.generation }
}

/** A new generation. Old links keep their codes; where a new code meets an old one, the counter advances. */
export async function rotateSalt(sql: Sql, supplied: string | undefined): Promise<Salt> {
  const stored = await readStored(sql)
  if (supplied !== undefined && isSame(stored, supplied)) {
    throw new ConfigError(
      'CODE_SALT is the salt that this database already uses: set a new one, or remove it to have one generated.',
    )
  }
  return store(sql, supplied, stored.generation + 1)
}

async function readStored(sql: Sql): Promise<Stored> {
  const [stored] = await sql.query<Stored>(
    'select salt, salt_fingerprint as fingerprint, salt_generation as generation from ql_meta for update',
  )
  if (!stored) throw new Error('ql_meta has no row')
  return stored
}

async function store(sql: Sql, supplied: string | undefined, saltGeneration: number): Promise<Salt> {
  const salt = supplied ?? randomBytes(32).toString('base64url')
  await sql.query('update ql_meta set salt = $1, salt_fingerprint = $2, salt_generation = $3', [
    supplied === undefined ? salt : null,
    fingerprint(salt),
    saltGeneration,
  ])
  return { salt, saltGeneration }
}

const isSame = (stored: Stored, salt: string): boolean => stored.fingerprint === fingerprint(salt)

const fingerprint = (salt: string): string =>
  createHash('sha256').update('quicklink: fingerprint of the code salt\n').update(salt).digest('hex')
