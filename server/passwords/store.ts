// The only SQL that sees where a password leads, and its hash. Both leave Postgres for whoever looks at a password, and for
// nobody else.
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'

export interface Secret {
  readonly hash: string
  readonly url: string
}

/** Undefined: this link has no password, or is not there, any more. */
export async function readSecret(sql: Sql, code: Code, linkId: number): Promise<Secret | undefined> {
  const [secret] = await sql.query<Secret>(
    `select p.hash, p.url from links l join link_passwords p on p.link_id = l.id
     where l.code = $1 and l.id = $2 and l.has_password and l.enabled and l.deleted_at is null`,
    [code, linkId],
    'ql-read-secret',
  )
  return secret
}

/** What is not given stays as it is. */
export async function writeSecret(
  sql: Sql,
  linkId: number,
  { hash, url }: { readonly hash: string | undefined; readonly url: string },
): Promise<void> {
  await (hash === undefined
    ? sql.query('update link_passwords set url = $2 where link_id = $1', [linkId, url])
    : sql.query(
        `insert into link_passwords (link_id, hash, url) values ($1, $2, $3)
         on conflict (link_id) do update set hash = excluded.hash, url = excluded.url`,
        [linkId, hash, url],
      ))
}
