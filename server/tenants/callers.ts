// Whose secret it is, a key or a session's token: asked of Postgres, and remembered for half a second.
//
// A stranger's guess must not cost what an honest call needs, a question to Postgres:
//
//   a checksum that does not fit                              nobody, without a question
//   worked when it was last asked for, lately                 answered from memory for half a second, then asked for
//   has just been refused, and is one of ours                 nobody for a second, without a question
//   any other                                                 asked for, as long as its address has not had too many refused
//
// So a guesser uses up what its address may try, and whoever shares that address with a secret that works goes on. Secrets of
// ours, whose checksum fits, and others (keys of earlier versions, or supplied) are counted apart: garbage takes nothing from
// a key that is new here.
import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { Caller } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { createAttempts, type Attempt } from './attempts.ts'

/** It keeps no secret, and anybody can make one that fits: it tells a slip of the finger from a secret. */
export function checksumOf(text: string): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return bytes.toString('base64url')
}

export const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()

/** 'other': a key of an earlier version, or supplied. */
export type SecretForm = 'checked' | 'mistyped' | 'other'

/** How long a secret that was revoked may still be honoured: together with the lookup, under a second. */
const cacheMs = 500
/**
 * How long one of ours stays refused without a question. It is random: nobody can have tried it before it was made, so a
 * new one works at once. A key that is supplied to another process in this very form works within this time.
 */
const refusedMs = 1000

/** undefined: nobody's. `address` is asked only where it matters. */
export type CallerOf = (secret: string, address: () => string) => Promise<Caller | undefined>

interface CallersDeps {
  readonly formOf: (secret: string) => SecretForm
  /** `hash` is the secret's SHA-256. */
  readonly find: (secret: string, hash: Buffer) => Promise<Caller | undefined>
  readonly onTooMany: () => void
  readonly nowMs: () => number
}

export function rememberCallers({ formOf, find, onTooMany, nowMs }: CallersDeps): CallerOf {
  // Only secrets that worked: guesses cannot fill it.
  const known = new LRUCache<string, { caller: Caller; untilMs: number }>({ max: limits.keysKnown })
  const refused = new LRUCache<string, number>({ max: limits.keysRefused })
  const attempts = createAttempts(nowMs, onTooMany)
  // Those who come with one secret at the same moment share one question, and one attempt.
  const underWay = new Map<string, Promise<Caller | undefined>>()

  const ask = async (id: string, found: Promise<Caller | undefined>, form: SecretForm, attempt?: Attempt) => {
    const askedAtMs = nowMs()
    const caller = await found.catch((error: unknown) => {
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

  return async (secret, address) => {
    const form = formOf(secret)
    if (form === 'mistyped') return undefined
    const hash = sha256(secret)
    const id = hash.toString('base64')
    const remembered = known.get(id)
    if (remembered && remembered.untilMs > nowMs()) return remembered.caller
    if ((refused.get(id) ?? -Infinity) > nowMs()) return undefined
    let asked = underWay.get(id)
    if (asked === undefined) {
      const attempt = remembered ? undefined : attempts.begin(`${form} ${address()}`)
      asked = ask(id, find(secret, hash), form, attempt).finally(() => underWay.delete(id))
      underWay.set(id, asked)
    }
    return asked
  }
}
