// Bearer keys. Postgres has their SHA-256 hashes: keys are random and long, so a slow hash would add nothing.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Caller } from '../api/http.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'

export const generateKey = (): string => `ql_${randomBytes(32).toString('base64url')}`

export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/** How long a revoked key may still be honoured: together with the lookup, under a second. */
const cacheMs = 500
const cacheMax = 1000
/** Longer ones are not hashed: no key of ours, supplied ones included, is that long. */
const keyLengthMax = 512

export type Authenticate = (header: string | undefined) => Promise<Caller>

export function authenticator(db: Sql, nowMs: () => number = () => performance.now()): Authenticate {
  // Only keys that are valid are remembered: guesses cannot fill it, and a new key works at once.
  const known = new Map<string, { caller: Caller; untilMs: number }>()
  return async (header) => {
    // A missing key takes the same way as a wrong one, so that the time taken tells nothing.
    const hash = hashKey(bearerKey(header) ?? '')
    const cacheKey = hash.toString('base64')
    const askedAtMs = nowMs()
    const remembered = known.get(cacheKey)
    if (remembered && remembered.untilMs > askedAtMs) return remembered.caller
    known.delete(cacheKey)
    const caller = await lookUp(db, hash)
    if (!caller) throw unauthorized()
    if (known.size >= cacheMax) known.delete(known.keys().next().value ?? '')
    known.set(cacheKey, { caller, untilMs: askedAtMs + cacheMs })
    return caller
  }
}

function bearerKey(header: string | undefined): string | undefined {
  const key = /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? '')?.[1]
  return key !== undefined && key.length <= keyLengthMax ? key : undefined
}

async function lookUp(db: Sql, hash: Buffer): Promise<Caller | undefined> {
  const [found] = await db.query<{ tenant: string; key_hash: Buffer }>(
    `select tenant, key_hash from api_keys
     where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`,
    [hash],
    'key-by-hash',
  )
  // The index has compared already, but not in constant time; what it could leak is a hash, not a key.
  if (!timingSafeEqual(found?.key_hash ?? Buffer.alloc(hash.length), hash) || !found) return undefined
  return { tenant: found.tenant, isOwner: found.tenant === 'owner' }
}

const unauthorized = (): QuickLinkError =>
  new QuickLinkError('unauthorized', 'Send a valid API key as "Authorization: Bearer <key>".', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
