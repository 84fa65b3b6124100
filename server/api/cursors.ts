// Where a page of a list ended, sealed: a cursor tells its reader nothing of the id in it, which counts the links of all
// tenants, and fits no list but its own. The key comes from the secret of the shortcodes, which every process and every
// replica has, and which a restart keeps; a cursor from before that secret was changed is refused.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { invalid } from '../errors.ts'

export type Cursors = ReturnType<typeof sealedCursors>

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const idBytes = 8
const tagBytes = 16
/** A list is not read in as many pages as would make two random nonces meet. */
const form = /^[0-9A-Za-z_-]{48}$/

export function sealedCursors(secret: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'quicklink: cursors of lists', 32))
  const bindingOf = (list: readonly string[]): Buffer => Buffer.from(JSON.stringify(list))
  return {
    /** `list`: which list of whose it is a page of. */
    seal(list: readonly string[], id: number): string {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce).setAAD(bindingOf(list))
      const plain = Buffer.alloc(idBytes)
      plain.writeBigUInt64BE(BigInt(id))
      const sealed = Buffer.concat([nonce, sealing.update(plain), sealing.final(), sealing.getAuthTag()])
      return sealed.toString('base64url')
    },
    open(list: readonly string[], cursor: string): number {
      try {
        if (!form.test(cursor)) throw new Error('not of the form of a cursor')
        const sealed = Buffer.from(cursor, 'base64url')
        const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
        opening.setAAD(bindingOf(list)).setAuthTag(sealed.subarray(-tagBytes))
        const plain = Buffer.concat([opening.update(sealed.subarray(nonceBytes, -tagBytes)), opening.final()])
        return Number(plain.readBigUInt64BE())
      } catch {
        throw invalid('cursor', 'cursor must be the nextCursor of an earlier page of this list.')
      }
    },
  }
}
