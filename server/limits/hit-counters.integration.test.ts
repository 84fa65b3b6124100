// The scripts that divide an advance, on a real Redis.
import { beforeEach, describe, expect, it } from 'vitest'
import { openRedis, type RedisConnection } from '../connections/redis.ts'
import type { Code } from '../link.ts'
import { freshRedis, redisCommand, startRedisServer, waitFor } from '../testing/services.ts'
import { counterKey, createHitCounters, runKey, type HitCounters, type Terms } from './hit-counters.ts'

const ignore = (): undefined => undefined
const month = '2026-11'
const terms = (more: Partial<Terms> = {}): Terms => ({
  code: 'abc' as Code,
  linkId: 7,
  version: 5,
  limit: 1000,
  ...more,
})

async function connect(url: string): Promise<{ redis: RedisConnection; counters: HitCounters }> {
  const target = { redisUrl: url, redisSentinels: undefined, redisSentinelName: undefined, redisPassword: undefined }
  const redis = openRedis(target, { onError: ignore, onCommand: ignore })
  await waitFor(() => redis.ready)
  return { redis, counters: createHitCounters(redis, (work) => work()) }
}

let url: string
let redis: RedisConnection
let counters: HitCounters
const counter = counterKey('abc', month)
const get = async (key: string): Promise<string | null | undefined> => (await redis.getEach([key]))[0]
const fill = (units: number, more: Partial<Terms> = {}) =>
  counters.take(terms(more), month, { units, granted: units, lifeMs: 60_000 })

beforeEach(async () => {
  url = await freshRedis()
  ;({ redis, counters } = await connect(url))
  await counters.prepare()
  return () => {
    redis.close()
  }
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
    const before = await redis.pttl(counter)
    expect(before).toBeGreaterThan(50_000)
    await counters.take(terms(), month, { units: 100, granted: 200, lifeMs: 999_000 })
    await counters.giveBack(terms(), month, 1)
    expect(await redis.pttl(counter)).toBeLessThanOrEqual(before)
    expect(await redis.pttl(`${counter}:of`)).toBeLessThanOrEqual(before)
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

describe('a Redis', () => {
  it('is named by its run id, and asked for nothing before it is verified on this connection', async () => {
    expect(await get(runKey)).toBe(/run_id:(\w+)/.exec(await redis.info('server'))?.[1])
    const other = await connect(url)
    expect(await other.counters.take(terms(), month)).toBe('refused')
    await other.counters.prepare()
    expect(await other.counters.take(terms(), month)).not.toBe('refused')
    other.redis.close()
  })

  it('whose counters another server wrote loses them all before one is believed', async () => {
    await fill(100)
    const set = redis.script('testSet', `redis.call('SET', KEYS[1], ARGV[1])`)
    await set([runKey], ['somebody-else'])
    expect(await counters.take(terms(), month)).toBe('refused')
    expect(await get(counter)).toBe('97')
    await counters.prepare()
    expect(await get(counter)).toBeNull()
    expect(await counters.take(terms(), month)).toMatchObject({ units: 0 })
  })

  it('that was flushed is refused, and then starts from nothing', async () => {
    await fill(100)
    await redis.unlinkMatching('*')
    expect(await fill(100)).toBe('refused')
    await counters.prepare()
    expect(await counters.take(terms(), month)).toMatchObject({ units: 0, granted: -1 })
  })

  it('that comes back with an older snapshot does not repeat what it handed out', async () => {
    const server = await startRedisServer()
    const own = await connect(server.url)
    await own.counters.prepare()
    await own.counters.take(terms(), month, { units: 100, granted: 100, lifeMs: 600_000 })
    await redisCommand(server.url, 'SAVE')
    for (let n = 0; n < 5; n++) await own.counters.take(terms(), month)
    await server.kill()
    await server.restart()
    await waitFor(async () => own.redis.ready && (await own.redis.getEach([counter]))[0] === '97')
    expect(await own.counters.take(terms(), month)).toBe('refused')
    await own.counters.prepare()
    expect(await own.counters.take(terms(), month)).toMatchObject({ units: 0, granted: -1 })
    own.redis.close()
  })
})
