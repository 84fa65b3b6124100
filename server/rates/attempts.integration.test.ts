// Attempts count, not successes: what a tenant asks for in vain, and what it changes, has its budgets.
import { describe, expect, test } from 'vitest'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { newTenant, type Api, times, tally } from '../../testing/http.ts'
import { freshDatabase, freshRedis } from '../../testing/services.ts'

const url = 'https://example.com/'

const app = await startTestApp({
  databaseUrl: await freshDatabase(),
  redisUrl: await freshRedis(),
  // Who is admitted is tested here; a machine that is busy with tests is not always in time.
  env: { REDIS_TIMEOUT_MS: '1000', TIERS: '{"plus": {"changesPerHour": 5}}' },
})

let tenants = 0
const tenant = async (tier: string, more: object = {}): Promise<{ id: string; ask: Api }> => {
  const { id, api: ask } = await newTenant(app, `tenant-${++tenants}`, { tier, ...more })
  return { id, ask }
}

/** So many of them, a few at a time. As a client that is told 503: a busy machine may be overloaded for a moment. */
async function inTurns(n: number, make: () => Promise<ApiAnswer>): Promise<ApiAnswer[]> {
  const answers: ApiAnswer[] = []
  while (answers.length < n) {
    const some = await times(Math.min(10, n - answers.length), make)
    answers.push(...some.filter(({ status }) => status !== 503))
  }
  return answers
}

describe('creates that fail', () => {
  test('whoever keeps asking for a code that is taken is told 409 a hundred times, and then 429', async () => {
    await app.create(url, { code: 'coveted' })
    const { ask } = await tenant('standard')
    const answers = await inTurns(160, () => ask('POST', '/links', { url, code: 'coveted' }))
    expect(tally(answers)).toEqual({ 409: 100, 429: 60 })
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.headers['ratelimit-policy']).toBe('"creates";q=50;w=3600')
    expect(refused?.headers['ratelimit']).toMatch(/^"creates";r=0;t=3[56]\d\d$/)
    expect((await ask('GET', '/limits')).body).toMatchObject({
      creates: { used: 50 },
      failedCreates: { limit: 50, used: 50, remaining: 0 },
      links: { used: 0 },
    })
  })

  test('a full quota that is asked again and again is a failure, too', async () => {
    const { ask } = await tenant('standard', { linkQuota: 1 })
    expect((await ask('POST', '/links', { url })).status).toBe(201)
    expect(tally(await inTurns(120, () => ask('POST', '/links', { url })))).toEqual({ 403: 99, 429: 21 })
  })

  test('a few of them cost no create, and what an Idempotency-Key answers costs nothing', async () => {
    const { ask, id } = await tenant('standard')
    expect(tally(await times(10, () => ask('POST', '/links', { url, code: 'coveted' })))).toEqual({ 409: 10 })
    const { body } = await app.api('POST', `/tenants/${id}/keys`, { name: 'second' })
    const again = { Authorization: `Bearer ${String(body['key'])}`, 'Idempotency-Key': 'once' }
    expect(tally(await times(10, () => app.api('POST', '/links', { url }, again)))).toEqual({ 201: 10 })
    expect((await ask('GET', '/limits')).body).toMatchObject({
      creates: { used: 1, remaining: 49 },
      failedCreates: { used: 10 },
    })
  })
})

describe('changes', () => {
  test('PATCH and DELETE share a budget, whether the link is found or not; beyond it 429 with RateLimit fields', async () => {
    const { ask } = await tenant('plus')
    for (const code of ['mine-1', 'mine-2', 'mine-3']) await ask('POST', '/links', { url, code })
    expect((await ask('PATCH', '/links/mine-1', { enabled: false })).status).toBe(200)
    expect((await ask('PATCH', '/links/nobodys-link', { enabled: false })).status).toBe(404)
    expect((await ask('DELETE', '/links/mine-2')).status).toBe(204)
    // What is no change at all costs nothing.
    expect((await ask('PATCH', '/links/mine-1', { enabled: 'maybe' })).status).toBe(400)
    expect(tally(await times(8, () => ask('PATCH', '/links/mine-1', { enabled: true })))).toEqual({ 200: 2, 429: 6 })
    const refused = await ask('DELETE', '/links/mine-3')
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 5, used: 5 } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3500)
    expect(refused.headers['ratelimit-policy']).toBe('"changes";q=5;w=3600')
    expect(refused.headers['ratelimit']).toMatch(/^"changes";r=0;t=3[56]\d\d$/)
    expect((await ask('GET', '/limits')).body).toMatchObject({ changes: { limit: 5, used: 5, remaining: 0 } })
    expect(await app.metric('quicklink_rate_limited_total', { tier: 'plus' })).toBe(7)
  })

  test("the owner's are the owner's, whose ever the link is, and have no limit", async () => {
    const { ask } = await tenant('plus')
    await ask('POST', '/links', { url, code: 'moderated' })
    const answers = await times(10, () => app.api('PATCH', '/links/moderated', { enabled: false }))
    expect(tally(answers)).toEqual({ 200: 10 })
    expect((await ask('GET', '/limits')).body).toMatchObject({ changes: { used: 0 } })
  })
})
