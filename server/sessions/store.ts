// The SQL of sessions, and of links that make one. Each belongs to a key or a member, may do what that may, and ends with it.
import type { Caller, Role } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { roleWithout } from '../tenants/keys.ts'

export type Account = Pick<Caller, 'kind' | 'id'>

export interface SessionRow {
  readonly id: string
  readonly createdAt: Date
  readonly usedAt: Date
  readonly endsAt: Date
}

const columns = `s.id, s.created_at as "createdAt", s.used_at as "usedAt",
  least(s.ends_at, s.used_at + make_interval(hours => ${limits.sessionIdleHours})) as "endsAt"`

const lives = `s.ends_at > now() and s.used_at > now() - make_interval(hours => ${limits.sessionIdleHours})`

/** Whose it is, of a row `s` that names a key or a member; nobody, where that has ended. */
const account = `case when m.id is null then 'key' else 'member' end as kind, coalesce(k.id, m.id) as id,
  coalesce(k.name, m.name) as name, coalesce(k.tenant, m.tenant) as tenant, coalesce(k.role, m.role) as role`
const ofAccount = `left join api_keys k
    on k.id = s.key_id and k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
  left join members m on m.id = s.member_id
  where coalesce(k.id, m.id) is not null`

type AccountRow = Omit<Caller, 'role' | 'isOwner'> & { readonly role: Role | null }

export function callerOf({ role: given, ...row }: AccountRow): Caller {
  const role = given ?? roleWithout(row.tenant)
  return { ...row, role, isOwner: role === 'owner' }
}

const columnOf = ({ kind }: Account): string => (kind === 'key' ? 'key_id' : 'member_id')

export interface NewSession {
  readonly id: string
  readonly tokenHash: Buffer
  readonly hours: number
}

/** The oldest go where an account has too many. */
export async function insertSession(sql: Sql, of: Account, { id, tokenHash, hours }: NewSession): Promise<SessionRow> {
  const column = columnOf(of)
  const [row] = await sql.query<SessionRow>(
    `with gone as (
       delete from sessions where id in (
         select id from sessions where ${column} = $3 order by created_at desc offset ${limits.sessionsPerAccount - 1}
       )
     )
     insert into sessions as s (id, token_hash, ${column}, ends_at)
     values ($1, $2, $3, now() + make_interval(hours => $4)) returning ${columns}`,
    [id, tokenHash, of.id, hours],
  )
  if (!row) throw new Error('a session was inserted and not returned')
  return row
}

/** Its last use is written at most once a minute. */
export async function findSession(sql: Sql, tokenHash: Buffer): Promise<Caller | undefined> {
  const [row] = await sql.query<AccountRow>(
    `with found as (
       select s.id as "sessionId", s.used_at, ${account} from sessions s ${ofAccount} and s.token_hash = $1 and ${lives}
     ), used as (
       update sessions set used_at = now()
       where id = (select "sessionId" from found where used_at < now() - interval '1 minute')
     )
     select "sessionId", kind, id, name, tenant, role from found`,
    [tokenHash],
    'session-by-token',
  )
  return row && callerOf(row)
}

/** Those that live, the newest first. */
export const listSessions = (sql: Sql, of: Account): Promise<SessionRow[]> =>
  sql.query(
    `select ${columns} from sessions s where s.${columnOf(of)} = $1 and ${lives}
     order by s.created_at desc, s.id limit ${limits.sessionsPerAccount}`,
    [of.id],
  )

/** Of this account; null: all of them. How many there were. */
export async function deleteSessions(sql: Sql, of: Account, id: string | null): Promise<number> {
  const gone = await sql.query(
    `delete from sessions where ${columnOf(of)} = $1 and ($2::text is null or id = $2) returning 1`,
    [of.id, id],
  )
  return gone.length
}

/** A link that would begin another one. */
export const deleteLinks = (sql: Sql, of: Account): Promise<unknown> =>
  sql.query(`delete from sign_in_links where ${columnOf(of)} = $1`, [of.id])

export async function deleteSession(sql: Sql, tokenHash: Buffer): Promise<void> {
  await sql.query('delete from sessions where token_hash = $1', [tokenHash])
}

export interface NewLink {
  readonly tokenHash: Buffer
  readonly minutes: number
  readonly by: Account
}

/** Of an account one link signs in: the one before does no longer. */
export async function putLink(sql: Sql, of: Account, { tokenHash, minutes, by }: NewLink): Promise<Date> {
  const column = columnOf(of)
  const [row] = await sql.query<{ endsAt: Date }>(
    `insert into sign_in_links (token_hash, ${column}, ends_at, by_key, by_member)
     values ($1, $2, now() + make_interval(mins => $3), $4, $5)
     on conflict (${column}) do update set token_hash = excluded.token_hash, ends_at = excluded.ends_at,
       by_key = excluded.by_key, by_member = excluded.by_member
     returning ends_at as "endsAt"`,
    [tokenHash, of.id, minutes, by.kind === 'key' ? by.id : null, by.kind === 'member' ? by.id : null],
  )
  if (!row) throw new Error('a link was inserted and not returned')
  return row.endsAt
}

/** Of a link `s`: it is good, and who has made it still may make such links. */
const linkHolds = `s.token_hash = $1 and s.ends_at > now()
  and (s.by_key is null or exists (
    select from api_keys b where b.id = s.by_key and b.revoked_at is null and (b.expires_at is null or b.expires_at > now())))
  and (s.by_member is null or exists (
    select from members b where b.id = s.by_member and b.role in ('admin', 'owner')))`

export async function findLink(
  sql: Sql,
  tokenHash: Buffer,
): Promise<{ readonly caller: Caller; readonly endsAt: Date } | undefined> {
  const [row] = await sql.query<AccountRow & { readonly endsAt: Date }>(
    `select ${account}, s.ends_at as "endsAt" from sign_in_links s ${ofAccount} and ${linkHolds}`,
    [tokenHash],
  )
  if (!row) return undefined
  const { endsAt, ...of } = row
  return { caller: callerOf(of), endsAt }
}

/** Of two who come with it at once, one finds it. */
export async function takeLink(sql: Sql, tokenHash: Buffer): Promise<Caller | undefined> {
  const [row] = await sql.query<AccountRow>(
    `with s as (delete from sign_in_links s where ${linkHolds} returning key_id, member_id)
     select ${account} from s ${ofAccount}`,
    [tokenHash],
  )
  return row && callerOf(row)
}
