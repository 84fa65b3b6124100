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
import type { Caller, Role } from '../api/operation.ts'
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

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

export const hashKey = sha256

/**
 * Of a key that was given a role. Servers from before there were roles do not ask for this hash, so they refuse the key; by the
 * plain hash they would let it do what its tenant's keys could do then.
 */
export const hashWithRole = (key: string): Buffer => sha256(`a QuickLink key with a role: ${key}`)

/** What is meant where no role is said. */
export const roleWithout = (tenant: string): Role => (tenant === 'owner' ? 'owner' : 'editor')

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

  const ask = async (id: string, hashes: readonly Buffer[], form: KeyForm, attempt: Attempt | undefined) => {
    const askedAtMs = nowMs()
    const caller = await lookUp(db, hashes).catch((error: unknown) => {
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
      asked = ask(id, [hash, hashWithRole(key)], form, attempt).finally(() => underWay.delete(id))
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

async function lookUp(db: Sql, hashes: readonly Buffer[]): Promise<Caller | undefined> {
  const [found] = await db.query<{ tenant: string; key_hash: Buffer; role: Role | null }>(
    `select tenant, key_hash, role from api_keys
     where key_hash = any ($1) and revoked_at is null and (expires_at is null or expires_at > now())`,
    [hashes],
    'key-by-hash',
  )
  // The index has compared already, but not in constant time; what it could leak is a hash, not a key.
  if (!found || !hashes.some((hash) => timingSafeEqual(found.key_hash, hash))) return undefined
  const { tenant, role } = found
  return callerWith(tenant, role ?? roleWithout(tenant))
}

const callerWith = (tenant: string, role: Role): Caller => ({ tenant, role, isOwner: role === 'owner' })

const unauthorized = (): QuickLinkError =>
  new QuickLinkError('unauthorized', 'Send a valid API key as "Authorization: Bearer <key>".', {
    headers: { 'WWW-Authenticate': 'Bearer' },
  })
