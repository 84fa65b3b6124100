import { expect, test } from 'vitest'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { authenticator, formOf, generateKey, hashKey } from './keys.ts'

function setUp() {
  const keys = new Map<string, string>()
  const clock = { nowMs: 0 }
  const asked: string[] = []
  const postgres = { isAway: false }
  const limited: unknown[] = []
  const db: Sql = {
    query: (_text, values = []) => {
      const [hash = Buffer.alloc(0)] = values[0] as Buffer[]
      asked.push(hash.toString('hex'))
      if (postgres.isAway) return Promise.reject(new Error('timeout exceeded when trying to connect'))
      const tenant = keys.get(hash.toString('hex'))
      return Promise.resolve((tenant === undefined ? [] : [{ tenant, key_hash: hash }]) as never)
    },
  }
  const give = (key: string, tenant: string): void => void keys.set(hashKey(key).toString('hex'), tenant)
  const revoke = (key: string): void => void keys.delete(hashKey(key).toString('hex'))
  const authenticateFrom = authenticator(
    db,
    () => limited.push(1),
    () => clock.nowMs,
  )
  const authenticate = (header: string | undefined, address = '192.0.2.1') => authenticateFrom(header, () => address)
  return { authenticate, clock, asked, give, revoke, postgres, limited }
}

const unauthorized = { code: 'unauthorized', extras: { headers: { 'WWW-Authenticate': 'Bearer' } } }

const mistyped = (key: string): string => key.slice(0, 9) + (key[9] === 'x' ? 'y' : 'x') + key.slice(10)

test('a key is 43 random characters and a checksum, behind a prefix that scanners for leaked secrets can know', () => {
  const key = generateKey()
  expect(key).toMatch(/^ql_[0-9A-Za-z_-]{43}[0-9A-Za-z_-]{6}$/)
  expect(generateKey()).not.toBe(key)
  expect(formOf(key)).toBe('checked')
  for (let i = 3; i < key.length; i++) {
    const wrong = key[i] === 'x' ? 'y' : 'x'
    expect(formOf(key.slice(0, i) + wrong + key.slice(i + 1))).toBe('mistyped')
  }
})

test('a valid key is its tenant; only the owner is the owner', async () => {
  const { authenticate, give } = setUp()
  give('key-1', 'acme')
  give('key-2', 'owner')
  expect(await authenticate('Bearer key-1')).toMatchObject({ tenant: 'acme', role: 'editor', isOwner: false })
  expect(await authenticate('bearer  key-2 ')).toMatchObject({ tenant: 'owner', role: 'owner', isOwner: true })
})

test('keys of all forms work: with a checksum, of an earlier version, supplied', async () => {
  const { authenticate, give } = setUp()
  for (const key of [generateKey(), `ql_${'a1-_'.repeat(11).slice(1)}`, 'k7Qz'.repeat(8)]) {
    give(key, 'acme')
    expect(await authenticate(`Bearer ${key}`)).toMatchObject({ tenant: 'acme', role: 'editor', isOwner: false })
  }
})

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic a2V5LTE=',
  'Bearer key-1 key-1',
  'key-1',
  `Bearer ${'k'.repeat(513)}`,
  `Bearer ${mistyped(generateKey())}`,
])('the header %j is 401, without a question to Postgres', async (header) => {
  const { authenticate, give, asked } = setUp()
  give('key-1', 'acme')
  for (let n = 0; n < 2 * limits.keyAttempts; n++) {
    await expect(authenticate(header)).rejects.toMatchObject(unauthorized)
  }
  expect(asked).toHaveLength(0)
})

test('a revoked key is refused within a second, and asked for once until then', async () => {
  const { authenticate, give, revoke, clock, asked } = setUp()
  give('key-1', 'acme')
  await authenticate('Bearer key-1')
  revoke('key-1')
  clock.nowMs = 400
  await authenticate('Bearer key-1')
  expect(asked).toHaveLength(1)
  clock.nowMs = 999
  await expect(authenticate('Bearer key-1')).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a key works as soon as it exists, however often it was guessed before', async () => {
  const { authenticate, give } = setUp()
  await expect(authenticate('Bearer key-1')).rejects.toMatchObject({ code: 'unauthorized' })
  give('key-1', 'acme')
  expect(await authenticate('Bearer key-1')).toMatchObject({ tenant: 'acme', role: 'editor', isOwner: false })
})

test('a thousand keys are remembered, and the oldest makes room', async () => {
  const { authenticate, give, asked } = setUp()
  for (let i = 0; i <= 1000; i++) {
    give(`key-${i}`, 'acme')
    await authenticate(`Bearer key-${i}`)
  }
  asked.length = 0
  await authenticate('Bearer key-1000')
  expect(asked).toHaveLength(0)
  await authenticate('Bearer key-0')
  expect(asked).toHaveLength(1)
})

test('a client that goes on with a revoked key is told 401, and asked for once a second', async () => {
  const { authenticate, asked, clock, limited } = setUp()
  const revoked = `Bearer ${generateKey()}`
  for (; clock.nowMs < 5000; clock.nowMs += 10) {
    await expect(authenticate(revoked)).rejects.toMatchObject({ code: 'unauthorized' })
  }
  expect(asked).toHaveLength(5)
  expect(limited).toEqual([])
})

test.each([
  ['garbage', (n: number): string => `garbage-${n}`],
  ['keys whose checksum fits', generateKey],
])('an address that tries %s is told 429 until the minute ends, without a question', async (_, guess) => {
  const { authenticate, asked, clock, limited } = setUp()
  for (let n = 0; n < limits.keyAttempts; n++) {
    await expect(authenticate(`Bearer ${guess(n)}`)).rejects.toMatchObject({ code: 'unauthorized' })
  }
  clock.nowMs = 20_500
  for (let n = 0; n < 100; n++) {
    await expect(authenticate(`Bearer ${guess(1000 + n)}`)).rejects.toMatchObject({
      code: 'rate_limited',
      extras: { retryAfterS: 40, headers: { RateLimit: '"keys";r=0;t=40' } },
    })
  }
  expect(asked).toHaveLength(limits.keyAttempts)
  expect(limited).toHaveLength(100)
  await expect(authenticate(`Bearer ${guess(5000)}`, '192.0.2.2')).rejects.toMatchObject({ code: 'unauthorized' })
  clock.nowMs = 60_000
  await expect(authenticate(`Bearer ${guess(6000)}`)).rejects.toMatchObject({ code: 'unauthorized' })
})

test('beside a guesser on the same address, keys that have worked go on, and so does a new one', async () => {
  const { authenticate, give, clock } = setUp()
  const [old, fresh] = ['of-an-earlier-version-of-some-length', generateKey()]
  give(old, 'acme')
  give(fresh, 'fresh')
  await authenticate(`Bearer ${old}`)
  for (; clock.nowMs < 30_000; clock.nowMs += 100) {
    await authenticate(`Bearer garbage-${clock.nowMs}`).catch(() => undefined)
    expect(await authenticate(`Bearer ${old}`)).toMatchObject({ tenant: 'acme' })
  }
  expect(await authenticate(`Bearer ${fresh}`)).toMatchObject({ tenant: 'fresh' })
  // Somebody who makes checksums takes that from keys that are new here; those that have worked still go on.
  for (let n = 0; n < 100; n++) await authenticate(`Bearer ${generateKey()}`).catch(() => undefined)
  clock.nowMs += 5000
  expect(await authenticate(`Bearer ${fresh}`)).toMatchObject({ tenant: 'fresh' })
})

test('many guesses at once are no more than those of a minute', async () => {
  const { authenticate, asked } = setUp()
  const all = Array.from({ length: 500 }, (_, n) => authenticate(`Bearer garbage-${n}`).catch(() => undefined))
  await Promise.all(all)
  expect(asked).toHaveLength(limits.keyAttempts)
})

test('many requests that begin with one new key are one question, and none of them is taken for a guess', async () => {
  const { authenticate, asked, give } = setUp()
  const key = generateKey()
  give(key, 'acme')
  const all = await Promise.all(Array.from({ length: 200 }, () => authenticate(`Bearer ${key}`)))
  expect(all.every(({ tenant }) => tenant === 'acme')).toBe(true)
  expect(asked).toHaveLength(1)
})

test('while Postgres cannot say, nobody has guessed wrongly', async () => {
  const { authenticate, give, postgres } = setUp()
  give('key-1', 'acme')
  postgres.isAway = true
  for (let n = 0; n < 3 * limits.keyAttempts; n++) {
    await expect(authenticate('Bearer key-1')).rejects.toThrow('timeout exceeded')
  }
  postgres.isAway = false
  expect(await authenticate('Bearer key-1')).toMatchObject({ tenant: 'acme' })
})
