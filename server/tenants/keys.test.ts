import { expect, test } from 'vitest'
import type { Sql } from '../connections/postgres.ts'
import { authenticator, generateKey, hashKey } from './keys.ts'

function setUp() {
  const keys = new Map<string, string>()
  const clock = { nowMs: 0 }
  const asked: string[] = []
  const db: Sql = {
    query: (_text, values = []) => {
      const hash = values[0] as Buffer
      asked.push(hash.toString('hex'))
      const tenant = keys.get(hash.toString('hex'))
      return Promise.resolve((tenant === undefined ? [] : [{ tenant, key_hash: hash }]) as never)
    },
  }
  const give = (key: string, tenant: string): void => void keys.set(hashKey(key).toString('hex'), tenant)
  const revoke = (key: string): void => void keys.delete(hashKey(key).toString('hex'))
  return { authenticate: authenticator(db, () => clock.nowMs), clock, asked, give, revoke }
}

test('a key is 43 random characters behind a prefix that scanners for leaked secrets can know', () => {
  expect(generateKey()).toMatch(/^ql_[0-9A-Za-z_-]{43}$/)
  expect(generateKey()).not.toBe(generateKey())
})

test('a valid key is its tenant; only the owner is the owner', async () => {
  const { authenticate, give } = setUp()
  give('key-1', 'acme')
  give('key-2', 'owner')
  expect(await authenticate('Bearer key-1')).toEqual({ tenant: 'acme', isOwner: false })
  expect(await authenticate('bearer  key-2 ')).toEqual({ tenant: 'owner', isOwner: true })
})

test.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Basic a2V5LTE=',
  'Bearer wrong',
  'Bearer key-1 key-1',
  'key-1',
  `Bearer ${'k'.repeat(513)}`,
])('the header %j is 401, after the same question to Postgres as a wrong key', async (header) => {
  const { authenticate, give, asked } = setUp()
  give('key-1', 'acme')
  await expect(authenticate(header)).rejects.toMatchObject({
    code: 'unauthorized',
    extras: { headers: { 'WWW-Authenticate': 'Bearer' } },
  })
  expect(asked).toHaveLength(1)
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
  expect(await authenticate('Bearer key-1')).toEqual({ tenant: 'acme', isOwner: false })
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
