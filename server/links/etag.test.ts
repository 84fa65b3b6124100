import { expect, test } from 'vitest'
import { etagOf, statesOf } from './etag.ts'

test('what was read is what must still be there', () => {
  expect(statesOf(etagOf({ version: 4711, revision: 3 }))).toEqual([{ version: 4711, revision: 3 }])
})

const one = (version: number, revision = 0) => ({ version, revision })
test.each([
  ['*', undefined],
  [undefined, undefined],
  ['"1.0", "22.0"', [one(1), one(22)]],
  ['"1.0",W/"2.0" ,"3.7"', [one(1), one(3, 7)]],
  ['W/"2.0"', []],
  ['"another"', []],
  ['""', []],
  ['"99999999999999999999.0"', []],
  ['"1.99999999999"', []],
])('If-Match: %s', (header, states) => expect(statesOf(header)).toEqual(states))

test.each(['', '4711', '"1.0', '1.0"', '"1.0" "2.0"', '"1.0",', ',"1.0"', '*, "1.0"', '"a b"', 'w/"1.0"'])(
  'If-Match: %j is refused',
  (header) => expect(() => statesOf(header)).toThrow('If-Match must be'),
)
