// Who may ask for what: every operation × every role. The table says it a second time, so that nobody gives a role more by a slip.
import { beforeAll, describe, expect, it } from 'vitest'
import { covers, roles, type Role } from '../server/api/operation.ts'
import { operations } from '../testing/operations.ts'
import { fresh, problem, quickLink, target, type QuickLink, type Tenant } from './quicklink.ts'

const table: Readonly<Record<Role | 'nothing', readonly string[]>> = {
  nothing: ['GET /sign-in', 'POST /session', 'POST /invitation'],
  viewer: [
    'GET /links',
    'GET /links/export',
    'GET /links/{code}',
    'GET /links/{code}/clicks',
    'GET /links/{code}/hits',
    'GET /limits',
    ...['GET /session', 'DELETE /session', 'GET /sessions', 'DELETE /sessions', 'DELETE /sessions/{id}'],
    'GET /tags',
    ...['GET /links/{code}/stats', 'GET /stats', 'GET /tags/{tag}/stats', 'GET /visits/export'],
    ...['GET /imports', 'GET /imports/{id}', 'GET /imports/{id}/refused'],
  ],
  editor: [
    'POST /imports',
    'DELETE /imports/{id}',
    'POST /links/bulk',
    'PATCH /links/bulk',
    'DELETE /links/bulk',
    'POST /links',
    'PATCH /links/{code}',
    'DELETE /links/{code}',
    'PATCH /tags/{tag}',
    'DELETE /tags/{tag}',
  ],
  admin: [
    'POST /tenants/{id}/keys',
    'GET /tenants/{id}/keys',
    'GET /tenants/{id}/keys/{keyId}',
    'DELETE /tenants/{id}/keys/{keyId}',
    'GET /audit',
    ...['POST /members', 'GET /members', 'GET /members/{id}', 'PATCH /members/{id}', 'DELETE /members/{id}'],
    'POST /members/{id}/invitation',
  ],
  owner: [
    ...['POST /tenants', 'GET /tenants', 'GET /tenants/{id}', 'PATCH /tenants/{id}', 'DELETE /tenants/{id}'],
    ...['GET /tenants/{id}/limits', 'POST /tenants/{id}/quota/sync', 'POST /quota/sync'],
    ...['POST /domains', 'GET /domains', 'GET /domains/{host}', 'PATCH /domains/{host}', 'DELETE /domains/{host}'],
    ...['GET /cache/{code}', 'POST /cache/invalidate'],
    'POST /sign-in-links',
    'GET /system',
  ],
}
const least = (['nothing', ...roles] as const).flatMap((role) => table[role].map((asked) => [asked, role] as const))

it('the table has every operation', () => {
  const declared = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  expect(least.map(([asked]) => asked).sort()).toEqual(declared.sort())
})

describe('a key', () => {
  let ql: QuickLink
  let acme: Tenant
  const keys = new Map<string, string>()
  beforeAll(async () => {
    ql = await quickLink()
    acme = await ql.tenant()
    for (const role of ['viewer', 'editor', 'admin'] as const) {
      const { status, body } = await ql.api('POST', `/tenants/${acme.id}/keys`, { name: role, role })
      expect([status, body['role']]).toEqual([201, role])
      keys.set(role, String(body['key']))
    }
    keys.set('owner', ql.key)
  })
  const as = (role: Role) => ql.as(keys.get(role) ?? '')

  it.each(least.flatMap(([asked, needed]) => roles.map((role) => [role, asked, needed] as const)))(
    'with the role %s asks %s, which needs %s',
    async (role, asked, needed) => {
      const [method = '', path = ''] = asked.split(' ')
      // What is not forbidden finds nothing, or lacks something. A tenant that is there: keys are managed of one's own.
      const id = path.includes('/keys') ? acme.id : 'nobody'
      const at = path
        .replace('{code}', 'no-such-link')
        .replace('{tag}', 'no-such-tag')
        .replace('{id}', id)
        .replace('{keyId}', 'no-such-key')
        .replace('{host}', 'none.example')
      const answer = await as(role)(method, at, ['POST', 'PATCH'].includes(method) ? {} : undefined)
      const isForbidden = answer.status === 403 && answer.body['code'] === 'forbidden'
      expect([answer.status, isForbidden]).toEqual([answer.status, !covers(role, needed)])
    },
  )

  it('of an admin makes keys of its tenant with roles up to its own, and takes them away; of no other tenant', async () => {
    const path = `/tenants/${acme.id}/keys`
    for (const role of ['viewer', 'editor', 'admin', undefined]) {
      const made = await as('admin')('POST', path, { name: 'made', role })
      expect([made.status, made.body['role']]).toEqual([201, role ?? 'editor'])
      expect((await ql.as(String(made.body['key']))('GET', '/links')).status).toBe(200)
      const at = `${path}/${String(made.body['id'])}`
      expect(made.headers.location).toBe(`/api/v1${at}`)
      const { key: _, ...shown } = made.body
      expect((await as('admin')('GET', at)).body).toEqual(shown)
      expect((await as('admin')('DELETE', at)).status).toBe(204)
      expect(problem(await as('admin')('GET', at))).toBe('404 not_found')
    }
    expect(problem(await as('admin')('POST', path, { name: 'x', role: 'owner' }))).toBe('409 conflict role')
    expect(problem(await as('admin')('POST', path, { name: 'x', role: 'boss' }))).toBe('400 invalid role')
    const other = await ql.tenant()
    for (const id of [other.id, 'owner', 'nobody']) {
      expect(problem(await as('admin')('GET', `/tenants/${id}/keys`))).toBe('403 forbidden')
      expect(problem(await as('admin')('POST', `/tenants/${id}/keys`, { name: 'x' }))).toBe('403 forbidden')
      expect(problem(await as('admin')('GET', `/tenants/${id}/keys/owner`))).toBe('403 forbidden')
      expect(problem(await as('admin')('DELETE', `/tenants/${id}/keys/owner`))).toBe('403 forbidden')
    }
  })

  it("of the owner's tenant is the owner's unless it has a role; then it is that tenant's, and makes no owner", async () => {
    const path = '/tenants/owner/keys'
    const theirs = String((await acme.api('POST', '/links', { url: target })).body['code'])
    const { body: second } = await ql.api('POST', path, { name: 'second' })
    const { body: admin } = await ql.api('POST', path, { name: 'admin', role: 'admin' })
    expect([second['role'], admin['role']]).toEqual(['owner', 'admin'])
    const [asOwner, asAdmin] = [ql.as(String(second['key'])), ql.as(String(admin['key']))]
    expect((await asOwner('GET', `/links/${theirs}`)).status).toBe(200)
    expect(problem(await asAdmin('GET', `/links/${theirs}`))).toBe('404 not_found')
    expect(problem(await asAdmin('PATCH', `/links/${theirs}`, { enabled: false }))).toBe('404 not_found')
    expect((await asAdmin('POST', '/links', { url: target, code: fresh('admins') })).body).toMatchObject({
      tenant: 'owner',
    })
    for (const role of ['owner', undefined]) {
      expect(problem(await asAdmin('POST', path, { name: 'x', role }))).toBe('403 forbidden')
    }
    expect(problem(await asAdmin('DELETE', `${path}/${String(second['id'])}`))).toBe('403 forbidden')
    expect((await asAdmin('POST', path, { name: 'x', role: 'editor' })).status).toBe(201)
    await ql.api('DELETE', `${path}/${String(second['id'])}`)
  })

  it('of another tenant finds nothing of this one, by whichever operation names something, and changes nothing', async () => {
    const admin = ql.as(keys.get('admin') ?? '')
    const link = String((await admin('POST', '/links', { url: target, title: 'ours', tags: ['ours'] })).body['code'])
    const member = String((await admin('POST', '/members', { name: 'Ours', role: 'viewer' })).body['id'])
    const [key] = (await admin('GET', `/tenants/${acme.id}/keys`)).body['items'] as { id: string }[]
    const ours = async (): Promise<unknown[]> =>
      Promise.all(['/links?limit=100', '/members', `/tenants/${acme.id}/keys`, '/tags'].map(async (path) => (await admin('GET', path)).body)) // prettier-ignore
    const before = await ours()
    const other = await ql.tenant()
    const { body } = await ql.api('POST', `/tenants/${other.id}/keys`, { name: 'theirs', role: 'admin' })
    const theirs = ql.as(String(body['key']))
    const named: Readonly<Record<string, string>> = { code: link, tag: 'ours', keyId: key?.id ?? '' }
    const valid: Readonly<Record<string, object>> = { 'PATCH /links/{code}': { enabled: false }, 'POST /tenants/{id}/keys': { name: 'theirs' }, 'PATCH /tags/{tag}': { name: 'theirs' }, 'PATCH /members/{id}': { role: 'editor' } } // prettier-ignore
    const found: string[] = []
    for (const { method, path } of operations) {
      // Sessions are of one's own account: server/members. Imports are found by what is asked for: server/imports.
      if (!path.includes('{') || /sessions|imports|domains/.test(path)) continue
      const at = path.replace(/\{(\w+)\}/g, (_, name: string) => named[name] ?? (path.startsWith('/members') ? member : acme.id)) // prettier-ignore
      const asked = `${method.toUpperCase()} ${path}`
      const sent = ['post', 'patch'].includes(method) ? (valid[asked] ?? {}) : undefined
      const { status, text } = await theirs(method.toUpperCase(), at, sent)
      if (![403, 404].includes(status)) found.push(`${asked}: ${status} ${text.slice(0, 100)}`)
    }
    expect(found).toEqual([])
    for (const body of [{ codes: [link], change: { enabled: false } }, { codes: [link] }]) {
      const { body: said } = await theirs('change' in body ? 'PATCH' : 'DELETE', '/links/bulk', body)
      expect(said['results']).toMatchObject([{ status: 404 }])
    }
    for (const path of [
      '/links',
      '/links/export',
      '/stats',
      '/tags',
      '/audit',
      '/members',
      '/imports',
      '/visits/export',
    ]) {
      const { status, text } = await theirs('GET', `${path}?tenant=${acme.id}`)
      expect([path, [400, 403].includes(status) ? 'refused' : `${status} ${text.slice(0, 100)}`]).toEqual([path, 'refused']) // prettier-ignore
    }
    expect(await ours()).toEqual(before)
  })
})
