// The API of one link that exists, and of what does not.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectProblem, startApi, type Api } from './api.stub.ts'

let api: Api
let acme: string
let other: string

beforeAll(async () => {
  api = await startApi()
  acme = await api.addTenant('acme')
  other = await api.addTenant('other')
})
afterAll(() => api.close())

const target = 'https://example.com/some/page'

describe('GET, PATCH and DELETE /links/{code}', () => {
  test('200: PATCH changes what it names, and nothing else', async () => {
    const { body: before } = await api.create({ url: target, monthlyHits: 5, expiresAt: '2099-01-01T00:00:00Z' })
    const path = `/links/${before.code}`
    const patched = await api.call('PATCH', path, { body: { url: 'https://example.org/ö', expiresAt: null } })
    expect(patched.status).toBe(200)
    expect(patched.body).toEqual({
      ...before,
      url: 'https://example.org/%C3%B6',
      expiresAt: null,
      version: expect.any(Number),
      updatedAt: expect.any(String),
    })
    expect(patched.body.version).toBeGreaterThan(before.version)
    expect(api.announced.at(-1)).toMatchObject({ url: 'https://example.org/%C3%B6', version: patched.body.version })
    const disabled = await api.call('PATCH', path, { body: { enabled: false } })
    expect(api.announced.at(-1)).toEqual({ absent: true, version: disabled.body.version })
    expect((await api.call('GET', path)).body).toEqual(disabled.body)
  })

  test('204: DELETE; after that 404 for everything', async () => {
    const { body } = await api.create({ url: target })
    const path = `/links/${body.code}`
    const deleted = await api.call('DELETE', path)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect(api.announced.at(-1)).toEqual({ absent: true, version: expect.any(Number) })
    expectProblem(await api.call('GET', path), 404, 'not_found')
    expectProblem(await api.call('PATCH', path, { body: { enabled: true } }), 404, 'not_found')
    expectProblem(await api.call('DELETE', path), 404, 'not_found')
    expectProblem(await api.call('GET', `${path}/clicks`), 404, 'not_found')
  })

  test.each([
    ['body', {}],
    ['code', { code: 'another' }],
    ['url', { url: 'javascript:alert(1)' }],
    ['url', { url: null }],
    ['enabled', { enabled: 'yes' }],
    ['monthlyHits', { monthlyHits: -1 }],
    ['expiresAt', { expiresAt: '2001-01-01T00:00:00Z' }],
  ])('400: PATCH naming %s: %j', async (field, body) => {
    const { body: link } = await api.create({ url: target })
    expectProblem(await api.call('PATCH', `/links/${link.code}`, { body }), 400, 'invalid', field)
  })

  test('404: no such code, one that no code can be, and a path that is no text', async () => {
    for (const path of [
      '/links/nowhere',
      '/links/%00',
      '/links/a%20b',
      '/links/%ff',
      `/links/${'x'.repeat(65)}`,
      '/links/admin',
    ]) {
      expectProblem(await api.call('GET', path), 404, 'not_found')
    }
    expectProblem(await api.call('GET', '/nothing'), 404, 'not_found')
    expectProblem(await api.call('GET', '/LINKS'), 404, 'not_found')
  })

  test("404: another tenant's link; the owner may read, change and disable it", async () => {
    await api.create({ url: target, code: 'acme-only' }, { key: acme })
    const patch = { body: { enabled: false } }
    expectProblem(await api.call('GET', '/links/acme-only', { key: other }), 404, 'not_found')
    expectProblem(await api.call('GET', '/links/acme-only/clicks', { key: other }), 404, 'not_found')
    expectProblem(await api.call('PATCH', '/links/acme-only', { key: other, ...patch }), 404, 'not_found')
    expectProblem(await api.call('DELETE', '/links/acme-only', { key: other }), 404, 'not_found')
    expect((await api.call('GET', '/links/acme-only')).body).toMatchObject({ tenant: 'acme', enabled: true })
    expect((await api.call('PATCH', '/links/acme-only', patch)).body).toMatchObject({ tenant: 'acme', enabled: false })
  })

  test('405 with Allow', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/links', 'GET, HEAD, POST'],
      ['PUT', '/links/abc', 'GET, HEAD, PATCH, DELETE'],
      ['OPTIONS', '/links/abc', 'GET, HEAD, PATCH, DELETE'],
      ['POST', '/links/abc/clicks', 'GET, HEAD'],
    ] as const) {
      const answer = await api.call(method, path)
      expectProblem(answer, 405, 'method_not_allowed')
      expect(answer.headers.get('allow')).toBe(allow)
    }
  })
})
