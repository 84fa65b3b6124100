// The API of tenants, their keys and their limits, status by status.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type ApiAnswer, type TestApp } from '../testing/app.ts'
import { freshDatabase } from '../testing/services.ts'

const url = 'https://example.com/'
let app: TestApp

beforeAll(async () => {
  app = await startTestApp({ databaseUrl: await freshDatabase(), env: { RATE_LIMIT_AGGREGATE_PER_HOUR: '500' } })
})
afterAll(() => app.close())

const owner = (method: string, path: string, body?: unknown): Promise<ApiAnswer> => app.api(method, path, body)
const as =
  (key: string) =>
  (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
    app.api(method, path, body, { Authorization: `Bearer ${key}` })

async function newTenant(id: string, tier = 'standard', more: object = {}): Promise<ReturnType<typeof as>> {
  expect((await owner('POST', '/tenants', { id, name: id, tier, ...more })).status).toBe(201)
  const { body } = await owner('POST', `/tenants/${id}/keys`, { name: 'k' })
  return as(String(body['key']))
}

const problem = (answer: ApiAnswer): unknown[] => [answer.status, answer.body['code'], answer.body['field'] ?? null]
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('tenants', () => {
  test('are created 201, shown, listed page by page, changed and deleted', async () => {
    const created = await owner('POST', '/tenants', { id: 'acme', name: 'Acme', tier: 'plus', linkQuota: 7 })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe('/api/v1/tenants/acme')
    const shown = { id: 'acme', name: 'Acme', tier: 'plus', linkQuota: 7, createdAt: expect.stringMatching(time), updatedAt: expect.stringMatching(time) } // prettier-ignore
    expect(created.body).toEqual(shown)
    expect((await owner('GET', '/tenants/acme')).body).toEqual(shown)

    const ids: string[] = []
    for (let path = '/tenants?limit=1'; path !== '';) {
      const { body } = await owner('GET', path)
      ids.push(...(body['items'] as { id: string }[]).map(({ id }) => id))
      const cursor = body['nextCursor'] as string | null
      path = cursor === null ? '' : `/tenants?limit=1&cursor=${cursor}`
    }
    expect(ids).toEqual(expect.arrayContaining(['acme', 'owner']))
    expect(ids).toEqual([...new Set(ids)])

    expect((await owner('PATCH', '/tenants/acme', { tier: 'standard', linkQuota: null })).body).toMatchObject({
      name: 'Acme',
      tier: 'standard',
      linkQuota: null,
    })
    expect((await owner('DELETE', '/tenants/acme')).status).toBe(204)
    expect((await owner('GET', '/tenants/acme')).status).toBe(404)
    expect((await owner('DELETE', '/tenants/acme')).status).toBe(404)
    expect((await owner('POST', '/tenants', { id: 'acme', name: 'Again', tier: 'standard' })).status).toBe(201)
  })

  test.each([
    [{ name: 'x', tier: 'standard' }, 'id'],
    [{ id: 'a/b', name: 'x', tier: 'standard' }, 'id'],
    [{ id: 'x', tier: 'standard' }, 'name'],
    [{ id: 'x', name: '', tier: 'standard' }, 'name'],
    [{ id: 'x', name: 'x', tier: 'gold' }, 'tier'],
    [{ id: 'x', name: 'x', tier: 'plus', linkQuota: -1 }, 'linkQuota'],
    [{ id: 'x', name: 'x', tier: 'plus', linkQuota: '5' }, 'linkQuota'],
    [{ id: 'x', name: 'x', tier: 'plus', colour: 'red' }, 'colour'],
  ])('%j is 400 and names %s', async (body, field) => {
    expect(problem(await owner('POST', '/tenants', body))).toEqual([400, 'invalid', field])
  })

  test('409 for an id that is taken, 404 for one that is not there, 400 for an empty change, 405 with Allow', async () => {
    expect(problem(await owner('POST', '/tenants', { id: 'owner', name: 'x', tier: 'plus' }))).toEqual([
      409,
      'conflict',
      'id',
    ])
    expect(problem(await owner('PATCH', '/tenants/nobody', { name: 'x' }))).toEqual([404, 'not_found', null])
    expect(problem(await owner('PATCH', '/tenants/owner', {}))[0]).toBe(400)
    expect(problem(await owner('PATCH', '/tenants/owner', { tier: 'standard' }))).toEqual([409, 'conflict', 'tier'])
    expect(problem(await owner('DELETE', '/tenants/owner'))).toEqual([409, 'conflict', null])
    expect(problem(await owner('GET', '/tenants/nobody/limits'))).toEqual([404, 'not_found', null])
    expect(problem(await owner('POST', '/tenants/nobody/quota/sync'))).toEqual([404, 'not_found', null])
    const put = await owner('PUT', '/tenants/owner', {})
    expect([put.status, put.headers.allow]).toEqual([405, 'GET, HEAD, PATCH, DELETE'])
  })

  test('are deleted only without a living link; what had expired goes, and its code is nobody else’s until it is purged', async () => {
    const leaver = await newTenant('leaver')
    const other = await newTenant('other')
    expect((await leaver('POST', '/links', { url, code: 'leavers-link' })).status).toBe(201)
    expect(problem(await owner('DELETE', '/tenants/leaver'))).toEqual([409, 'conflict', null])
    expect((await leaver('DELETE', '/links/leavers-link')).status).toBe(204)
    expect((await owner('DELETE', '/tenants/leaver')).status).toBe(204)
    expect((await owner('GET', '/tenants/leaver')).status).toBe(404)
    expect(problem(await other('POST', '/links', { url, code: 'leavers-link' }))).toEqual([409, 'conflict', 'code'])
    expect(problem(await owner('POST', '/tenants', { id: 'leaver', name: 'x', tier: 'plus' }))).toEqual([
      409,
      'conflict',
      'id',
    ])
    expect((await owner('POST', '/tenants/leaver/keys', { name: 'x' })).status).toBe(404)
  })

  test('only the owner may do any of this', async () => {
    const tenant = await newTenant('curious')
    for (const [method, path, body] of [
      ['POST', '/tenants', { id: 'mine', name: 'x', tier: 'plus' }],
      ['GET', '/tenants'],
      ['GET', '/tenants/curious'],
      ['PATCH', '/tenants/curious', { tier: 'unlimited' }],
      ['DELETE', '/tenants/curious'],
      ['GET', '/tenants/curious/limits'],
      ['POST', '/tenants/curious/keys', { name: 'x' }],
      ['GET', '/tenants/curious/keys'],
      ['DELETE', '/tenants/curious/keys/x'],
      ['POST', '/tenants/curious/quota/sync'],
      ['POST', '/quota/sync'],
    ] as const) {
      expect(problem(await tenant(method, path, body)), `${method} ${path}`).toEqual([403, 'forbidden', null])
    }
    expect((await app.api('GET', '/tenants', undefined, { Authorization: 'Bearer wrong' })).status).toBe(401)
  })
})

describe('keys', () => {
  test('are shown once, stored hashed, listed without their secret, and refused when revoked', async () => {
    await owner('POST', '/tenants', { id: 'keyed', name: 'Keyed', tier: 'standard' })
    const created = await owner('POST', '/tenants/keyed/keys', { name: 'CI', expiresAt: '2099-01-01T00:00:00Z' })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^ql_/),
      name: 'CI',
    })
    const { id, key } = created.body as { id: string; key: string }
    const tenant = as(key)
    expect((await tenant('GET', '/limits')).status).toBe(200)

    const listed = await owner('GET', '/tenants/keyed/keys')
    expect(listed.body).toEqual({
      items: [
        {
          id,
          name: 'CI',
          expiresAt: '2099-01-01T00:00:00.000Z',
          revokedAt: null,
          createdAt: expect.stringMatching(time),
        },
      ],
    })
    expect(listed.text).not.toContain(key)

    expect((await owner('DELETE', `/tenants/keyed/keys/${id}`)).status).toBe(204)
    expect((await owner('DELETE', `/tenants/keyed/keys/${id}`)).status).toBe(204)
    await expect.poll(async () => (await tenant('GET', '/limits')).status, { timeout: 1000 }).toBe(401)
    const [after] = (await owner('GET', '/tenants/keyed/keys')).body['items'] as { revokedAt: string }[]
    expect(after?.revokedAt).toMatch(time)
  })

  test('400 for a bad one, 404 for what is not there, 409 for the one that opens everything', async () => {
    expect(problem(await owner('POST', '/tenants/owner/keys', {}))).toEqual([400, 'invalid', 'name'])
    expect(problem(await owner('POST', '/tenants/owner/keys', { name: 'x', expiresAt: '2001-01-01T00:00:00Z' }))).toEqual([400, 'invalid', 'expiresAt']) // prettier-ignore
    expect(problem(await owner('POST', '/tenants/nobody/keys', { name: 'x' }))).toEqual([404, 'not_found', null])
    expect(problem(await owner('GET', '/tenants/nobody/keys'))).toEqual([404, 'not_found', null])
    expect(problem(await owner('DELETE', '/tenants/owner/keys/nothing'))).toEqual([404, 'not_found', null])
    expect(problem(await owner('DELETE', '/tenants/owner/keys/owner'))).toEqual([409, 'conflict', null])
  })

  test('another key of the owner may do what the owner may', async () => {
    const { body } = await owner('POST', '/tenants/owner/keys', { name: 'second' })
    expect((await as(String(body['key']))('GET', '/tenants')).status).toBe(200)
  })
})

describe('what a tier allows', () => {
  const dayMs = 86_400_000
  const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString()

  test('is what a link gets that asks for nothing, and the most that it can get', async () => {
    const tenant = await newTenant('modest')
    const { body } = await tenant('POST', '/links', { url, code: 'modest-link' })
    expect(body['monthlyHits']).toBe(10_000)
    expect(Math.abs(Date.parse(String(body['expiresAt'])) - Date.now() - 365 * dayMs)).toBeLessThan(5000)
    expect((await tenant('POST', '/links', { url, expiresAt: null, monthlyHits: null })).body).toMatchObject({ monthlyHits: 10_000, expiresAt: expect.stringMatching(time) }) // prettier-ignore

    expect((await tenant('POST', '/links', { url, monthlyHits: 5, expiresAt: inDays(3) })).body['monthlyHits']).toBe(5)
    expect(problem(await tenant('POST', '/links', { url, monthlyHits: 10_001 }))).toEqual([
      400,
      'invalid',
      'monthlyHits',
    ])
    expect(problem(await tenant('POST', '/links', { url, expiresAt: inDays(366) }))).toEqual([
      400,
      'invalid',
      'expiresAt',
    ])

    const patch = (change: object, who = tenant): Promise<ApiAnswer> => who('PATCH', '/links/modest-link', change)
    expect((await patch({ monthlyHits: 7 })).body['monthlyHits']).toBe(7)
    expect((await patch({ monthlyHits: null })).body['monthlyHits']).toBe(10_000)
    expect((await patch({ expiresAt: null })).body['expiresAt']).toMatch(time)
    expect(problem(await patch({ monthlyHits: 10_001 }))).toEqual([400, 'invalid', 'monthlyHits'])
    expect(problem(await patch({ expiresAt: inDays(366) }))).toEqual([400, 'invalid', 'expiresAt'])
    // Moderation does not lift the terms of the tenant.
    expect(problem(await patch({ monthlyHits: 10_001 }, owner))).toEqual([400, 'invalid', 'monthlyHits'])
    expect(problem(await owner('PATCH', '/links/no-such-link', { monthlyHits: 1 }))).toEqual([404, 'not_found', null])
  })

  test('is nothing for the owner', async () => {
    expect((await owner('POST', '/links', { url })).body).toMatchObject({ monthlyHits: null, expiresAt: null })
  })
})

describe('GET /limits', () => {
  test('shows a tenant what it has used, and the owner anybody', async () => {
    const tenant = await newTenant('watcher', 'standard', { linkQuota: 3 })
    await tenant('POST', '/links', { url })
    const { body } = await tenant('GET', '/limits')
    expect(body).toEqual({
      tier: 'standard',
      creates: { limit: 50, used: 1, remaining: 49, resetsAt: expect.stringMatching(time) },
      failedCreates: { limit: 50, used: 0, remaining: 50, resetsAt: expect.stringMatching(time) },
      changes: { limit: 600, used: 0, remaining: 600, resetsAt: expect.stringMatching(time) },
      // How much all others create is not a tenant's to know: whether it is near must do.
      aggregate: { limit: 500, near: false, resetsAt: expect.stringMatching(time) },
      links: { used: 1, limit: 3 },
    })
    expect((await owner('GET', '/tenants/watcher/limits')).body).toMatchObject({
      creates: { used: 1 },
      aggregate: { limit: 500, near: false, used: expect.any(Number), remaining: expect.any(Number) },
      links: { used: 1 },
    })
    const none = { limit: null, used: null, remaining: null, resetsAt: null }
    expect((await owner('GET', '/limits')).body).toEqual({
      tier: 'unlimited',
      creates: none,
      failedCreates: none,
      changes: none,
      aggregate: { ...none, near: null },
      links: { used: expect.any(Number), limit: null },
    })
  })

  test('says that the limit of all is near when it is', async () => {
    const small = await startTestApp({
      databaseUrl: await freshDatabase(),
      env: { RATE_LIMIT_AGGREGATE_PER_HOUR: '5' },
    })
    await small.api('POST', '/tenants', { id: 'early', name: 'Early', tier: 'standard' })
    await small.api('POST', '/tenants', { id: 'late', name: 'Late', tier: 'standard' })
    const keyOf = async (id: string): Promise<Record<string, string>> => ({
      Authorization: `Bearer ${String((await small.api('POST', `/tenants/${id}/keys`, { name: 'k' })).body['key'])}`,
    })
    const [early, late] = [await keyOf('early'), await keyOf('late')]
    const near = async (): Promise<unknown> =>
      ((await small.api('GET', '/limits', undefined, late)).body['aggregate'] as { near: boolean }).near
    for (const then of [false, false, false, true]) {
      expect((await small.api('POST', '/links', { url }, early)).status).toBe(201)
      expect(await near()).toBe(then)
    }
  })

  test('a full quota is 403 with used and limit, and says so without Redis', async () => {
    const tenant = await newTenant('full', 'plus', { linkQuota: 1 })
    expect((await tenant('POST', '/links', { url })).status).toBe(201)
    const { status, body } = await tenant('POST', '/links', { url })
    expect([status, body]).toMatchObject([403, { code: 'quota_exceeded', used: 1, limit: 1 }])
    expect((await owner('POST', '/tenants/full/quota/sync')).body).toEqual({
      tenant: 'full',
      used: 1,
      before: null,
      after: null,
    })
    const { items } = (await owner('POST', '/quota/sync')).body as { items: object[] }
    expect(items).toContainEqual({ tenant: 'full', used: 1, before: null, after: null })
  })
})
