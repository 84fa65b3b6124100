import { expect, test } from 'vitest'
import { etagOf, versionsOf } from './etag.ts'

test('what was read is what must still be there', () => {
  expect(versionsOf(etagOf({ version: 4711 }))).toEqual([4711])
})

test.each([
  ['*', undefined],
  [undefined, undefined],
  ['"1.0", "22.0"', [1, 22]],
  ['"1.0",W/"2.0" ,"3.0"', [1, 3]],
  ['W/"2.0"', []],
  ['"another"', []],
  ['""', []],
  // Of a later server.
  ['"1.7"', []],
  ['"99999999999999999999.0"', []],
])('If-Match: %s', (header, versions) => expect(versionsOf(header)).toEqual(versions))

test.each(['', '4711', '"1.0', '1.0"', '"1.0" "2.0"', '"1.0",', ',"1.0"', '*, "1.0"', '"a b"', 'w/"1.0"'])(
  'If-Match: %j is refused',
  (header) => expect(() => versionsOf(header)).toThrow('If-Match must be'),
)
