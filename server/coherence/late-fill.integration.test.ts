// The classic: a reader asks Postgres just before a change, and what it read arrives in Redis just after it.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { freshDatabase, proxied, redisCommand, startRedisServer, waitFor } from '../../testing/services.ts'

it('is refused, however late it is: the changed link never comes back', async () => {
  const [redis, databaseUrl] = await Promise.all([startRedisServer(), freshDatabase()])
  const [{ proxy: toRedis, url: redisUrl }, { proxy: toPostgres, url }] = await Promise.all([
    proxied(redis.url),
    proxied(databaseUrl),
  ])
  const env = { DB_TIMEOUT_MS: '1000', API_DB_TIMEOUT_MS: '5000' }
  const writer = await startTestApp({ databaseUrl, redisUrl: redis.url, env })
  const reader = await startTestApp({ databaseUrl: url, redisUrl, env, key: writer.key })
  const trusts = async (app: TestApp): Promise<boolean> => (await app.metric('quicklink_trust_age_seconds')) < 0.5
  await waitFor(async () => (await trusts(writer)) && trusts(reader), { deadlineMs: 30_000 })
  const code = await writer.create('https://example.org/before')
  await redisCommand(redis.url, `UNLINK ql:v1:link:${code}`)

  // Redis says that it does not know; Postgres takes its time; when it has answered, the way to Redis is blocked.
  await toPostgres.delay(250)
  const reading = reader.get(`/${code}`)
  await pause(100)
  await toRedis.blackHole()
  expect((await reading).status).toBe(302)
  expect(await redisCommand(redis.url, `EXISTS ql:v1:link:${code}`)).toBe(':0')

  const applied = await writer.sample('quicklink_invalidation_delay_seconds_count')
  await writer.api('PATCH', `/links/${code}`, { enabled: false })
  // As after its eviction: no newer version stands in the way, only the cursor does.
  await waitFor(async () => (await writer.sample('quicklink_invalidation_delay_seconds_count')) > applied)
  await redisCommand(redis.url, `UNLINK ql:v1:link:${code}`)
  const sent = toRedis.counters.toTarget
  await toRedis.pass()
  await waitFor(() => toRedis.counters.toTarget > sent)
  await toPostgres.pass()
  await waitFor(async () => trusts(reader), { deadlineMs: 30_000 })

  expect(await redisCommand(redis.url, `GET ql:v1:link:${code}`)).not.toContain('before')
  for (const app of [writer, reader]) {
    await waitFor(async () => (await app.get(`/${code}`)).status === 404, { deadlineMs: 5000 })
  }
})
