import { expect, test } from 'vitest'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../config.ts'
import { lastTimeMs } from '../link.ts'
import { agreedExpiry, agreedHits } from '../links/input.ts'
import { defaultTiers } from './tiers.ts'

const tiersOf = (env: Record<string, string>) =>
  loadConfig({ DATABASE_URL: 'postgres://localhost/quicklink', ...env }).tiers

test('without a word the tiers are those of the documentation', () => expect(tiersOf({})).toEqual(defaultTiers))

test('single numbers can be overridden, by the environment or a file; null is no limit', () => {
  const changed = tiersOf({
    TIERS: '{"standard": {"links": 5}, "plus": {"createsPerHour": null, "changesPerHour": 9}}',
  })
  expect(changed.standard).toEqual({ ...defaultTiers.standard, links: 5 })
  expect(changed.plus).toEqual({ ...defaultTiers.plus, createsPerHour: null, changesPerHour: 9 })
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-tiers-'))
  writeFileSync(join(dir, 'tiers.json'), '{"standard": {"lifeDays": 30}}\n')
  expect(tiersOf({ TIERS_FILE: join(dir, 'tiers.json') }).standard.lifeDays).toBe(30)
  rmSync(dir, { recursive: true })
})

test.each([
  ['nonsense', /^TIERS must be JSON like [^\n]+\.$/],
  ['[]', /^TIERS must be JSON like /],
  ['{"gold": {}}', /^TIERS must not name gold: /],
  ['{"unlimited": {"links": 5}}', /^TIERS must not name unlimited: /],
  ['{"standard": {"link": 5}}', /^TIERS must not name standard\.link: /],
  ['{"standard": 5}', /^TIERS has a mistake at standard: it must be an object\.$/],
  [
    '{"standard": {"links": 0}}',
    /^TIERS has a mistake at standard\.links: it must be a whole number from 1 to \d+, or null/,
  ],
  ['{"plus": {"lifeDays": "x"}}', /^TIERS has a mistake at plus\.lifeDays: it must be a whole number/],
])('TIERS=%s is refused with one sentence', (text, sentence) => {
  expect(() => tiersOf({ TIERS: text })).toThrow(sentence)
})

test('a link may ask for less than its tier allows, never for more, and gets what it does not ask for', () => {
  const terms = { monthlyHits: 100, lifeDays: 10 }
  const none = { monthlyHits: null, lifeDays: null }
  const nowMs = Date.parse('2026-01-01T00:00:00.700Z')
  expect([agreedHits(terms, null), agreedHits(terms, 7), agreedHits(terms, 100), agreedHits(none, null)]).toEqual([100, 7, 100, null]) // prettier-ignore
  expect(() => agreedHits(terms, 101)).toThrow('monthlyHits must be at most 100')
  expect(agreedExpiry(terms, null, nowMs)).toEqual(new Date('2026-01-11T00:00:00Z'))
  expect(agreedExpiry(terms, new Date('2026-01-11T00:00:01Z'), nowMs)).toEqual(new Date('2026-01-11T00:00:01Z'))
  expect(() => agreedExpiry(terms, new Date('2026-01-11T00:02:00Z'), nowMs)).toThrow('at most 10 days')
  expect(agreedExpiry(none, null, nowMs)).toBeNull()
})

test('however long a tier lets links live, their expiry can be written', () => {
  const nowMs = Date.parse('2026-03-01T00:00:00Z')
  for (const lifeDays of [3_000_000, 5_000_000, 2 ** 53]) {
    const terms = { monthlyHits: null, lifeDays }
    expect(agreedExpiry(terms, null, nowMs)?.toISOString()).toBe('9999-12-31T23:59:59.000Z')
    expect(agreedExpiry(terms, new Date(lastTimeMs), nowMs)?.getTime()).toBe(lastTimeMs)
  }
})
