import { STATUS_CODES } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createCounter } from '../clicks/counter.ts'
import { Vouching } from '../coherence/vouching.ts'
import { absent, type Code, type Known, type Link } from '../link.ts'
import { createDateHeader, prepareCopy, preparedFor, wireOf, type Prepared } from './prepared.ts'
import { sampling } from '../visits/ring.ts'
import { createResolver } from './resolve.ts'
import { copyOf, createTier1 } from './tier1-local.ts'
import { noTier2 } from './tier2-redis.ts'
import { plain } from '../../testing/links.ts'

const code = 'abc1234' as Code
const link = (changes: Partial<Link> = {}): Link => ({
  code,
  id: 7,
  url: 'https://example.com/',
  ...plain,
  version: 1,
  ...changes,
})
const clicks = { tally: (linkId: number) => ({ n: 0, ...sampling(linkId) }) }
const hits = { leaseOf: () => undefined }

describe('a prepared answer', () => {
  it('is put together anew only when the date has changed', () => {
    const prepared = prepareCopy(copyOf(link({ permanent: true })), clicks, hits)!
    const first = wireOf(prepared, 'Tue, 18 Nov 2025 12:00:00 GMT')
    expect(first).toContain(`HTTP/1.1 301 ${STATUS_CODES[301] ?? ''}\r\n`)
    expect(wireOf(prepared, 'Tue, 18 Nov 2025 12:00:00 GMT')).toBe(first)
    expect(wireOf(prepared, 'Tue, 18 Nov 2025 12:00:01 GMT')).toBe(first.replace(':00 GMT', ':01 GMT'))
  })

  it('of a rule is made once, and anew only for a visitor whose query goes along', () => {
    const special = [{ when: { os: 'ios' as const }, url: 'https://example.com/ios' }]
    const iphone = {
      accept: undefined,
      acceptLanguage: undefined,
      userAgent: 'iPhone',
      query: undefined as string | undefined,
    }
    const from = (changes: Partial<Link>) => prepareCopy(copyOf(link({ special, ...changes })), clicks, hits)!
    const led = (prepared: Prepared, visitor = iphone) => preparedFor(prepared, visitor, Date.now)
    const plain = from({})
    expect(led(plain)).toMatchObject({
      rule: 1,
      fields: expect.arrayContaining(['https://example.com/ios']) as unknown,
    })
    expect(led(plain)).toBe(led(plain))
    expect(led(plain, { ...iphone, userAgent: 'Linux' })).toMatchObject({ rule: 0, fields: plain.fields })
    const forwarding = from({ forwardQuery: true })
    const asks = (query: string) => led(forwarding, { ...iphone, query })
    expect(asks('a=1')).toMatchObject({ fields: expect.arrayContaining(['https://example.com/ios?a=1']) as unknown })
    expect(asks('a=2')).toMatchObject({ fields: expect.arrayContaining(['https://example.com/ios?a=2']) as unknown })
    expect(led(forwarding)).toMatchObject({ fields: expect.arrayContaining(['https://example.com/ios']) as unknown })
  })

  it('does not exist for what is no redirect, or no header', () => {
    expect(prepareCopy(copyOf(absent(1)), clicks, hits)).toBeUndefined()
    for (const url of ['https://a/\r\nX: y', 'https://a/ b', 'https://a/é', 'https://a/\0', '']) {
      expect(prepareCopy(copyOf(link({ url })), clicks, hits)).toBeUndefined()
    }
  })

  it('has a date that is never more than a second old', () => {
    const date = createDateHeader()
    const nowMs = performance.now()
    expect(Math.abs(Date.parse(date(nowMs)) - Date.now())).toBeLessThanOrEqual(1000)
    const later = new Set([0, 100, 1000].map((aheadMs) => date(nowMs + aheadMs)))
    expect(later.size).toBeLessThanOrEqual(2)
  })
})

describe('clicks of prepared answers', () => {
  it('are all counted, also those of a copy that is gone, and of two copies of one link', () => {
    const counter = createCounter({ maxLinks: 3, nowMs: () => 0 })
    for (let copy = 0; copy < 10; copy++) {
      const tally = counter.tally(7)
      for (let i = 0; i < 5; i++) counter.hit(tally)
    }
    expect(counter.pending).toBe(50)
    expect(counter.drain().rows).toEqual([[7, 50, 0]])
    expect(counter.pending).toBe(0)
  })
})

describe('a hot link whose copy has come to its end', () => {
  function start(first: Known = link()) {
    let nowMs = 1000
    let truth: PromiseWithResolvers<Known | 'unknown'> = Promise.withResolvers()
    let asked = 0
    const vouching = new Vouching(800)
    const lives = { freshMs: 100, graceMs: 50, staleMaxMs: 1e9, trustMs: 800 }
    const tier1 = createTier1({ max: 9, ...lives, vouching, nowMs: () => nowMs })
    const tier3 = {
      get: () => {
        asked++
        truth = Promise.withResolvers()
        return truth.promise
      },
    }
    const nothing = (): void => undefined
    const told = { askEveryMs: 1000, askMostMs: 1000, random: () => 0, onFlight: nothing, onSaved: nothing }
    const resolver = createResolver({ tier1, tier2: noTier2, tier3, vouching, nowMs: () => nowMs, ...told })
    tier1.learn(code, first, false)
    return {
      tier1,
      urlAt(ms: number): string | undefined {
        nowMs = 1000 + ms
        const known = resolver.local(code)?.known
        if (known === undefined) void resolver.ask(code)
        return known && 'url' in known ? known.url : known && 'absent'
      },
      arrives: async (known: Known | 'unknown') => {
        truth.resolve(known)
        await new Promise((resolve) => setImmediate(resolve))
      },
      asked: () => asked,
    }
  }

  it('lets one request ask, answers the others by the old copy meanwhile, and all by the new one after', async () => {
    const hot = start()
    expect(hot.urlAt(99)).toBe(link().url)
    expect(hot.asked()).toBe(0)
    expect(hot.urlAt(100)).toBeUndefined()
    expect(hot.urlAt(101)).toBe(link().url)
    expect(hot.urlAt(140)).toBe(link().url)
    await new Promise((resolve) => setImmediate(resolve))
    expect(hot.asked()).toBe(1)
    await hot.arrives(link({ url: 'https://new.example/', version: 2 }))
    expect(hot.urlAt(141)).toBe('https://new.example/')
    expect(hot.asked()).toBe(1)
  })

  it('is not answered by it for longer than the grace, nor after news', () => {
    const slow = start()
    expect(slow.urlAt(100)).toBeUndefined()
    expect(slow.urlAt(149)).toBe(link().url)
    expect(slow.urlAt(150)).toBeUndefined()
    const expired = start()
    expired.tier1.expire(code)
    expect(expired.urlAt(1)).toBeUndefined()
    expect(expired.urlAt(2)).toBeUndefined()
    const changed = start()
    expect(changed.urlAt(100)).toBeUndefined()
    changed.tier1.amend(code, absent(2))
    expect(changed.urlAt(101)).toBe('absent')
  })

  it('gives no grace to an absence: a link that was just created would be late', () => {
    const gone = start(absent(0))
    expect(gone.urlAt(99)).toBe('absent')
    expect(gone.urlAt(100)).toBeUndefined()
    expect(gone.urlAt(101)).toBeUndefined()
  })
})
