// The SQL of sessions. Each belongs to a key, and may do what the key may: it ends when the key does, and with it.
import type { Role } from '../api/operation.ts'
import { limits } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'

export interface SessionRow {
  readonly id: string
  readonly createdAt: Date
  readonly usedAt: Date
  readonly endsAt: Date
}

const columns = `s.id, s.created_at as "createdAt", s.used_at as "usedAt",
  least(s.ends_at, s.used_at + make_interval(hours => ${limits.sessionIdleHours})) as "endsAt"`

const lives = `s.ends_at > now() and s.used_at > now() - make_interval(hours => ${limits.sessionIdleHours})`
const keyLives = `k.revoked_at is null and (k.expires_at is null or k.expires_at > now())`

/** The oldest go where a key has too many. */
export async function insertSession(
  sql: Sql,
  { id, tokenHash, keyId }: { readonly id: string; readonly tokenHash: Buffer; readonly keyId: string },
): Promise<SessionRow> {
  const [row] = await sql.query<SessionRow>(
    `with gone as (
       delete from sessions where id in (
         select id from sessions where key_id = $3 order by created_at desc offset ${limits.sessionsPerKey - 1}
       )
     )
     insert into sessions as s (id, token_hash, key_id, ends_at)
     values ($1, $2, $3, now() + make_interval(days => ${limits.sessionDays})) returning ${columns}`,
    [id, tokenHash, keyId],
  )
  if (!row) throw new Error('a session was inserted and not returned')
  return row
}

export interface SessionCaller {
  readonly sessionId: string
  readonly keyId: string
  readonly keyName: string
  readonly tenant: string
  readonly role: Role | null
}

/** Its last use is written at most once a minute. */
export async function findSession(sql: Sql, tokenHash: Buffer): Promise<SessionCaller | undefined> {
  const [row] = await sql.query<SessionCaller>(
    `with found as (
       select s.id as "sessionId", s.used_at, k.id as "keyId", k.name as "keyName", k.tenant, k.role
       from sessions s join api_keys k on k.id = s.key_id where s.token_hash = $1 and ${lives} and ${keyLives}
     ), used as (
       update sessions set used_at = now()
       where id = (select "sessionId" from found where used_at < now() - interval '1 minute')
     )
     select "sessionId", "keyId", "keyName", tenant, role from found`,
    [tokenHash],
    'session-by-token',
  )
  return row
}

/** Those that live, the newest first. */
export const listSessions = (sql: Sql, keyId: string): Promise<SessionRow[]> =>
  sql.query(
    `select ${columns} from sessions s where s.key_id = $1 and ${lives}
     order by s.created_at desc, s.id limit ${limits.sessionsPerKey}`,
    [keyId],
  )

/** Of this key; null: all of them. How many there were. */
export async function deleteSessions(sql: Sql, keyId: string, id: string | null): Promise<number> {
  const gone = await sql.query(`delete from sessions where key_id = $1 and ($2::text is null or id = $2) returning 1`, [
    keyId,
    id,
  ])
  return gone.length
}

export async function deleteSession(sql: Sql, tokenHash: Buffer): Promise<void> {
  await sql.query('delete from sessions where token_hash = $1', [tokenHash])
}
