// Links that begin and end by themselves, on the real servers: nobody announces it, so every copy has to know it, and one that
// leads on after its end is like any other link to the caches.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { startTestApp, type TestApp } from '../testing/app.ts'
import { newTenant } from '../testing/http.ts'
import { connectRedis, freshDatabase, freshRedis, handInPsql, proxied, startRedisServer, waitFor } from '../testing/services.ts' // prettier-ignore
import { singleKeys } from './redis-keys.ts'
import type { Code } from './link.ts'

const target = 'https://example.org/somewhere'
const over = 'https://example.org/over'
/** A second, and what a busy machine adds. */
const promised = 5000
const inSeconds = (seconds: number): string => new Date(Math.floor(Date.now() / 1000 + seconds) * 1000).toISOString()

const answerOf = async (app: TestApp, code: string, method = 'GET'): Promise<string | number> => {
  const { status, headers } = await app.get(`/${code}`, {}, method)
  return headers.location ?? status
}
/** When it was last asked for and not answered so, and when it was first. */
async function turns(
  app: TestApp,
  code: string,
  to: string | number,
  patience: object = {},
): Promise<[number, number]> {
  let lastMs = Date.now()
  await waitFor(async () => {
    const askedMs = Date.now()
    const hasTurned = (await answerOf(app, code)) === to
    if (!hasTurned) lastMs = askedMs
    return hasTurned
  }, patience)
  return [lastMs, Date.now()]
}
/** How long an answer takes is not the clock's matter. */
function expectTurned([lastMs, firstMs]: [number, number], at: string): void {
  expect(lastMs).toBeLessThan(Date.parse(at) + 500)
  expect(firstMs).toBeGreaterThan(Date.parse(at) - 500)
}
const isVouched = async (app: TestApp, code: string): Promise<boolean> => {
  const { body } = await app.api('GET', `/cache/${code}`)
  return (body['tier1'] as { vouched: boolean } | null)?.vouched === true
}
const vouchedFor = (app: TestApp, code: string): Promise<unknown> =>
  waitFor(async () => typeof (await answerOf(app, code)) !== 'undefined' && (await isVouched(app, code)), {
    deadlineMs: 30_000,
  })

it.each(['raw', 'http'])('FRONT_DOOR=%s: a copy begins and ends by itself, in tier 1 and in Redis', async (door) => {
  const [databaseUrl, redisUrl] = await Promise.all([freshDatabase(), freshRedis()])
  const env = { FRONT_DOOR: door }
  const app = await startTestApp({ databaseUrl, redisUrl, env })
  const startsAt = inSeconds(4)
  const expiresAt = inSeconds(6)
  const code = await app.create(target, { startsAt, expiresAt, expiredUrl: over })
  await vouchedFor(app, code)
  expect(Date.now()).toBeLessThan(Date.parse(startsAt))
  expect(await answerOf(app, code)).toBe(404)
  expectTurned(await turns(app, code, target, { deadlineMs: 30_000, everyMs: 5 }), startsAt)
  expectTurned(await turns(app, code, over, { deadlineMs: 30_000, everyMs: 5 }), expiresAt)
  // Nobody has told it.
  expect(await handInPsql(databaseUrl).query('select from outbox where code = $1', [code])).toHaveLength(1)
  // Redis keeps it after its end, too, and another process has it from there.
  const other = await startTestApp({ databaseUrl, redisUrl, env, key: app.key })
  await waitFor(async () => (await other.metric('quicklink_trust_age_seconds')) < 0.5)
  expect(await answerOf(other, code)).toBe(over)
  expect(await other.metric('quicklink_lookups_total', { source: 'redis' })).toBe(1)
  const redis = await connectRedis(redisUrl)
  expect(await redis.pttl(singleKeys.link(code as Code))).toBeGreaterThan(3000_000)
  const shown = { url: target, startsAt, expiresAt, expiredUrl: over, forwardQuery: false }
  const held = async () => (await app.api('GET', `/cache/${code}`)).body
  await vi.waitFor(
    async () => expect(await held()).toMatchObject({ tier1: shown, redis: shown, postgres: shown }),
    5000,
  )
})

it('visitors who are sent to where a link leads after its end are counted as such, and as nothing else', async () => {
  const app = await startTestApp({ databaseUrl: await freshDatabase() })
  const code = await app.create(target, { monthlyHits: 1, expiredUrl: over })
  const answers = []
  for (const method of ['GET', 'GET', 'HEAD', 'GET']) answers.push(await answerOf(app, code, method))
  expect(answers).toEqual([target, over, over, over])
  expect(await app.metric('quicklink_ended_redirects_total')).toBe(2)
  await vi.waitFor(async () => expect((await app.api('GET', `/links/${code}`)).body['clicks']).toBe(1), 20_000)
})

it('a link that leads on after its end is gone within a second when it is deleted or purged, also where passes vouched for it', async () => {
  const [redis, databaseUrl] = await Promise.all([startRedisServer(), freshDatabase()])
  const { proxy, url: redisUrl } = await proxied(redis.url)
  const app = await startTestApp({ databaseUrl, redisUrl })
  const hand = handInPsql(databaseUrl)
  const ended = async (): Promise<string> => {
    const code = await app.create(target, { expiredUrl: over })
    await hand.query(`update links set expires_at = now() - interval '1 day' where code = $1`, [code])
    await waitFor(async () => (await answerOf(app, code)) === over)
    await vouchedFor(app, code)
    return code
  }
  const isGone = async (code: string): Promise<void> => {
    await turns(app, code, 404, { deadlineMs: promised, everyMs: 2 })
    await pause(300)
    expect(await answerOf(app, code)).toBe(404)
  }
  for (const away of [false, true]) {
    const [purged, deleted] = [await ended(), await ended()]
    if (away) await proxy.refuse()
    await hand.query('delete from links where code = $1', [purged])
    await isGone(purged)
    await app.api('DELETE', `/links/${deleted}`)
    await isGone(deleted)
  }
})

it('a tenant whose links only lead on after their end is not deleted', async () => {
  const databaseUrl = await freshDatabase()
  const app = await startTestApp({ databaseUrl })
  const acme = await newTenant(app, 'acme')
  const { body } = await acme.api('POST', '/links', { url: target, expiredUrl: over })
  await handInPsql(databaseUrl).query(`update links set expires_at = now() - interval '1 day'`)
  expect((await app.api('DELETE', '/tenants/acme')).status).toBe(409)
  expect((await acme.api('DELETE', `/links/${String(body['code'])}`)).status).toBe(204)
  expect((await app.api('DELETE', '/tenants/acme')).status).toBe(204)
})
