// The way from v1 to v2 of the keys in Redis: a server that reads [2, 1] beside one that only knows v1.
import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { absent, type Code, type Link } from '../link.ts'
import { connectRedis, freshRedis } from '../../testing/services.ts'
import { keysIn } from '../redis-keys.ts'
import { createSharedCache } from './shared-cache.ts'
import { plain } from '../../testing/links.ts'

const code = 'moving' as Code
const link = (version: number): Link => ({
  code,
  id: 1,
  url: `https://example.org/${version}`,
  ...plain,
  version,
})
const stored = (version: number): string =>
  JSON.stringify({ u: `https://example.org/${version}`, p: false, t: 1, v: version, i: 1 })

it('reads the new keys first and then the old, writes values at the new and tombstones at both', async () => {
  const redis = await connectRedis(await freshRedis())
  const cache = createSharedCache(redis, keysIn('', [2, 1]), {
    linkTtlS: 3600,
    notFoundTtlS: 300,
    tombstoneS: 600,
    ttlJitter: 0.08,
  })
  const set = redis.script('qlTestSet', `redis.call('SET', KEYS[1], ARGV[1]) return 1`)
  const versionRead = async (): Promise<number | undefined> => (await cache.read([code]))[0]?.known.version
  const cursor = randomUUID()
  await cache.advance(null, cursor, [])

  await set(['ql:v1:link:moving'], [stored(3)])
  expect(await versionRead()).toBe(3)

  await cache.put({ code, known: link(4) }, cursor)
  expect(await redis.getEach(['ql:v1:link:moving'])).toEqual([null])
  expect(await versionRead()).toBe(4)

  // A server of the old kind fills its own key: the new one wins.
  await set(['ql:v1:link:moving'], [stored(3)])
  expect(await versionRead()).toBe(4)

  await cache.put({ code, known: absent(5) }, cursor)
  expect(await redis.getEach(['ql:v2:link:moving', 'ql:v1:link:moving'])).toEqual(['{"x":5}', '{"x":5}'])
  expect(await redis.pttl('ql:v1:link:moving')).toBeGreaterThan(0)
})
