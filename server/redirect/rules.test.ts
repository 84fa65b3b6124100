import { expect, it, test } from 'vitest'
import fc from 'fast-check'
import type { When } from '../link.ts'
import { firstThatFits, type Visit } from './rules.ts'

const nowS = 1_900_000_000
const fits = (when: When, visit: Partial<Visit>, atMs = nowS * 1000): boolean =>
  firstThatFits(
    [{ when, url: 'https://a/' }],
    { userAgent: undefined, acceptLanguage: undefined, query: undefined, ...visit },
    () => atMs,
  ) !== undefined

// As these browsers send them.
const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  ipad: 'Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  pixel:
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Mobile Safari/537.36',
  androidTablet:
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
  firefoxTablet: 'Mozilla/5.0 (Android 15; Tablet; rv:140.0) Gecko/140.0 Firefox/140.0',
  windows:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0',
  mac: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  chromebook:
    'Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36',
  linux: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}

test.each([
  ['iphone', 'ios', 'mobile'],
  ['ipad', 'ios', 'tablet'],
  ['pixel', 'android', 'mobile'],
  ['androidTablet', 'android', 'tablet'],
  ['firefoxTablet', 'android', 'tablet'],
  ['windows', 'windows', 'desktop'],
  ['mac', 'macos', 'desktop'],
  ['chromebook', 'chromeos', 'desktop'],
  ['linux', 'linux', 'desktop'],
] as const)('%s is %s, and %s', (name, os, device) => {
  const userAgent = agents[name]
  const others = { os: os === 'ios' ? 'macos' : 'ios', device: device === 'mobile' ? 'tablet' : 'mobile' } as const
  expect(fits({ os }, { userAgent })).toBe(true)
  expect(fits({ device }, { userAgent })).toBe(true)
  expect(fits({ os: others.os }, { userAgent })).toBe(false)
  expect(fits({ device: others.device }, { userAgent })).toBe(false)
})

it.each(['curl/8.5.0', '', undefined])('knows no device and no system of %j', (userAgent) => {
  for (const device of ['mobile', 'tablet', 'desktop'] as const) expect(fits({ device }, { userAgent })).toBe(false)
  for (const os of ['ios', 'linux'] as const) expect(fits({ os }, { userAgent })).toBe(false)
})

test.each<[string, string | undefined, string, boolean]>([
  ['de', 'de', 'the same', true],
  ['de', 'de-CH,de;q=0.9,en;q=0.8', 'of a region', true],
  ['de', 'DE-ch', 'in any case', true],
  ['pt-BR', 'pt-BR,pt;q=0.9', 'a region', true],
  ['pt-BR', 'pt-PT,pt;q=0.9', 'another region', false],
  ['de-CH', 'de', 'without a region', false],
  ['de', 'en-US,en;q=0.9,de;q=0.8', 'the third choice', false],
  ['de', 'en;q=0.7,de;q=0.9', 'the first choice stands last', true],
  ['de', 'den', 'another language that begins so', false],
  ['de', 'de;q=0, en', 'one that is not wanted', false],
  ['de', '*', 'any', false],
  ['de', undefined, 'nothing', false],
  ['de', ';;,,=q', 'nonsense', false],
])('language %s and Accept-Language %j: %s', (language, acceptLanguage, _what, is) => {
  expect(fits({ language }, { acceptLanguage })).toBe(is)
})

test('after and before are exact to the second', () => {
  expect(fits({ afterS: nowS }, {}, nowS * 1000 - 1)).toBe(false)
  expect(fits({ afterS: nowS }, {}, nowS * 1000)).toBe(true)
  expect(fits({ beforeS: nowS }, {}, nowS * 1000 - 1)).toBe(true)
  expect(fits({ beforeS: nowS }, {}, nowS * 1000)).toBe(false)
})

test('a query has to have each name, with that value', () => {
  const query = { from: 'poster', 'ä b': 'ü+&' }
  expect(fits({ query }, { query: 'x=1&from=poster&%C3%A4+b=%C3%BC%2B%26' })).toBe(true)
  expect(fits({ query }, { query: 'from=poster' })).toBe(false)
  expect(fits({ query }, { query: 'from=Poster&%C3%A4+b=%C3%BC%2B%26' })).toBe(false)
  expect(fits({ query: { from: '' } }, { query: 'from' })).toBe(true)
  expect(fits({ query: { from: '' } }, { query: '' })).toBe(false)
})

test('all that a rule names has to be so, and the first rule that fits is the one', () => {
  const visit = { userAgent: agents.iphone, acceptLanguage: 'de', query: '' }
  const led = (whens: When[]): string | undefined =>
    firstThatFits(
      whens.map((when, n) => ({ when, url: String(n) })),
      visit,
      () => nowS * 1000,
    )?.url
  expect(led([{ os: 'ios', language: 'en' }, { os: 'ios', language: 'de' }, { os: 'ios' }])).toBe('1')
  expect(led([{ os: 'android' }, { afterS: nowS + 1 }])).toBeUndefined()
})

test('whatever is sent, it is read in a moment, and no further than its bound', () => {
  const every = { device: 'desktop', os: 'linux', language: 'de', query: { a: 'b' } } as const
  const beganMs = performance.now()
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom(1, 50), (text, times) => {
      const sent = text.repeat(times)
      for (const when of Object.entries(every)) {
        fits(Object.fromEntries([when]), { userAgent: sent, acceptLanguage: sent, query: sent })
      }
    }),
    { numRuns: 500 },
  )
  for (const bit of ['a,', ';', '"', '\\', 'a;q=', '%', '&', ' ']) {
    fits({ language: 'zz' }, { acceptLanguage: bit.repeat(1_000_000) })
    fits({ query: { a: 'b' } }, { query: bit.repeat(1_000_000) })
  }
  // What is not linear takes hours, and a busy machine some seconds.
  expect(performance.now() - beganMs).toBeLessThan(30_000)
  expect(fits({ os: 'linux' }, { userAgent: `${' '.repeat(512)}Linux` })).toBe(false)
  expect(fits({ language: 'de' }, { acceptLanguage: `${','.repeat(256)}de` })).toBe(false)
  expect(fits({ query: { a: 'b' } }, { query: `${'&'.repeat(4096)}a=b` })).toBe(false)
})
