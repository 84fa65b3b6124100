// The whole of one worker on real servers: what is promised while Redis or Postgres fails.
import { beforeAll, describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from './testing/app.ts'
import { freshDatabase, startFaultProxy, startPostgresServer, startRedisServer, waitFor } from './testing/services.ts'
import type { FaultProxy, LocalServer, PostgresServer } from './testing/services.ts'

const target = 'https://example.org/somewhere'
const breaker = (app: TestApp, dependency: string) =>
  app.metric('quicklink_breaker_state', { dependency, state: 'open' })

async function behindProxies(env: Record<string, string> = {}) {
  const redis = await startRedisServer()
  const postgres = await startPostgresServer()
  const redisProxy = await startFaultProxy({ host: '127.0.0.1', port: redis.port })
  const postgresProxy = await startFaultProxy({ host: '127.0.0.1', port: postgres.port })
  const through = (url: string, proxy: FaultProxy): string => Object.assign(new URL(url), { port: proxy.port }).href
  const app = await startTestApp({
    databaseUrl: through(postgres.url, postgresProxy),
    redisUrl: through(redis.url, redisProxy),
    env,
  })
  await waitFor(async () => (await app.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 5000 })
  return { app, redis, postgres, redisProxy, postgresProxy }
}

describe('with everything up', () => {
  let app: TestApp
  beforeAll(async () => {
    ;({ app } = await behindProxies())
  })

  it('redirects at once to the link that it has just created', async () => {
    const code = await app.create(target)
    expect(await app.get(`/${code}`)).toMatchObject({ status: 302, headers: { location: target } })
  })
})
