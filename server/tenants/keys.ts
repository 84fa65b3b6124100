// Bearer keys. Postgres has their SHA-256 hashes: keys are random and long, so a slow hash would add nothing.
//
// A stranger's guess must not cost what an honest call needs, a question to Postgres:
//
//   no key, or one of ours with a checksum that does not fit  401, without a question
//   worked when it was last asked for, lately                 answered from memory for half a second, then asked for
//   has just been refused, and is one of ours                 401 for a second, without a question
//   any other                                                 asked for, as long as its address has not had too many refused
//
// So a guesser uses up what its address may try, and whoever shares that address with a key that works goes on. Keys of
// ours, whose checksum fits, and others (of earlier versions, or supplied) are counted apart: garbage takes nothing from a
// key that is new here.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../api/http.ts'
import { limits } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { createAttempts, type Attempt } from './attempts.ts'

/** It keeps no secret, and anybody can make one that fits: it tells a slip of the finger from a key. */
function checksumOf(text: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return bytes.toString('base64url')
}

export function generateKey(): string {
  const random = `ql_${randomBytes(32).toString('base64url')}`
  return random + checksumOf(random)
}

export type KeyForm = 'checked' | 'mistyped' | 'other'

/** 'other': of an earlier version, or supplied. */
export function formOf(key: string): KeyForm {
  const [, random, checksum] = /^(ql_[\w-]{43})([\w-]{6})$/.exec(key) ?? []
  if (random === undefined) return 'other'
  return checksumOf(random) === checksum ? 'checked' : 'mistyped'
}

export const hashKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/** How long a revoked key may still be honoured: together with the lookup, under a second. */
const cacheMs = 500
/**
 * How long a key of ours stays refused without a question. It is random: nobody can have tried it before it was made, so a
 * new key works at once. One that is supplied to another process in this very form works within this time.
 */
const refusedMs = 1000
/** Longer ones are not hashed: no key of ours, supplied ones included, is that long. */
const keyLengthMax = 512

/** `address` is asked only where it matters. */
export type Authenticate = (header: string | undefined, address: () => string) => Promise<Caller>

export function authenticator(
  db: Sql,
  onTooMany: () => void,
  nowMs: () => number = () => performance.now(),
): Authenticate {
  // Only keys that worked: guesses cannot fill it.
  const known = new LRUCache<string, { caller: Caller; untilMs: number }>({ max: limits.keysKnown })
  const refused = new LRUCache<string, number>({ max: limits.keysRefused })
  const attempts = createAttempts(nowMs, onTooMany)
  // Those who come with one key at the same moment share one question, and one attempt.
  const underWay = new Map<string, Promise<Caller | undefined>>()

  const ask = async (id: string, hash: Buffer, form: KeyForm, attempt: Attempt | undefined) => {
    const askedAtMs = nowMs()
    const caller = await lookUp(db, hash).catch((error: unknown) => {
      attempt?.giveBack()
      throw error
    })
    if (caller) {
      attempt?.giveBack()
      known.set(id, { caller, untilMs: askedAtMs + cacheMs })
    } else {
      known.delete(id)
      if (form === 'checked') refused.set(id, askedAtMs + refusedMs)
    }
    return caller
  }

  return async (header, address) => {
    const key = bearerKey(header)
    const form = key === undefined ? 'mistyped' : formOf(key)
    if (key === undefined || form === 'mistyped') throw unauthorized()
    const hash = hashKey(key)
    const id = hash.toString('base64')
    const remembered = known.get(id)
    if (remembered && remembered.untilMs > nowMs()) return remembered.caller
    if ((refused.get(id) ?? -Infinity) > nowMs()) throw unauthorized()
    let asked = underWay.get(id)
    if (asked === undefined) {
      const attempt = remembered ? undefined : attempts.begin(`${form} ${address()}`)
      asked = ask(id, hash, form, attempt).finally(() => underWay.delete(id))
      underWay.set(id, asked)
    }
    const caller = await asked
    if (!caller) throw unauthorized()
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
