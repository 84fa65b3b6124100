import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { search } from './search.ts'

it('a search says at once what it found, and makes it smaller only for a while', async () => {
  const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  let tried = 0
  const slow = fc.asyncProperty(fc.array(fc.nat(), { minLength: 50 }), async (numbers) => {
    if (printed.mock.calls.length > 0) {
      tried++
      await pause(20)
    }
    if (numbers.length > 1) throw new Error('more than one number')
  })
  const found = await search('numbers', slow, 10, () => 'so much of it', 100).catch(String)
  expect(tried).toBeLessThan(10)
  for (const said of [String(printed.mock.calls[0]?.[0]), found]) {
    for (const part of ['numbers', 'more than one number', 'QL_SEARCH_SEED=', 'Counterexample: '])
      expect(said).toContain(part)
  }
  expect(found).toContain('so much of it')
  printed.mockRestore()
})
