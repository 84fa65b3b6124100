// What is told of links that are asked for often, and what becomes of it.
import { expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { freshDatabase, redisCommand, startRedisServer, waitFor } from '../../testing/services.ts'

const isTrusted = async (app: TestApp): Promise<boolean> => (await app.metric('quicklink_trust_age_seconds')) < 0.5
const patience = { deadlineMs: 25_000, everyMs: 100 }

it('hot links are known in Redis, live by the matrix, and are back before they are asked for when Redis was emptied', async () => {
  const redis = await startRedisServer()
  const app = await startTestApp({
    databaseUrl: await freshDatabase(),
    redisUrl: redis.url,
    env: { DYNAMIC_TTL: 'on', TTL_JITTER: '0' },
  })
  const ask = async (command: string): Promise<string> => (await redisCommand(redis.url, command)) ?? ''
  await waitFor(() => isTrusted(app))
  const code = await app.create('https://example.org/hot', { expiresAt: '2099-01-01T00:00:00Z' })
  const rare = await app.create('https://example.org/rare')
  await app.get(`/${rare}`)
  for (let n = 0; n < 150; n++) await app.get(`/${code}`)
  await waitFor(async () => (await ask(`EXISTS ql:v1:hot:${code}`)) === ':1', patience)
  expect(await ask(`EXISTS ql:v1:hot:${rare}`)).toBe(':0')
  const ttlS = async (key: string): Promise<number> => Number((await ask(`TTL ${key}`)).slice(1))
  expect(Math.abs((await ttlS(`ql:v1:hot:${code}`)) - 3600)).toBeLessThan(5)

  await ask('FLUSHALL')
  await waitFor(async () => (await ask(`EXISTS ql:v1:link:${code}`)) === ':1', patience)
  expect(await ttlS(`ql:v1:link:${code}`)).toBeGreaterThan(6 * 3600 - 60)
  expect(await ttlS(`ql:v1:link:${code}`)).toBeLessThanOrEqual(6 * 3600)
})

it("the owner's look into the caches tells a link's figures, and keeps them in Redis for META_TTL_S", async () => {
  const redis = await startRedisServer()
  const app = await startTestApp({ databaseUrl: await freshDatabase(), redisUrl: redis.url, env: { TTL_JITTER: '0' } })
  const code = await app.create('https://example.org/figures', { expiresAt: '2099-01-01T00:00:00Z' })
  const figures = async (): Promise<unknown> => {
    const { body } = await app.api('GET', `/cache/${code}`)
    return (body['redis'] as { meta?: unknown } | null)?.meta
  }
  await app.get(`/${code}`)
  await waitFor(async () => Number((await app.api('GET', `/links/${code}`)).body['clicks']) === 1)
  const first = { c: 1, e: Date.UTC(2099, 0) / 1000, s: 'active' }
  await waitFor(async () => (await figures()) !== undefined)
  expect(await figures()).toEqual(first)
  expect(await redisCommand(redis.url, `TTL ql:v1:meta:${code}`)).toMatch(/^:(900|89\d)$/)

  await app.api('PATCH', `/links/${code}`, { enabled: false })
  expect(await figures()).toEqual(first)
  for (const damaged of ['nonsense', '{"c":', '[]']) {
    await redisCommand(redis.url, `SET ql:v1:meta:${code} ${damaged}`)
    expect(await figures()).toEqual({ ...first, s: 'disabled' })
  }
  const { body } = await app.api('GET', '/cache/nobody-has-it')
  expect(body['redis']).toMatchObject({ meta: null })
})
