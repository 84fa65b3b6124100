// What a visitor and a tenant see of a link with a limit.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, freshRedis, proxied, startPostgresServer, waitFor, type FaultProxy } from '../../testing/services.ts' // prettier-ignore

/** What is answered is the claim, not how soon a busy machine has it. */
const patient = { REDIS_TIMEOUT_MS: '1000' }
const url = 'https://example.org/'
const isTrusted = async (app: TestApp): Promise<boolean> => (await app.metric('quicklink_trust_age_seconds')) < 0.5
const hits = async (app: TestApp, code: string) => (await app.api('GET', `/links/${code}/hits`)).body

async function statuses(app: TestApp, code: string, times: number, method = 'GET'): Promise<number[]> {
  const all = []
  for (let n = 0; n < times; n++) all.push((await app.get(`/${code}`, {}, method)).status)
  return all
}

describe.each(['raw', 'http'])('a link with 3 hits a month (FRONT_DOOR=%s)', (door) => {
  it.each([
    ['with Redis', true],
    ['without Redis', false],
  ])(
    '%s is redirected 3 times, then 429 until the month ends; HEAD and a page count as nothing',
    async (_, withRedis) => {
      const redisUrl = withRedis ? await freshRedis() : undefined
      const app = await startTestApp({
        databaseUrl: await freshDatabase(),
        redisUrl,
        env: { FRONT_DOOR: door, ...patient },
      })
      if (withRedis) await waitFor(() => isTrusted(app))
      const code = await app.create(url, { monthlyHits: 3 })
      expect(await statuses(app, code, 5, 'HEAD')).toEqual([302, 302, 302, 302, 302])
      expect(await hits(app, code)).toMatchObject({ used: 0, limit: 3, remaining: 3 })
      expect(await statuses(app, code, 2)).toEqual([302, 302])
      expect(await hits(app, code)).toMatchObject({ used: 2, limit: 3, remaining: 1 })
      expect(await statuses(app, code, 3)).toEqual([302, 429, 429])
      expect(await hits(app, code)).toMatchObject({ used: 3, limit: 3, remaining: 0 })
      expect(await statuses(app, code, 1, 'HEAD')).toEqual([429])

      const refused = await app.get(`/${code}`)
      const retryAfterS = Number(refused.headers['retry-after'])
      const resetsAt = String((await hits(app, code))['resetsAt'])
      expect(resetsAt).toMatch(/^\d{4}-\d\d-01T00:00:00.000Z$/)
      expect(Math.abs(Date.now() + retryAfterS * 1000 - Date.parse(resetsAt))).toBeLessThan(3000)
      expect(JSON.parse(refused.text)).toMatchObject({ status: 429, code: 'hits_used_up' })
      expect((await app.get(`/${code}`, { Accept: 'text/html' })).text).toContain('<h1>')
      expect(await app.metric('quicklink_hit_quota_rejections_total')).toBeGreaterThanOrEqual(4)

      expect((await app.api('PATCH', `/links/${code}`, { monthlyHits: 4 })).status).toBe(200)
      await pause(300)
      expect(await statuses(app, code, 2)).toEqual([302, 429])
      expect((await app.api('PATCH', `/links/${code}`, { monthlyHits: null })).status).toBe(200)
      await pause(300)
      expect(await statuses(app, code, 3)).toEqual([302, 302, 302])
    },
  )
})

it.each([
  ['with Redis', true],
  ['without Redis', false],
])('HEAD at one process keeps no hit from visitors of another, %s', async (_, withRedis) => {
  const databaseUrl = await freshDatabase()
  const redisUrl = withRedis ? await freshRedis() : undefined
  const visited = await startTestApp({ databaseUrl, redisUrl, env: patient })
  const looked = await startTestApp({ databaseUrl, redisUrl, env: patient, key: visited.key })
  if (withRedis) await waitFor(async () => (await isTrusted(visited)) && (await isTrusted(looked)))
  const code = await visited.create(url, { monthlyHits: 3 })
  expect(await statuses(looked, code, 3, 'HEAD')).toEqual([302, 302, 302])
  expect(await statuses(visited, code, 2)).toEqual([302, 302])
  expect(await statuses(looked, code, 3, 'HEAD')).toEqual([302, 302, 302])
  expect(await statuses(visited, code, 2)).toEqual([302, 429])
  // What was seen stands for a second.
  await waitFor(async () => (await statuses(looked, code, 1, 'HEAD'))[0] === 429)
  expect(await hits(visited, code)).toMatchObject({ used: 3, limit: 3, remaining: 0 })
})

describe('GET /links/{code}/hits', () => {
  it('of a link without a limit says how often it was used; of a stranger, or none, nothing', async () => {
    const app = await startTestApp({ databaseUrl: await freshDatabase() })
    const code = await app.create(url)
    await statuses(app, code, 2)
    expect(await hits(app, code)).toEqual({
      month: new Date().toISOString().slice(0, 7),
      used: 2,
      limit: null,
      remaining: null,
      settling: false,
      resetsAt: expect.stringMatching(/Z$/),
    })
    const acme = await newTenant(app, 'acme')
    expect((await acme.api('GET', `/links/${code}/hits`)).status).toBe(404)
    expect((await app.api('GET', '/links/nothing/hits')).status).toBe(404)
    expect((await app.api('POST', `/links/${code}/hits`, {})).status).toBe(405)
  })
})

describe('GET /links/{code}/hits, when all has been handed out', () => {
  it('is settling until what servers hold has come back or is lost; then it says what is left', async () => {
    const databaseUrl = await freshDatabase()
    const app = await startTestApp({ databaseUrl })
    const code = await app.create(url, { monthlyHits: 10 })
    await statuses(app, code, 1)
    await waitFor(async () => (await hits(app, code))['used'] === 1)
    expect(await hits(app, code)).toMatchObject({ remaining: 9, settling: false })
    const grantedAll = (since: string) =>
      withSql(databaseUrl, (sql) => sql.query(`update hits set granted = 10, granted_at = now() - interval '${since}'`))
    await grantedAll('1 s')
    expect(await hits(app, code)).toMatchObject({ used: 1, remaining: 9, settling: true })
    await grantedAll('1 hour')
    expect(await hits(app, code)).toMatchObject({ used: 1, remaining: 9, settling: false })
  })
})

describe('when neither Redis nor Postgres can grant', () => {
  async function cutOff(policy: string): Promise<{ app: TestApp; code: string; proxy: FaultProxy }> {
    const postgres = await startPostgresServer()
    const { proxy, url: databaseUrl } = await proxied(postgres.url)
    const app = await startTestApp({ databaseUrl, env: { HIT_QUOTA_UNGRANTABLE: policy } })
    const code = await app.create(url, { monthlyHits: 10 })
    let served = 0
    // On a busy machine one may come too late to be granted.
    await waitFor(async () => ((await statuses(app, code, 1))[0] === 302 ? ++served : served) === 4)
    await proxy.refuse()
    return { app, code, proxy }
  }

  it('allow serves on, counts, and settles it afterwards', async () => {
    const { app, code, proxy } = await cutOff('allow')
    expect(await statuses(app, code, 5)).toEqual([302, 302, 302, 302, 302])
    expect(await app.metric('quicklink_hits_ungranted_total')).toBe(5)
    await proxy.pass()
    await waitFor(async () => (await hits(app, code))['used'] === 9, { deadlineMs: 30_000 })
    // The breaker of Postgres has closed again, and what was ungranted is settled.
    await pause(2500)
    await waitFor(async () => (await app.get('/nobody-has-it')).status === 404)
    expect(await statuses(app, code, 3)).toEqual([302, 429, 429])
  })

  it('reject answers 503 with Retry-After, in time, and goes on when one of them is back', async () => {
    const { app, code, proxy } = await cutOff('reject')
    for (let n = 0; n < 3; n++) {
      const answer = await app.get(`/${code}`)
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1'])
      expect(answer.ms).toBeLessThan(1000)
    }
    expect(await app.metric('quicklink_hits_ungranted_total')).toBe(0)
    await proxy.pass()
    await waitFor(async () => (await app.get(`/${code}`)).status === 302, { deadlineMs: 30_000 })
  })
})
