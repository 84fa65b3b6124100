import { expect, test } from 'vitest'
import { lastTimeMs } from '../link.ts'
import { agreedExpiry } from './terms.ts'

test('however long a tier lets links live, their expiry can be written', () => {
  const nowMs = Date.parse('2026-03-01T00:00:00Z')
  for (const lifeDays of [3_000_000, 5_000_000, 2 ** 53]) {
    const terms = { monthlyHits: null, lifeDays }
    expect(agreedExpiry(terms, null, nowMs)?.toISOString()).toBe('9999-12-31T23:59:59.000Z')
    expect(agreedExpiry(terms, new Date(lastTimeMs), nowMs)?.getTime()).toBe(lastTimeMs)
  }
})
