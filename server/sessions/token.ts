// Secrets that are made here: 256 random bits, and a checksum, so that a slip or a guess costs no question.
import { randomBytes } from 'node:crypto'
import { checksumOf, type SecretForm } from '../tenants/callers.ts'

/** `qs` of a session, `qi` of a link that signs in once. */
export type TokenKind = 'qs' | 'qi'

export function newToken(kind: TokenKind): string {
  const random = `${kind}_${randomBytes(32).toString('base64url')}`
  return random + checksumOf(random)
}

export function formOf(kind: TokenKind, token: string): SecretForm {
  const [, of, random = ''] = /^(q[si])_([\w-]{49})$/.exec(token) ?? []
  const [said, checksum] = [`${kind}_${random.slice(0, 43)}`, random.slice(43)]
  return of === kind && checksumOf(said) === checksum ? 'checked' : 'mistyped'
}

export const newId = (of: 'session' | 'member'): string => `${of}_${randomBytes(9).toString('base64url')}`
