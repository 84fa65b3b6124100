import { expect, test } from 'vitest'
import { createOracle, standardDestination } from './oracle.ts'

const at = (dueMs: number) => ({ code: 'a', dueMs, ms: 5, status: 302, usual: false })
const usual = (dueMs: number) => ({ ...at(dueMs), usual: true })
const to = (dueMs: number, location: string) => ({ ...at(dueMs), location })
const status = (dueMs: number, code: number) => ({ ...at(dueMs), status: code })

test('a link leads where it was made to lead, and 404 for it is wrong', () => {
  const { wrong } = createOracle()
  expect(wrong(usual(0))).toBe(false)
  expect(wrong(to(0, 'https://example.org/other'))).toBe(true)
  expect(wrong(status(0, 404))).toBe(true)
})

test('nobody is led anywhere by a 503 or by silence', () => {
  const { wrong } = createOracle()
  expect([503, 0].map((code) => wrong(status(0, code)))).toEqual([false, false])
})

test('before a change only the old is right, for a second both, then only the new', () => {
  const { wrong, changed } = createOracle()
  changed('a', 1000, 'https://example.org/new')
  const isNew = (dueMs: number): boolean => wrong(to(dueMs, 'https://example.org/new'))
  expect([900, 996, 1000, 5000].map(isNew)).toEqual([true, false, false, false])
  expect([900, 1999, 2001].map((dueMs) => wrong(usual(dueMs)))).toEqual([false, false, true])
})

test('a link that is disabled and comes back is right again, and its absence wrong', () => {
  const { wrong, changed } = createOracle()
  changed('a', 1000, 404)
  changed('a', 5000, standardDestination('a'))
  expect([1500, 3000, 5500, 6500].map((dueMs) => wrong(status(dueMs, 404)))).toEqual([false, false, false, true])
  expect([500, 3000, 6500].map((dueMs) => wrong(usual(dueMs)))).toEqual([false, true, false])
})

test('what is right beside something else ends no truth, and ends with the next change', () => {
  const { wrong, changed, beside } = createOracle()
  const answer = (dueMs: number, location: string) => ({ code: 'a', dueMs, ms: 1, status: 302, usual: false, location })
  beside('a', 1000, 'https://example.org/planted')
  expect(wrong(answer(500, 'https://example.org/planted'))).toBe(true)
  expect(wrong(answer(9000, 'https://example.org/planted'))).toBe(false)
  expect(wrong(answer(9000, standardDestination('a')))).toBe(false)
  changed('a', 10_000, standardDestination('a'))
  expect(wrong(answer(11_500, 'https://example.org/planted'))).toBe(true)
  expect(wrong(answer(11_500, standardDestination('a')))).toBe(false)
})
