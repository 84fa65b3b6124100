// Bearer keys. Postgres has their SHA-256 hashes: keys are random and long, so a slow hash would add nothing. How they are
// asked for, and how guesses are met, is in callers.ts.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller, Role } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { checksumOf, rememberCallers, sha256, type SecretForm } from './callers.ts'

export function generateKey(): string {
  const random = `ql_${randomBytes(32).toString('base64url')}`
  return random + checksumOf(random)
}

export function formOf(key: string): SecretForm {
  const [, random, checksum] = /^(ql_[\w-]{43})([\w-]{6})$/.exec(key) ?? []
  if (random === undefined) return 'other'
  return checksumOf(random) === checksum ? 'checked' : 'mistyped'
}

export const hashKey = sha256

/**
 * Of a key that was given a role. Servers from before there were roles do not ask for this hash, so they refuse the key; by the
 * plain hash they would let it do what its tenant's keys could do then.
 */
export const hashWithRole = (key: string): Buffer => sha256(`a QuickLink key with a role: ${key}`)

/** What is meant where no role is said. */
export const roleWithout = (tenant: string): Role => (tenant === 'owner' ? 'owner' : 'editor')

/** `address` is asked only where it matters. */
export type Authenticate = (header: string | undefined, address: () => string) => Promise<Caller>

export function authenticator(
  db: Sql,
  onTooMany: () => void,
  nowMs: () => number = () => performance.now(),
): Authenticate {
  const find = (key: string, hash: Buffer) => lookUp(db, [hash, hashWithRole(key)])
  const callerOf = rememberCallers({ formOf, find, onTooMany, nowMs })
  return async (header, address) => {
    const key = bearerKey(header)
    const caller = key === undefined ? undefined : await callerOf(key, address)
    if (!caller) throw unauthorized()
    return caller
  }
}

function bearerKey(header: string | undefined): string | undefined {
  const key = /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? '')?.[1]
  return key !== undefined && key.length <= limits.keyLength ? key : undefined
}

async function lookUp(db: Sql, hashes: readonly Buffer[]): Promise<Caller | undefined> {
  const [found] = await db.query<{ id: string; name: string; tenant: string; key_hash: Buffer; role: Role | null }>(
    `select id, name, tenant, key_hash, role from api_keys
     where key_hash = any ($1) and revoked_at is null and (expires_at is null or expires_at > now())`,
    [hashes],
    'key-by-hash',
  )
  // The index has compared already, but not in constant time; what it could leak is a hash, not a key.
  if (!found || !hashes.some((hash) => timingSafeEqual(found.key_hash, hash))) return undefined
  const { tenant, id, name } = found
  const role = found.role ?? roleWithout(tenant)
  return { tenant, role, isOwner: role === 'owner', kind: 'key', id, name }
}

const unauthorized = (): QuickLinkError =>
  new QuickLinkError('unauthorized', 'Send a valid API key as "Authorization: Bearer <key>".', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
