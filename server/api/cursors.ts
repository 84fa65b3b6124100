// Where a page of a list ended, sealed: a cursor tells its reader nothing of the id in it, which counts the links of all
// tenants, and fits no list but its own. The key comes from the secret of the shortcodes, which every process and every
// replica has, and which a restart keeps; a cursor from before that secret was changed is refused.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { invalid } from '../errors.ts'

/** What a page's last item is ordered by, and its id. */
export interface Place {
  readonly key: bigint
  readonly id: number
}

export type Cursors = ReturnType<typeof sealedCursors>

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const placeBytes = 16
const tagBytes = 16
/** A list is not read in as many pages as would make two random nonces meet. */
const form = /^[0-9A-Za-z_-]{59}$/

export function sealedCursors(secret: string) {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'quicklink: cursors of lists', 32))
  const bindingOf = (list: readonly string[]): Buffer => Buffer.from(JSON.stringify(list))
  return {
    /** `list`: which list of whose it is a page of, and what was asked of it. */
    seal(list: readonly string[], { key: orderedBy, id }: Place): string {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce).setAAD(bindingOf(list))
      const plain = Buffer.alloc(placeBytes)
      plain.writeBigInt64BE(orderedBy)
      plain.writeBigInt64BE(BigInt(id), 8)
      const sealed = Buffer.concat([nonce, sealing.update(plain), sealing.final(), sealing.getAuthTag()])
      return sealed.toString('base64url')
    },
    open(list: readonly string[], cursor: string): Place {
      try {
        if (!form.test(cursor)) throw new Error('not of the form of a cursor')
        const sealed = Buffer.from(cursor, 'base64url')
        const opening = createDecipheriv(cipher, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
        opening.setAAD(bindingOf(list)).setAuthTag(sealed.subarray(-tagBytes))
        const plain = Buffer.concat([opening.update(sealed.subarray(nonceBytes, -tagBytes)), opening.final()])
        return { key: plain.readBigInt64BE(), id: Number(plain.readBigInt64BE(8)) }
      } catch {
        throw invalid('cursor', 'cursor must be the nextCursor of an earlier page of this list.')
      }
    },
  }
}
