import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { generatedCodeLength, reservedWords } from '../link.ts'
import { codePermutation, counterDigits, permutation, shortcodes } from './shortcode.ts'

const decimal = '0123456789'
const base36 = '0123456789abcdefghijklmnopqrstuvwxyz'
const key128 = '2B7E151628AED2A6ABF7158809CF4F3C'
const key192 = `${key128}EF4359D8D580AA4F`
const key256 = `${key192}7F036D6F04FC6A94`
const tweak10 = '39383736353433323130'
const tweak36 = '3737373770717273373737'

// https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/FF1samples.pdf
const samples = [
  { sample: 1, key: key128, alphabet: decimal, tweak: '', plain: '0123456789', sealed: '2433477484' },
  { sample: 2, key: key128, alphabet: decimal, tweak: tweak10, plain: '0123456789', sealed: '6124200773' },
  { sample: 3, key: key128, alphabet: base36, tweak: tweak36, plain: '0123456789abcdefghi', sealed: 'a9tv40mll9kdu509eum' },
  { sample: 4, key: key192, alphabet: decimal, tweak: '', plain: '0123456789', sealed: '2830668132' },
  { sample: 5, key: key192, alphabet: decimal, tweak: tweak10, plain: '0123456789', sealed: '2496655549' },
  { sample: 6, key: key192, alphabet: base36, tweak: tweak36, plain: '0123456789abcdefghi', sealed: 'xbj3kv35jrawxv32ysr' },
  { sample: 7, key: key256, alphabet: decimal, tweak: '', plain: '0123456789', sealed: '6657667009' },
  { sample: 8, key: key256, alphabet: decimal, tweak: tweak10, plain: '0123456789', sealed: '1001623463' },
  { sample: 9, key: key256, alphabet: base36, tweak: tweak36, plain: '0123456789abcdefghi', sealed: 'xs8a0azh2avyalyzuwd' },
] // prettier-ignore

test.each(samples)('NIST SP 800-38G FF1 sample $sample', ({ key, alphabet, tweak, plain, sealed }) => {
  const ff1 = permutation(alphabet, Buffer.from(key, 'hex'), Buffer.from(tweak, 'hex'))
  expect(ff1.encrypt(plain)).toBe(sealed)
  expect(ff1.decrypt(sealed)).toBe(plain)
})

const salt = 'a salt for the tests of the shortcodes'
const maxCounter = 62 ** generatedCodeLength - 1
const counters = fc.oneof(
  fc.integer({ min: 0, max: 10_000 }),
  fc.maxSafeNat().map((n) => n % (maxCounter + 1)),
)

describe('a shortcode', () => {
  it('is seven Base62 characters, whatever the counter', () => {
    const mint = shortcodes(salt)
    for (const counter of [0, 1, 61, 62, maxCounter - 1, maxCounter]) expect(mint(counter)).toMatch(/^[0-9A-Za-z]{7}$/)
    fc.assert(fc.property(counters, (counter) => /^[0-9A-Za-z]{7}$/.test(mint(counter) ?? '0000000')))
  })

  it('leads back to its counter, so two counters never share one', () => {
    const { encrypt, decrypt } = codePermutation(salt)
    fc.assert(fc.property(counters, (counter) => decrypt(encrypt(counterDigits(counter))) === counterDigits(counter)))
  })

  it('follows from counter and salt alone', () => {
    fc.assert(
      fc.property(counters, (counter) => shortcodes(salt)(counter) === shortcodes(salt)(counter)),
      { numRuns: 20 },
    )
    expect(Array.from({ length: 5 }, (_, counter) => shortcodes(salt)(counter))).toMatchInlineSnapshot(`
      [
        "OQ6b5mL",
        "FbX2aM4",
        "9uyZ9xK",
        "gTbC58V",
        "NRfdFTs",
      ]
    `)
  })

  it('is another one under another salt', () => {
    const [mine, other] = [shortcodes(salt), shortcodes(`${salt}!`)]
    fc.assert(
      fc.property(counters, (counter) => mine(counter) !== other(counter)),
      { numRuns: 50 },
    )
  })

  it('is refused outside of the counters that have one', () => {
    for (const counter of [-1, 0.5, maxCounter + 1, NaN, Infinity])
      expect(() => counterDigits(counter)).toThrow(RangeError)
  })

  it('is never a reserved word', () => {
    const mint = shortcodes(salt)
    const { decrypt } = codePermutation(salt)
    const words = [...reservedWords].filter((word) => /^[0-9a-z]{7}$/.test(word))
    expect(words.length).toBeGreaterThan(0)
    for (const word of words) expect(mint(numberOf(decrypt(word)))).toBeUndefined()
  })
})

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const numberOf = (digits: string): number => Array.from(digits).reduce((sum, d) => sum * 62 + base62.indexOf(d), 0)
