// Counter to code: FF1 (NIST SP 800-38G) permutes the 62^7 strings of seven Base62 digits under a key made from the
// salt. A permutation has no collisions, and without the key its order is not visible.
import { hkdfSync } from 'node:crypto'
import { FF1 } from '@noble/ciphers/ff1.js'
import { generatedCodeLength, isReserved, type Code } from '../link.ts'

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const codeCount = base62.length ** generatedCodeLength

interface Permutation {
  encrypt(text: string): string
  decrypt(text: string): string
}

/** FF1 over the strings of an alphabet: what comes out has the length and the alphabet of what went in. */
export function permutation(alphabet: string, key: Uint8Array, tweak?: Uint8Array): Permutation {
  const cipher = FF1(alphabet.length, key, tweak)
  const digits = (text: string): number[] => Array.from(text, (character) => alphabet.indexOf(character))
  const text = (values: number[]): string => values.map((value) => alphabet.charAt(value)).join('')
  return {
    encrypt: (plain) => text(cipher.encrypt(digits(plain))),
    decrypt: (sealed) => text(cipher.decrypt(digits(sealed))),
  }
}

export type Mint = (counter: number) => Code | undefined

/** The code of a counter; undefined where it spells a reserved word, which nobody may have. */
export function shortcodes(salt: string): Mint {
  const seven = codePermutation(salt)
  return (counter) => {
    const code = seven.encrypt(counterDigits(counter))
    return isReserved(code) ? undefined : (code as Code)
  }
}

export const codePermutation = (salt: string): Permutation => permutation(base62, codeKey(salt))

const codeKey = (salt: string): Uint8Array =>
  new Uint8Array(hkdfSync('sha256', salt, '', 'quicklink shortcode: FF1, AES-256, radix 62', 32))

export function counterDigits(counter: number): string {
  if (!Number.isSafeInteger(counter) || counter < 0 || counter >= codeCount) {
    throw new RangeError(`counter ${counter} is not one of the ${codeCount} shortcodes`)
  }
  let digits = ''
  for (let rest = counter; digits.length < generatedCodeLength; rest = Math.floor(rest / base62.length)) {
    digits = base62.charAt(rest % base62.length) + digits
  }
  return digits
}
