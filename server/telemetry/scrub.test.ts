import fc from 'fast-check'
import { expect, test } from 'vitest'
import { scrub, shorten } from './scrub.ts'

test.each([
  ['postgres://me:hunter2@db/quicklink', 'postgres://***@db/quicklink'],
  ['redis://:p@ss@cache:6379', 'redis://***@cache:6379'],
  ['a://b:c@d e://f:g@h', 'a://***@d e://***@h'],
  ['Authorization: bearer   abc.def', 'Authorization: Bearer ***'],
  ['password=x&token=y', 'password=***&token=***'],
  ['GET /api/v1/links/ql_0123456789abcdefghij-_KLMN/x', 'GET /api/v1/links/ql_***/x'],
  ['/p?q=1', '/p?***'],
  ['https://h/p?q=1?r=2 /s?', 'https://h/p?*** /s?'],
  ['why? a?b/c?d /x/y?z', 'why? a?b/c?*** /x/y?***'],
  ['nothing to hide: 10:30, a//b', 'nothing to hide: 10:30, a//b'],
])('%s is logged as %s', (text, shown) => expect(scrub(text)).toBe(shown))

test('a JSON line stays one, whatever is in it', () => {
  const secrets = fc.constantFrom(
    '://',
    '@',
    '?',
    '/',
    'Bearer ',
    'token=',
    'ql_0123456789abcdefghij',
    '"',
    '\\',
    '\n',
    'é',
  )
  const texts = fc.array(fc.oneof(secrets, fc.string())).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      const line = scrub(JSON.stringify({ msg: text, n: 1 }))
      return (JSON.parse(line) as { n: number }).n === 1
    }),
  )
})

test('a text is scrubbed before it is cut, and says how long it was', () => {
  const text = `${'x'.repeat(90)} postgres://me:hunter2@db`
  expect(shorten(text, 108)).toBe(`${'x'.repeat(90)} postgres://***@db`)
  expect(shorten(text, 104)).toBe(`${'x'.repeat(90)} postgres://**… (108 characters)`)
})
