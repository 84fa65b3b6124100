// One suite for every way to count, and what happens at a window's edge and when Redis dies.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { Breaker } from '../connections/breaker.ts'
import { freshRedis, connectRedis, proxied } from '../../testing/services.ts'
import { askRedis } from '../connections/ask-redis.ts'
import { singleKeys } from '../redis-keys.ts'
import { countersBy, countInMemory, countInRedis, insured, type Count, type Counters } from './counters.ts'
import { createCounterDesk, PrimaryCounters } from './primary-counters.ts'
import { createRateLimit, type RateLimit } from './rate-limit.ts'
import { defaultTiers } from '../tenants/tiers.ts'

const ignore = (): void => undefined

const through = await proxied(await freshRedis())
const proxy = through.proxy
const redis = await connectRedis(through.url)
const breaker = new Breaker({ failures: 5, windowMs: 10_000, openMs: 300 })
afterAll(() => {
  breaker.shutdown()
  redis.close()
})

/** Across a channel that copies, as between two processes. */
function throughPrimary(windowS: number): Count {
  const desk = createCounterDesk({ rates: countInMemory(windowS), guesses: countInMemory(windowS) })
  const worker = new PrimaryCounters(
    (question) => {
      void desk(structuredClone(question)).then((answer) => worker.heard(structuredClone(answer)))
    },
    100,
    'rates',
  )
  return worker
}

const stores: [string, (windowS: number) => Count | Promise<Count>][] = [
  ['memory', countInMemory],
  ['the primary process', throughPrimary],
  [
    'Redis',
    async (windowS) => {
      await redis.unlinkMatching('ql:v1:creates:*')
      return countInRedis(redis, singleKeys, askRedis(redis, breaker, 500), windowS)
    },
  ],
]

const inMemory = (): Counters => countersBy(countInMemory(3600))
const rateLimit = (counters: Counters, aggregatePerHour = 2000): RateLimit =>
  createRateLimit({ counters, tiers: defaultTiers, aggregatePerHour, onRefused: ignore })
const acme = { id: 'acme', tier: 'standard' } as const
const other = { id: 'other', tier: 'standard' } as const
const plus = { id: 'bigger', tier: 'plus' } as const
const owner = { id: 'owner', tier: 'unlimited' } as const

const takeMany = async (limit: RateLimit, tenant: Parameters<RateLimit['tryAcquire']>[0], n: number): Promise<number> =>
  (await Promise.all(Array.from({ length: n }, () => limit.tryAcquire(tenant)))).filter(({ granted }) => granted).length

describe.each(stores)('counted in %s', (_name, open) => {
  test('standard creates 50 in an hour, plus 200, the owner any number', async () => {
    const limit = rateLimit(countersBy(await open(3600)))
    expect(await takeMany(limit, acme, 60)).toBe(50)
    expect(await takeMany(limit, plus, 210)).toBe(200)
    expect(await takeMany(limit, owner, 500)).toBe(500)
    expect(await limit.tryAcquire(acme)).toMatchObject({
      granted: false,
      by: 'tenant',
      window: { limit: 50, remaining: 0 },
    })
  })

  test('all standard tenants together have a limit; what it refuses costs the tenant nothing, and plus is not in it', async () => {
    const limit = rateLimit(countersBy(await open(3600)), 60)
    expect(await takeMany(limit, acme, 50)).toBe(50)
    expect(await takeMany(limit, other, 30)).toBe(10)
    expect(await limit.tryAcquire(other)).toMatchObject({
      granted: false,
      by: 'aggregate',
      window: { limit: 60, used: 60 },
    })
    expect(await limit.getStatus(other)).toMatchObject({
      creates: { limit: 50, used: 10, remaining: 40 },
      aggregate: { limit: 60, used: 60, remaining: 0 },
    })
    expect(await takeMany(limit, plus, 100)).toBe(100)
    expect((await limit.getStatus(plus)).aggregate).toBeNull()
    const none = { creates: null, failedCreates: null, changes: null, aggregate: null }
    expect(await limit.getStatus(owner)).toEqual(none)
  })

  test('a unit given back is free again, for the tenant and in the aggregate, and only once', async () => {
    const limit = rateLimit(countersBy(await open(3600)), 50)
    const first = await limit.tryAcquire(acme)
    expect(await takeMany(limit, acme, 49)).toBe(49)
    if (!first.granted) throw new Error('refused')
    await first.giveBack()
    await first.giveBack()
    expect(await takeMany(limit, acme, 5)).toBe(1)
  })

  test('what is refused is not counted, and status asks without taking', async () => {
    const limit = rateLimit(countersBy(await open(3600)))
    expect((await limit.getStatus(acme)).creates).toMatchObject({ used: 0, remaining: 50 })
    await takeMany(limit, acme, 80)
    const { creates } = await limit.getStatus(acme)
    expect(creates).toMatchObject({ used: 50, remaining: 0 })
    expect(creates?.resetsAt.getTime()).toBeGreaterThan(Date.now() + 3_590_000)
    expect(creates?.resetsAt.getTime()).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })

  test('as many creates that fail are free as may succeed; then each costs a create, and of all tenants together none does', async () => {
    const limit = rateLimit(countersBy(await open(3600)), 60)
    const fail = async (): Promise<boolean> => {
      const unit = await limit.tryAcquire(acme)
      if (unit.granted) await unit.failed()
      return unit.granted
    }
    for (let n = 0; n < 50; n++) expect(await fail()).toBe(true)
    expect(await limit.getStatus(acme)).toMatchObject({ creates: { used: 0 }, failedCreates: { limit: 50, used: 50 } })
    for (let n = 0; n < 50; n++) expect(await fail()).toBe(true)
    expect(await fail()).toBe(false)
    expect(await limit.getStatus(acme)).toMatchObject({ creates: { used: 50 }, aggregate: { used: 0 } })
    expect(await takeMany(limit, other, 60)).toBe(50)
  })

  test('a standard tenant changes 600 times in an hour, plus 6,000, the owner any number; failing is no way around', async () => {
    const limit = rateLimit(countersBy(await open(3600)))
    const change = async (tenant: typeof acme | typeof plus | typeof owner): Promise<boolean> => {
      const unit = await limit.tryChange(tenant)
      if (unit.granted) await unit.failed()
      return unit.granted
    }
    const many = async (tenant: typeof acme | typeof plus | typeof owner, n: number): Promise<number> =>
      (await Promise.all(Array.from({ length: n }, () => change(tenant)))).filter(Boolean).length
    expect(await many(acme, 620)).toBe(600)
    expect(await many(owner, 700)).toBe(700)
    const ofPlus = await limit.tryChange(plus)
    expect((await limit.getStatus(plus)).changes).toMatchObject({ limit: 6000, used: 1, remaining: 5999 })
    if (ofPlus.granted) await ofPlus.giveBack()
    expect((await limit.getStatus(plus)).changes).toMatchObject({ used: 0 })
    // Creates are another budget.
    expect(await takeMany(limit, acme, 1)).toBe(1)
  })

  test('at the edge of two windows fewer than twice the limit pass, and a late return takes nothing off the next', async () => {
    const limit = rateLimit(countersBy(await open(1)))
    for (let n = 0; ; n++) {
      const tenant = { ...acme, id: `edge-${n}` }
      const openedMs = performance.now()
      const first = await limit.tryAcquire(tenant)
      await pause(700)
      const beganMs = performance.now()
      const late = await takeMany(limit, tenant, 100)
      const lateMs = performance.now() - openedMs
      await pause(350)
      if (first.granted) await first.giveBack()
      const early = await takeMany(limit, tenant, 100)
      // Otherwise the machine was so busy that this was another window, or a third one: once more.
      if (lateMs > 1000 || performance.now() - beganMs > 1000) continue
      expect([late, early]).toEqual([49, 50])
      break
    }
  })
})

test('a primary process that does not answer is waited for as long as was said', async () => {
  const deaf = new PrimaryCounters(ignore, 30, 'rates')
  await expect(deaf.take([], 1)).rejects.toThrow('30 ms')
  const limit = rateLimit(insured(countersBy(deaf), inMemory()))
  expect(await takeMany(limit, acme, 60)).toBe(50)
})

test('a Redis that does not say what it counted is as good as none', async () => {
  for (const reply of [null, 'OK', [1], [1, 'many', 3600], [1, 2, null]]) {
    const senseless = countInRedis({ script: () => () => Promise.resolve(reply) }, singleKeys, (work) => work(), 3600)
    await expect(senseless.take([{ key: 'x', limit: 1 }], 1)).rejects.toThrow('does not say')
    await expect(senseless.read('x')).rejects.toThrow('does not say')
    expect(await takeMany(rateLimit(insured(countersBy(senseless), inMemory())), acme, 60)).toBe(50)
  }
})

describe('Redis dies', () => {
  // So long that the machine's own pauses are none beside it.
  const patienceMs = 1000
  test.each(['refuse', 'blackHole'] as const)('(%s) memory counts on, and nobody waits long', async (fault) => {
    await redis.unlinkMatching('ql:v1:creates:*')
    const ask = askRedis(redis, breaker, patienceMs)
    const limit = rateLimit(insured(countersBy(countInRedis(redis, singleKeys, ask, 3600)), inMemory()))
    expect(await takeMany(limit, acme, 30)).toBe(30)
    await proxy[fault]()
    const beganMs = performance.now()
    const again = await limit.tryAcquire(acme)
    // One deadline, not one per counter.
    expect(performance.now() - beganMs).toBeLessThan(1.8 * patienceMs)
    expect(again.granted).toBe(true)
    expect(await takeMany(limit, acme, 100)).toBe(49)
    await proxy.pass()
    // What was taken before is still counted there.
    await vi.waitFor(async () => expect((await limit.getStatus(acme)).creates?.used).toBeLessThan(50), {
      timeout: 20_000,
      interval: 50,
    })
    expect((await limit.getStatus(acme)).creates?.used).toBeGreaterThanOrEqual(30)
  })
})
