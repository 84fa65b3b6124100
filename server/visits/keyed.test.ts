import { createHmac, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { keyed } from './keyed.ts'

it('is what createHmac says', () => {
  for (let length = 0; length <= 64; length += 8) {
    const key = randomBytes(length)
    for (const text of ['', 'a', 'ü\xff', 'x'.repeat(500)]) {
      expect(keyed(key)(text)).toEqual(createHmac('sha256', key).update(text).digest())
    }
  }
})
