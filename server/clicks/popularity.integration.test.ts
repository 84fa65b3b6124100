// What is told of links that are asked for often, and what becomes of it.
import { expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { freshDatabase, redisCommand, startRedisServer, waitFor } from '../../testing/services.ts'

const isTrusted = async (app: TestApp): Promise<boolean> => (await app.metric('quicklink_trust_age_seconds')) < 0.5
const patience = { deadlineMs: 25_000, everyMs: 100 }

it('hot links have figures in Redis, live by the matrix, and are back before they are asked for when Redis was emptied', async () => {
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
  await waitFor(async () => (await ask(`EXISTS ql:v1:meta:${code}`)) === ':1', patience)
  expect(await ask(`EXISTS ql:v1:hot:${code}`)).toBe(':1')
  expect(await ask(`EXISTS ql:v1:hot:${rare}`)).toBe(':0')
  const ttlS = async (key: string): Promise<number> => Number((await ask(`TTL ${key}`)).slice(1))
  expect(Math.abs((await ttlS(`ql:v1:meta:${code}`)) - 900)).toBeLessThan(5)
  expect(Math.abs((await ttlS(`ql:v1:hot:${code}`)) - 3600)).toBeLessThan(5)

  await ask('FLUSHALL')
  await waitFor(async () => (await ask(`EXISTS ql:v1:link:${code}`)) === ':1', patience)
  expect(await ttlS(`ql:v1:link:${code}`)).toBeGreaterThan(6 * 3600 - 60)
  expect(await ttlS(`ql:v1:link:${code}`)).toBeLessThanOrEqual(6 * 3600)
}, 60_000)
