// The model test trusts that its script and the Lua one do the same. Here both get the same random writes.
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { search, searches } from '../../testing/search.ts'
import { connectRedis, freshRedis, waitFor } from '../../testing/services.ts'
import { absent, isLink, type Code, type Known, type Special } from '../link.ts'
import { setIfNotOlder, type Keys } from './model/redis-model.ts'
import { singleKeys } from '../redis-keys.ts'
import { decode } from './schema.ts'
import { createSharedCache } from './shared-cache.ts'
import { plain } from '../../testing/links.ts'

const lifetimes = { linkTtlS: 3600, notFoundTtlS: 300, tombstoneS: 600, ttlJitter: 0.08 }
const codes = ['one', 'two'] as Code[]

const redis = await connectRedis(await freshRedis())
const cache = createSharedCache(redis, singleKeys, lifetimes)

const known = fc
  .record({
    version: fc.integer({ min: 0, max: 6 }),
    live: fc.boolean(),
    special: fc.constantFrom<Special | undefined>(undefined, 'password', [
      { when: {}, url: 'https://example.org/rule' },
    ]),
  })
  .map(({ version, live, special }): Known =>
    live && version > 0
      ? {
          code: '' as Code,
          id: 7,
          url: special === 'password' ? '' : `https://example.org/${version}`,
          ...plain,
          version,
          ...(special === undefined ? {} : { special }),
        }
      : absent(version),
  )
const entry = fc.record({ code: fc.constantFrom(...codes), known }).map(({ code, known }) => ({
  code,
  known: isLink(known) ? { ...known, code } : known,
}))
const write = fc.record({
  how: fc.constantFrom('put' as const, 'amend' as const),
  fromSeen: fc.boolean(),
  move: fc.boolean(),
  entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
})

function expectWithin(value: number, min: number, max: number): void {
  expect(value).toBeGreaterThanOrEqual(min)
  expect(value).toBeLessThanOrEqual(max)
}

async function stateOfRedis(): Promise<Keys> {
  const values = await redis.getEach([
    singleKeys.cursor,
    ...codes.flatMap((code) => [singleKeys.link(code), singleKeys.hint(code)]),
  ])
  const state: Keys = { cursor: values[0] ?? null, links: new Map(), hints: new Set() }
  codes.forEach((code, i) => {
    const value = values[1 + 2 * i]
    const held = value == null ? undefined : decode(code, value)
    if (held) state.links.set(code, held.known)
    if (values[2 + 2 * i] != null) state.hints.add(code)
  })
  return state
}

it('writes what the model writes: never over a newer version, never after the cursor has moved', searches, async () => {
  await search(
    'the one script',
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
      await redis.unlink([
        singleKeys.cursor,
        ...codes.flatMap((code) => [singleKeys.link(code), singleKeys.hint(code)]),
      ])
      const model: Keys = { cursor: null, links: new Map(), hints: new Set() }
      for (const { how, fromSeen, move, entries } of writes) {
        const from = fromSeen ? model.cursor : randomUUID()
        const to = how === 'amend' && move ? randomUUID() : null
        const [first] = entries
        if (!first) continue
        if (how === 'put') {
          // A reader that has seen no cursor does not write at all.
          if (from === null) continue
          expect(await cache.put(first, from)).toBe(setIfNotOlder(model, 'put', from, null, [first]))
        } else {
          const moved = to ?? from ?? randomUUID()
          const expected = setIfNotOlder(model, 'amend', from, moved, entries)
          expect(await cache.advance(from, moved, entries)).toBe(expected)
        }
        expect(await stateOfRedis()).toEqual(model)
      }
    }),
    200,
  )
})

it('forgets all that is held of many codes, in one step with the cursor', async () => {
  const [one, two] = codes as [Code, Code]
  const many = [one, ...Array.from({ length: 1500 }, (_, n) => `other-${n}` as Code), two]
  await redis.unlink([singleKeys.cursor, ...codes.flatMap((code) => [singleKeys.link(code), singleKeys.hint(code)])])
  await cache.advance(null, 'first', [])
  await cache.put({ code: one, known: absent(4) }, 'first')
  await cache.put({ code: two, known: absent(0) }, 'first')
  const before = await stateOfRedis()
  expect([before.links.size, before.hints.size]).toEqual([1, 1])
  expect(await cache.advance('another', 'second', [], many)).toBe('moved')
  expect(await stateOfRedis()).toEqual(before)
  expect(await cache.advance('first', 'second', [], many)).toBe('written')
  expect(await stateOfRedis()).toEqual({ cursor: 'second', links: new Map(), hints: new Set() })
})

it('gives every key a life, and the cursor none', async () => {
  await redis.unlink([singleKeys.cursor, ...codes.flatMap((code) => [singleKeys.link(code), singleKeys.hint(code)])])
  const cursor = randomUUID()
  await cache.advance(null, cursor, [])
  const [one, two] = codes as [Code, Code]
  const soonS = Math.floor(Date.now() / 1000) + 60
  const url = 'https://example.org/'
  const plain = { permanent: true, startsAtS: null, expiredUrl: null, forwardQuery: false, monthlyHits: null }
  const link = { ...plain, code: one, id: 1, url, version: 3 }
  await cache.put({ code: one, known: { ...link, expiresAtS: null } }, cursor)
  expectWithin(await redis.pttl(singleKeys.link(one)), 3600_000 * 0.92 - 2000, 3600_000 * 1.08)
  await cache.put({ code: one, known: { ...link, expiresAtS: soonS } }, cursor)
  expectWithin(await redis.pttl(singleKeys.link(one)), 50_000, 60_000)
  await cache.put({ code: one, known: { ...link, expiresAtS: soonS - 120 } }, cursor)
  expect((await redis.getEach([singleKeys.link(one)]))[0]).toBeNull()
  // It leads somewhere after its end, so it is remembered like any link.
  await cache.put({ code: one, known: { ...link, expiresAtS: soonS - 120, expiredUrl: url } }, cursor)
  expectWithin(await redis.pttl(singleKeys.link(one)), 3600_000 * 0.92 - 2000, 3600_000 * 1.08)
  await cache.put({ code: one, known: absent(4) }, cursor)
  expectWithin(await redis.pttl(singleKeys.link(one)), 595_000, 600_000)
  expect((await redis.getEach([singleKeys.link(one)]))[0]).toBe('{"x":4}')
  await cache.put({ code: two, known: absent(0) }, cursor)
  expect((await redis.getEach([singleKeys.hint(two)]))[0]).toBe('1')
  expectWithin(await redis.pttl(singleKeys.hint(two)), 300_000 * 0.92 - 2000, 300_000 * 1.08)
  expect(await redis.pttl(singleKeys.cursor)).toBe(-1)
})

it('deletes a 404 hint that stands beside a link, and answers the link', async () => {
  await redis.unlink([singleKeys.cursor, ...codes.flatMap((code) => [singleKeys.link(code), singleKeys.hint(code)])])
  const cursor = randomUUID()
  await cache.advance(null, cursor, [])
  const [one] = codes as [Code]
  await cache.put({ code: one, known: absent(0) }, cursor)
  const set = redis.script('qlTestSet', `redis.call('SET', KEYS[1], ARGV[1]) return 1`)
  await set([singleKeys.link(one)], ['{"u":"https://example.org/x","p":false,"t":1,"v":9,"i":1}'])
  const [held] = await cache.read([one])
  expect(held?.known.version).toBe(9)
  await waitFor(async () => (await redis.getEach([singleKeys.hint(one)]))[0] === null, { deadlineMs: 5000 })
})
