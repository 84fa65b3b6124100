// Postgres is away for longer than a key lives: what is asked for lives on in Redis, but not for ever.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { startTestApp } from '../testing/app.ts'
import { proxied, startPostgresServer, startRedisServer, waitFor } from '../testing/services.ts'

const target = 'https://example.org/somewhere'

it('a link outlives its TTL while Postgres is away, up to STALE_MAX_S, and never its own expiry', async () => {
  const [redis, postgres] = await Promise.all([startRedisServer(), startPostgresServer()])
  const { proxy, url: databaseUrl } = await proxied(postgres.url)
  const app = await startTestApp({
    databaseUrl,
    redisUrl: redis.url,
    env: { LINK_TTL_S: '3', NOT_FOUND_TTL_S: '3', STALE_MAX_S: '5' },
  })
  await waitFor(async () => (await app.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 30_000 })
  const lasting = await app.create(target)
  const ending = await app.create(target, { expiresAt: new Date(Date.now() + 5000).toISOString() })
  const endsMs = Math.floor((Date.now() + 5000) / 1000) * 1000
  const beganMs = Date.now()
  await proxy.refuse()

  let lastServedMs = 0
  let lastEndingMs = 0
  let firstGoneMs = Infinity
  while (Date.now() - beganMs < 11_000) {
    const askedMs = Date.now()
    const [one, other] = await Promise.all([app.get(`/${lasting}`), app.get(`/${ending}`)])
    const atMs = Date.now()
    expect([302, 503]).toContain(one.status)
    if (one.status === 302) lastServedMs = askedMs - beganMs
    expect([302, 404, 503]).toContain(other.status)
    if (other.status === 302) lastEndingMs = askedMs
    // A 503 says nothing of the link.
    else if (other.status === 404) firstGoneMs = Math.min(firstGoneMs, atMs)
    await pause(100)
  }
  // Past the three seconds of its TTL, but not past those and the five of STALE_MAX_S.
  expect(lastServedMs).toBeGreaterThan(5000)
  expect(lastServedMs).toBeLessThan(3000 * 1.08 + 5000 + 1000)
  // A second for the request that was under way.
  expect(lastEndingMs).toBeLessThan(endsMs + 1000)
  expect(firstGoneMs).toBeGreaterThan(endsMs - 1000)

  await proxy.pass()
  await waitFor(async () => (await app.get(`/${lasting}`)).status === 302, { deadlineMs: 5000 })
})
