import { describe, expect, it, test } from 'vitest'
import type { Code, Known, Link } from '../link.ts'
import { decode, encode } from './schema.ts'

const code = 'abc' as Code
const link: Known = {
  code,
  id: 7,
  url: 'https://example.org/',
  permanent: true,
  startsAtS: 1_900_000_000,
  expiresAtS: 2_000_000_000,
  expiredUrl: 'https://example.org/over',
  forwardQuery: true,
  monthlyHits: 100,
  version: 5,
}
const written = encode(link, 1_700_000_000_000, 90)

test('what is written is read as it was, and so is what has only what the contract names', () => {
  expect(decode(code, written)).toEqual({ known: link, cachedAtS: 1_700_000_000, lifeS: 90 })
  expect(decode(code, '{"u":"https://a/","p":false,"t":1,"v":2,"further":[]}')?.known).toMatchObject({ version: 2 })
  expect(decode(code, '{"x":9}')?.known).toMatchObject({ version: 9 })
})

describe('a special link', () => {
  const when = { os: 'ios', language: 'de', afterS: 1_900_000_000, query: { from: 'poster' } } as const
  const guided: Link = { ...link, special: [{ when, url: 'https://a.example/' }] }
  const locked: Link = { ...link, url: '', special: 'password' }

  it.each([guided, locked])('is read as it was written: %j', (known) => {
    expect(decode(code, encode(known, 1_700_000_000_000))).toEqual({ known, cachedAtS: 1_700_000_000 })
  })

  it('has no `u`, without which no server of the version before takes a value for a link', () => {
    for (const known of [guided, locked]) expect(JSON.parse(encode(known, 0))).not.toHaveProperty('u')
    expect(encode({ ...locked, expiredUrl: null }, 0)).not.toContain('http')
  })

  const rule = { when: { os: 'ios' }, url: 'https://a/' }
  const last = { url: 'https://b/' }
  it.each<[string, unknown]>([
    ['text', 'https://a/'],
    ['nothing', []],
    ['no last one', [rule, { url: 7 }]],
    ['a URL that no header may carry', [{ ...rule, url: 'https://a/\r\nX: y' }, last]],
    ['a last URL that no header may carry', [rule, { url: 'javascript:alert(1)' }]],
    ['no condition', [{ url: 'https://a/' }, last]],
    ['a system that is no text', [{ ...rule, when: { os: 7 } }, last]],
    ['a time that is no number', [{ ...rule, when: { afterS: '7' } }, last]],
    ['a query of numbers', [{ ...rule, when: { query: { a: 1 } } }, last]],
    ['a query that is a list', [{ ...rule, when: { query: ['a'] } }, last]],
  ])('with rules that no writer has written counts as not there: %s', (_what, r) => {
    expect(decode(code, JSON.stringify({ r, p: false, t: 1, v: 2, i: 3 }))).toBeUndefined()
  })
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
