import { expect, test } from 'vitest'
import { sealedCursors } from './cursors.ts'

const cursors = sealedCursors('a secret that all processes share')
const list = ['links', 'acme']
const at = (id: number, key = 1n) => ({ key, id })

test('a cursor is opened by whoever has the secret: another process, or this one after a restart', () => {
  for (const id of [1, 4711, Number.MAX_SAFE_INTEGER]) {
    const place = { key: -(2n ** 60n) + BigInt(id), id }
    expect(sealedCursors('a secret that all processes share').open(list, cursors.seal(list, place))).toEqual(place)
  }
})

test('it says nothing of the id: not its size, not its digits, not whether it is the same', () => {
  const [small, large, again] = [cursors.seal(list, at(1)), cursors.seal(list, at(2 ** 50)), cursors.seal(list, at(1))]
  expect(small).toMatch(/^[0-9A-Za-z_-]+$/)
  expect(large).toHaveLength(small.length)
  expect(again).not.toBe(small)
  const held = Buffer.from(cursors.seal(list, at(123_456_789)), 'base64url')
  expect(held.includes('123456789')).toBe(false)
  const binary = Buffer.alloc(4)
  binary.writeUInt32BE(123_456_789)
  expect(held.includes(binary)).toBe(false)
})

test.each([
  ['of another list', cursors.seal(['links', 'other'], at(7))],
  ['of all lists', cursors.seal(['links'], at(7))],
  ['of another kind', cursors.seal(['tenants', 'acme'], at(7))],
  ['sealed with another secret', sealedCursors('another secret').seal(list, at(7))],
  ['with one bit changed', cursors.seal(list, at(7)).replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))],
  ['as it was once, readable', Buffer.from('id:7').toString('base64url')],
  ['cut short', cursors.seal(list, at(7)).slice(0, -1)],
  ['of nothing', ''],
  ['with white space', `${cursors.seal(list, at(7))} `],
])('a cursor %s is refused', (_, cursor) => expect(() => cursors.open(list, cursor)).toThrow('nextCursor'))
