// The scripts that divide an advance, on a real Redis.
import { beforeEach, describe, expect, it } from 'vitest'
import type { RedisConnection } from '../connections/redis.ts'
import type { Code } from '../link.ts'
import { singleKeys } from '../redis-keys.ts'
import { connectRedis, freshRedis, saveRedis, startRedisServer, waitFor } from '../../testing/services.ts'
import { createHitCounters, type HitCounters, type HitTerms } from './hit-counters.ts'

const month = '2026-11'
const terms = (more: Partial<HitTerms> = {}): HitTerms => ({
  code: 'abc' as Code,
  linkId: 7,
  version: 5,
  limit: 1000,
  ...more,
})

async function connect(url: string): Promise<{ redis: RedisConnection; counters: HitCounters }> {
  const redis = await connectRedis(url)
  return { redis, counters: createHitCounters(redis, singleKeys, (work) => work()) }
}

let url: string
let redis: RedisConnection
let counters: HitCounters
const [counter] = singleKeys.hits('abc', month)
const get = async (key: string): Promise<string | null | undefined> => (await redis.getEach([key]))[0]
const fill = (units: number, more: Partial<HitTerms> = {}) =>
  counters.take(terms(more), month, { units, granted: units, lifeMs: 60_000 })

beforeEach(async () => {
  url = await freshRedis()
  ;({ redis, counters } = await connect(url))
  await counters.prepare()
})

describe('a counter', () => {
  it('is nothing until Postgres has granted, and then gives a 32nd of what is left, from 1 to 100', async () => {
    expect(await counters.take(terms(), month)).toEqual({ units: 0, granted: -1, surplus: 0 })
    expect(await fill(1000)).toEqual({ units: 31, granted: 1000, surplus: 0 })
    expect(await counters.take(terms(), month)).toMatchObject({ units: 30 })
    expect(await get(counter)).toBe('939')
    await fill(9000)
    expect(await counters.take(terms(), month)).toMatchObject({ units: 100 })
    const few = terms({ code: 'few' as Code })
    await counters.take(few, month, { units: 2, granted: 2, lifeMs: 60_000 })
    expect(await counters.take(few, month)).toMatchObject({ units: 1 })
    expect(await counters.take(few, month)).toMatchObject({ units: 0, granted: 2 })
  })

  it('gets its life when it is created, and no other later', async () => {
    await fill(100)
    // Each by its own: the script gives them their lives one after the other.
    const lives = (): Promise<number[]> => Promise.all([redis.pttl(counter), redis.pttl(`${counter}:of`)])
    const before = await lives()
    expect(Math.min(...before)).toBeGreaterThan(50_000)
    await counters.take(terms(), month, { units: 100, granted: 200, lifeMs: 999_000 })
    await counters.giveBack(terms(), month, 1)
    for (const [n, life] of (await lives()).entries()) expect(life).toBeLessThanOrEqual(before[n] as number)
  })

  it('takes back what it gave, and only under the same terms', async () => {
    await fill(100)
    expect(await counters.giveBack(terms(), month, 3)).toBe(true)
    expect(await get(counter)).toBe('100')
    expect(await counters.giveBack(terms({ linkId: 8 }), month, 3)).toBe(false)
    expect(await counters.giveBack(terms({ limit: 999 }), month, 3)).toBe(false)
    expect(await counters.giveBack(terms(), '2026-12', 3)).toBe(false)
    expect(await get(counter)).toBe('100')
  })

  it('of a predecessor is worth nothing to a link of the same code', async () => {
    await fill(100)
    expect(await counters.take(terms({ linkId: 8, version: 9 }), month)).toMatchObject({
      units: 0,
      granted: -1,
      surplus: 0,
    })
    expect(await get(counter)).toBeNull()
  })

  it('ends with its limit, and what was left goes back; an older asker brings nothing back', async () => {
    await fill(100)
    expect(await counters.take(terms({ limit: 500, version: 6 }), month)).toEqual({
      units: 0,
      granted: -1,
      surplus: 97,
    })
    await fill(50, { limit: 500, version: 6 })
    expect(await counters.take(terms(), month)).toMatchObject({ units: 1, surplus: 0 })
    expect(await get(counter)).toBe('48')
  })

  it('that has lost its half is worth nothing', async () => {
    await fill(100)
    await redis.unlink([`${counter}:of`])
    expect(await counters.take(terms(), month)).toMatchObject({ units: 0, granted: -1 })
    expect(await fill(10)).toMatchObject({ units: 1, granted: 10 })
    expect(await get(counter)).toBe('9')
  })
})

const scans = (stats: string): string | undefined => /cmdstat_scan:calls=(\d+)/.exec(stats)?.[1]

describe('a Redis', () => {
  it('is asked for nothing before it is known who it is, on this connection', async () => {
    const other = await connect(url)
    expect(await other.counters.take(terms(), month)).toBe('refused')
    await other.counters.prepare()
    expect(await other.counters.take(terms(), month)).not.toBe('refused')
  })

  it.each(['run', 'owner'])(
    'whose counter another server made (%s) believes none of it, and is not scanned',
    async (field) => {
      await fill(100)
      const before = scans(await redis.info('commandstats'))
      const set = redis.script('testSet', `redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])`)
      await set([`${counter}:of`], [field, field === 'run' ? 'another-run' : '7:another-replication'])
      expect(await counters.left('abc' as Code, 7, month)).toBe(0)
      expect(await counters.giveBack(terms(), month, 3)).toBe(false)
      expect(await counters.take(terms(), month)).toEqual({ units: 0, granted: -1, surplus: 0 })
      expect(await get(counter)).toBeNull()
      expect(await fill(100)).toMatchObject({ units: 3 })
      expect(scans(await redis.info('commandstats'))).toBe(before)
    },
  )

  it('that was flushed starts from nothing', async () => {
    await fill(100)
    await redis.unlinkMatching('*')
    expect(await counters.take(terms(), month)).toEqual({ units: 0, granted: -1, surplus: 0 })
    expect(await fill(100)).toMatchObject({ units: 3, granted: 100 })
  })

  it('that holds something else under the counter’s names has no counter there', async () => {
    const set = redis.script('testList', `redis.call('DEL', KEYS[1]) redis.call('LPUSH', KEYS[1], 'a')`)
    for (const key of [counter, `${counter}:of`]) {
      await fill(100)
      await set([key], [])
      expect(await counters.giveBack(terms(), month, 3)).toBe(false)
      expect(await counters.take(terms(), month)).toEqual({ units: 0, granted: -1, surplus: 0 })
      expect(await fill(100)).toMatchObject({ units: 3 })
      await redis.unlink([counter, `${counter}:of`])
    }
  })

  it('lets an older version of QuickLink spend of the same counter, and no unit twice', async () => {
    // What the version before looked at: the run in a key of its own, and of the counter only the owner.
    const [server, replication] = await Promise.all([redis.info('server'), redis.info('replication')])
    const owner = `7:${/master_replid:(\w+)/.exec(replication)?.[1]}`
    const older = redis.script(
      'testOlder',
      `
      if redis.call('HGET', KEYS[2], 'owner') ~= ARGV[1] then return -1 end
      return redis.call('DECRBY', KEYS[1], 5)`,
    )
    expect(/run_id:\w+/.test(server)).toBe(true)
    await fill(100)
    expect(await older([counter, `${counter}:of`], [owner])).toBe(92)
    expect(await counters.take(terms(), month)).toMatchObject({ units: 2 })
    expect(await get(counter)).toBe('90')
  })

  it('that comes back with an older snapshot does not repeat what it handed out', async () => {
    const server = await startRedisServer()
    const own = await connect(server.url)
    await own.counters.prepare()
    await own.counters.take(terms(), month, { units: 100, granted: 100, lifeMs: 600_000 })
    await saveRedis(server.url)
    for (let n = 0; n < 5; n++) await own.counters.take(terms(), month)
    await server.kill()
    await server.restart()
    await waitFor(async () => own.redis.ready && (await own.redis.getEach([counter]))[0] === '97')
    await waitFor(async () => (await own.counters.take(terms(), month)) === 'refused')
    await own.counters.prepare()
    expect(await own.counters.take(terms(), month)).toMatchObject({ units: 0, granted: -1 })
  })
})
