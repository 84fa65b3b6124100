import { describe, expect, it, test } from 'vitest'
import type { Code, Known } from '../link.ts'
import { decode, encode } from './schema.ts'

const code = 'abc' as Code
const link: Known = {
  code,
  id: 7,
  url: 'https://example.org/',
  permanent: true,
  expiresAtS: 2_000_000_000,
  monthlyHits: 100,
  version: 5,
}
const written = encode(link, 1_700_000_000_000, 90)

test('what is written is read as it was, and so is what has only what the contract names', () => {
  expect(decode(code, written)).toEqual({ known: link, cachedAtS: 1_700_000_000, lifeS: 90 })
  expect(decode(code, '{"u":"https://a/","p":false,"t":1,"v":2,"further":[]}')?.known).toMatchObject({ version: 2 })
  expect(decode(code, '{"x":9}')?.known).toMatchObject({ version: 9 })
})

describe('a value that no writer has written counts as not there:', () => {
  it.each(['', 'null', '7', '[]', '"text"', 'true', '{', '{"x":"9"}', '{"x":-1}', '{"x":null}', '{"u":7}', '{}'])(
    '%s',
    (value) => expect(decode(code, value)).toBeUndefined(),
  )

  const wrong = [1.5, -1, 2 ** 53, 1e300, '7', true, null, [7], {}]
  it.each(['t', 'v', 'i', 'e', 'q', 'l'].flatMap((name) => wrong.map((value) => [name, value] as const)))(
    '%s is %j',
    (name, value) => {
      expect(decode(code, JSON.stringify({ ...(JSON.parse(written) as object), [name]: value }))).toBeUndefined()
    },
  )
})
