// The row of an Idempotency-Key is written in the transaction that it protects: whoever comes with the same key waits on
// it, and finds either the answer or, after a rollback, nothing.
import { createHash } from 'node:crypto'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'

export interface IdempotencyKey {
  readonly key: string
  readonly bodyHash: Buffer
}

/** `body` is what was asked for, not how it was spelled: white space and the order of fields make no other request. */
export function idempotencyKey(
  key: string | undefined,
  body: Readonly<Record<string, unknown>>,
): IdempotencyKey | undefined {
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalid('Idempotency-Key', 'Idempotency-Key must have 1 to 255 visible ASCII characters.')
  }
  const sorted = Object.entries(body).sort(([a], [b]) => (a < b ? -1 : 1))
  return { key, bodyHash: createHash('sha256').update(JSON.stringify(sorted)).digest() }
}

/** True: the key is ours now, and `rememberAnswer` must follow. Waits for whoever has claimed it and is not done. */
export async function claimKey(sql: Sql, tenant: string, { key, bodyHash }: IdempotencyKey): Promise<boolean> {
  const claimed = await sql.query(
    `insert into idempotency_keys as k (tenant, key, body_hash) values ($1, $2, $3)
     on conflict (tenant, key) do update
       set body_hash = excluded.body_hash, code = null, link_id = null, answer = null, created_at = now()
       where k.created_at < now() - make_interval(hours => $4)
     returning 1`,
    [tenant, key, bodyHash, limits.idempotencyHours],
  )
  return claimed.length > 0
}

/** The answer that was given under this key to the same request, if any. */
export async function earlierAnswer(sql: Sql, tenant: string, { key, bodyHash }: IdempotencyKey): Promise<unknown> {
  const [earlier] = await sql.query<{ answer: unknown }>(
    `select answer from idempotency_keys where tenant = $1 and key = $2 and body_hash = $3 and answer is not null
       and created_at >= now() - make_interval(hours => $4)`,
    [tenant, key, bodyHash, limits.idempotencyHours],
  )
  return earlier?.answer
}

export const usedForAnother = (): QuickLinkError =>
  new QuickLinkError('conflict', 'This Idempotency-Key was used with another body: use a new key.', {
    members: { field: 'Idempotency-Key' },
  })

export const rememberAnswer = (
  sql: Sql,
  tenant: string,
  { key }: IdempotencyKey,
  /** Undefined: there are many. */
  link: { code: string; id: number } | undefined,
  answer: unknown,
): Promise<unknown> =>
  sql.query('update idempotency_keys set code = $3, link_id = $4, answer = $5 where tenant = $1 and key = $2', [
    tenant,
    key,
    link?.code ?? null,
    link?.id ?? null,
    JSON.stringify(answer),
  ])
