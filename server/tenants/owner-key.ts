// The owner's key: its hash in Postgres; the key itself, where it was generated, only in a file of its user.
import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import { formOf, generateKey, hashKey } from './keys.ts'

export type OwnerKey = 'supplied' | 'generated' | 'stored' | 'stale'

/** Call it under the database lock. 'stale': the file in DATA_DIR holds another key than this database's. */
export async function settleOwnerKey(sql: Sql, supplied: string | undefined, dataDir: string): Promise<OwnerKey> {
  if (supplied !== undefined) {
    if (formOf(supplied) === 'mistyped') {
      throw new ConfigError('OWNER_KEY looks like a generated key in which a character is wrong: set another one.')
    }
    await storeHash(sql, supplied)
    // Where the one of before is kept for people and commands, this one is.
    const kept = await keptKey(dataDir)
    if (kept !== undefined && kept !== supplied) await writeKeyFile(dataDir, supplied)
    return 'supplied'
  }
  const [stored] = await sql.query<{ hash: Buffer }>(`select key_hash as hash from api_keys where id = 'owner'`)
  if (stored) {
    const kept = await keptKey(dataDir)
    return kept === undefined || hashKey(kept).equals(stored.hash) ? 'stored' : 'stale'
  }
  const key = generateKey()
  // The file comes first: after a crash in between there is a file without its hash, which the next start replaces.
  await writeKeyFile(dataDir, key)
  await storeHash(sql, key)
  return 'generated'
}

/** Another key than before: whoever has signed in with that one is out, and links that it has made sign nobody in. */
const storeHash = (sql: Sql, key: string): Promise<unknown> =>
  sql.query(
    `with stored as (
       insert into api_keys (id, tenant, name, key_hash) values ('owner', 'owner', 'Owner', $1)
       on conflict (id) do update set key_hash = excluded.key_hash, expires_at = null, revoked_at = null
         where api_keys.key_hash <> excluded.key_hash
       returning id
     ), links as (
       delete from sign_in_links using stored where key_id = stored.id or by_key = stored.id
     )
     delete from sessions using stored where key_id = stored.id`,
    [hashKey(key)],
  )

export const ownerKeyFile = (dataDir: string): string => join(dataDir, 'owner-key')

const keptKey = (dataDir: string): Promise<string | undefined> =>
  readFile(ownerKeyFile(dataDir), 'utf8').then((text) => text.trim(), () => undefined) // prettier-ignore

async function writeKeyFile(dataDir: string, key: string): Promise<void> {
  const path = ownerKeyFile(dataDir)
  const unfinished = `${path}.${process.pid}.tmp`
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const file = await open(unfinished, 'w', 0o600)
    try {
      await file.writeFile(`${key}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(unfinished, path)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new ConfigError(
      `DATA_DIR is ${dataDir}, where the owner key cannot be written (${reason}): name a writable folder.`,
    )
  }
}
