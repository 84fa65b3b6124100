// Tenants, their keys and what their tiers allow; what is refused is in refusals.test.ts.
import { describe, expect, it } from 'vitest'
import { startTestApp } from '../testing/app.ts'
import { freshDatabase } from '../testing/services.ts'
import { aSecond, fresh, pages, problem, quickLink, target, targets } from './quicklink.ts'

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
const dayMs = 86_400_000
const inDays = (days: number): string => new Date(Date.now() + days * dayMs).toISOString()

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()

  describe('tenants', () => {
    it('are created 201, shown, listed page by page, changed and deleted', async () => {
      const id = fresh('acme')
      const path = `/tenants/${id}`
      const created = await ql.api('POST', '/tenants', { id, name: 'Acme', tier: 'plus', linkQuota: 7 })
      expect([created.status, created.headers.location]).toEqual([201, `/api/v1${path}`])
      expect(created.body).toEqual({
        id,
        name: 'Acme',
        tier: 'plus',
        linkQuota: 7,
        preview: false,
        createdAt: time,
        updatedAt: time,
      })
      expect((await ql.api('GET', path)).body).toEqual(created.body)

      const ids: string[] = []
      for await (const page of pages(ql.api, '/tenants?limit=1')) ids.push(...page.map(({ id }) => id))
      expect(ids).toEqual(expect.arrayContaining([id, 'owner']))
      expect(ids).toEqual([...new Set(ids)])

      const change = { tier: 'standard', linkQuota: null }
      expect((await ql.api('PATCH', path, change)).body).toMatchObject({ name: 'Acme', ...change })
      expect((await ql.api('DELETE', path)).status).toBe(204)
      for (const method of ['GET', 'DELETE']) expect(problem(await ql.api(method, path))).toBe('404 not_found')
      expect((await ql.api('POST', '/tenants', { id, name: 'Again', tier: 'standard' })).status).toBe(201)
    })

    it('are deleted only without a living link; the codes and the id of a deleted one are nobody else’s until they are purged', async () => {
      const [leaver, other] = [await ql.tenant(), await ql.tenant()]
      const path = `/tenants/${leaver.id}`
      const link = { url: target, code: fresh('leavers-link') }
      expect((await leaver.api('POST', '/links', link)).status).toBe(201)
      expect(problem(await ql.api('DELETE', path))).toBe('409 conflict')
      expect((await leaver.api('DELETE', `/links/${link.code}`)).status).toBe(204)
      expect((await ql.api('DELETE', path)).status).toBe(204)
      expect((await ql.api('GET', path)).status).toBe(404)
      expect(problem(await other.api('POST', '/links', link))).toBe('409 conflict code')
      const again = { id: leaver.id, name: 'x', tier: 'plus' }
      expect(problem(await ql.api('POST', '/tenants', again))).toBe('409 conflict id')
      expect((await ql.api('POST', `${path}/keys`, { name: 'x' })).status).toBe(404)
    })
  })

  describe('keys', () => {
    it('are shown once, stored hashed, listed without their secret, and refused when revoked', async () => {
      const id = fresh('keyed')
      const path = `/tenants/${id}/keys`
      await ql.api('POST', '/tenants', { id, name: 'Keyed', tier: 'standard' })
      const created = await ql.api('POST', path, { name: 'CI', expiresAt: '2099-01-01T00:00:00Z' })
      expect(created).toMatchObject({ status: 201, body: { id: expect.stringMatching(/^key_/) as string, name: 'CI' } })
      const key = String(created.body['key'])
      expect(key).toMatch(/^ql_/)
      const status = async (): Promise<number> => (await ql.as(key)('GET', '/limits')).status
      expect(await status()).toBe(200)

      const listed = await ql.api('GET', path)
      const shown = {
        id: created.body['id'],
        name: 'CI',
        role: 'editor',
        expiresAt: '2099-01-01T00:00:00.000Z',
        createdAt: time,
      }
      expect(listed.body).toEqual({ items: [{ ...shown, revokedAt: null }] })
      expect(listed.text).not.toContain(key)

      for (const _ of [1, 2]) expect((await ql.api('DELETE', `${path}/${String(shown.id)}`)).status).toBe(204)
      await expect.poll(status, aSecond).toBe(401)
      expect((await ql.api('GET', path)).body).toEqual({ items: [{ ...shown, revokedAt: time }] })
    })

    it('have names as people write them: an emoji is one character, and a new one is no control character', async () => {
      for (const name of ['👩‍🚀'.repeat(66), '\u{1fae8}', 'Ünïcode 日本']) {
        const { status, body } = await ql.api('POST', '/tenants/owner/keys', { name })
        expect([status, body['name']]).toEqual([201, name])
        await ql.api('DELETE', `/tenants/owner/keys/${String(body['id'])}`)
      }
    })

    it('another key of the owner may do what the owner may', async () => {
      const { body } = await ql.api('POST', '/tenants/owner/keys', { name: 'second' })
      expect((await ql.as(String(body['key']))('GET', '/tenants')).status).toBe(200)
      await ql.api('DELETE', `/tenants/owner/keys/${String(body['id'])}`)
    })
  })

  describe('what a tier allows', () => {
    it('is what a link gets that asks for nothing, and the most that it can get', async () => {
      const { api } = await ql.tenant()
      const { body } = await api('POST', '/links', { url: target })
      expect(body['monthlyHits']).toBe(10_000)
      expect(Math.abs(Date.parse(String(body['expiresAt'])) - Date.now() - 365 * dayMs)).toBeLessThan(5000)
      const path = `/links/${String(body['code'])}`
      const few = { monthlyHits: 5, expiresAt: inDays(3) }
      for (const [method, at] of [
        ['POST', '/links'],
        ['PATCH', path],
      ] as const) {
        const ask = (more: object, by = api) => by(method, at, method === 'POST' ? { url: target, ...more } : more)
        expect((await ask(few)).body['monthlyHits']).toBe(5)
        expect((await ask({ expiresAt: null, monthlyHits: null })).body).toMatchObject({
          monthlyHits: 10_000,
          expiresAt: time,
        })
        expect(problem(await ask({ monthlyHits: 10_001 }))).toBe('400 invalid monthlyHits')
        expect(problem(await ask({ expiresAt: inDays(366) }))).toBe('400 invalid expiresAt')
      }
      // Moderation does not lift the terms of the tenant.
      expect(problem(await ql.api('PATCH', path, { monthlyHits: 10_001 }))).toBe('400 invalid monthlyHits')
      expect(problem(await ql.api('PATCH', '/links/no-such-link', { monthlyHits: 1 }))).toBe('404 not_found')
    })

    it('is shown with what is used of it: a tenant its own, the owner anybody’s; the owner has no limit', async () => {
      const { id, api } = await ql.tenant({ linkQuota: 3 })
      await api('POST', '/links', { url: target })
      const left = (limit: number, used = 0) => ({ limit, used, remaining: limit - used, resetsAt: time })
      expect((await api('GET', '/limits')).body).toEqual({
        tier: 'standard',
        creates: left(50, 1),
        failedCreates: left(50),
        changes: left(600),
        // How much all others create is not a tenant's to know: whether it is near must do.
        aggregate: { limit: 2000, near: false, resetsAt: time },
        links: { used: 1, limit: 3 },
      })
      const any = expect.any(Number) as number
      expect((await ql.api('GET', `/tenants/${id}/limits`)).body).toMatchObject({
        creates: { used: 1 },
        aggregate: { limit: 2000, near: false, used: any, remaining: any },
        links: { used: 1 },
      })
      const none = { limit: null, used: null, remaining: null, resetsAt: null }
      expect((await ql.api('GET', '/limits')).body).toEqual({
        tier: 'unlimited',
        creates: none,
        failedCreates: none,
        changes: none,
        aggregate: { ...none, near: null },
        links: { used: any, limit: null },
      })
    })

    it('a full quota is 403 with used and limit, and can be counted anew', async () => {
      const { id, api } = await ql.tenant({ tier: 'plus', linkQuota: 1 })
      expect((await api('POST', '/links', { url: target })).status).toBe(201)
      const { status, body } = await api('POST', '/links', { url: target })
      expect([status, body]).toMatchObject([403, { code: 'quota_exceeded', used: 1, limit: 1 }])
      const synced = (await ql.api('POST', `/tenants/${id}/quota/sync`)).body
      // What Redis said before and after: nothing, where there is none.
      const inRedis = synced['after'] === null ? null : 1
      expect(synced).toEqual({ tenant: id, used: 1, before: inRedis, after: inRedis })
      expect((await ql.api('POST', '/quota/sync')).body['items']).toContainEqual(synced)
    })
  })
})

it('says that the limit of all tenants together is near when it is', async () => {
  const env = { RATE_LIMIT_AGGREGATE_PER_HOUR: '5' }
  const { url, key } = await startTestApp({ databaseUrl: await freshDatabase(), env })
  const ql = await quickLink(() => Promise.resolve({ url, key, publicUrl: url }))
  const [early, late] = [await ql.tenant(), await ql.tenant()]
  for (const near of [false, false, false, true]) {
    expect((await early.api('POST', '/links', { url: target })).status).toBe(201)
    expect((await late.api('GET', '/limits')).body).toMatchObject({ aggregate: { near } })
  }
})
