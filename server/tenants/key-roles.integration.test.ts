// Keys with a role, beside servers from before there were roles, and in a number that is bounded.
import { expect, test } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, created } from '../../testing/http.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { hashKey } from './keys.ts'

/** What a server asked for before there were roles, and took for a key that may write. */
const before = `select tenant from api_keys
  where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())`

test('a server from before there were roles knows the keys without one, and refuses those with one', async () => {
  const databaseUrl = await freshDatabase()
  const { api, url } = await startTestApp({ databaseUrl })
  await created(api, '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  const make = async (tenant: string, role?: string): Promise<string> =>
    String((await created(api, `/tenants/${tenant}/keys`, { name: 'x', role }))['key'])
  const known = (key: string): Promise<unknown[]> => withSql(databaseUrl, (sql) => sql.query(before, [hashKey(key)]))
  for (const [tenant, role] of [['acme'], ['acme', 'editor'], ['owner'], ['owner', 'owner']] as const) {
    expect(await known(await make(tenant, role))).toEqual([{ tenant }])
  }
  for (const [tenant, role] of [
    ...[
      ['acme', 'viewer'],
      ['acme', 'admin'],
    ],
    ...[
      ['owner', 'viewer'],
      ['owner', 'editor'],
      ['owner', 'admin'],
    ],
  ] as [string, string][]) {
    const key = await make(tenant, role)
    expect(await known(key)).toEqual([])
    expect((await apiOf(url, key)('GET', '/limits')).status).toBe(200)
  }
})

test('a key that such a server has made is an editor; of the owner, an owner', async () => {
  const databaseUrl = await freshDatabase()
  const { api, url } = await startTestApp({ databaseUrl })
  await created(api, '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  const make = (tenant: string, key: string) =>
    withSql(databaseUrl, (sql) =>
      sql.query('insert into api_keys (id, tenant, name, key_hash) values ($1, $2, $1, $3)', [
        `key_${tenant}`,
        tenant,
        hashKey(key),
      ]),
    )
  const [old, owners] = ['an-old-key-of-a-tenant-of-32-characters', 'an-old-key-of-the-owner-of-32-characters']
  await make('acme', old)
  await make('owner', owners)
  expect((await apiOf(url, old)('POST', '/links', { url: 'https://example.org/' })).status).toBe(201)
  expect((await apiOf(url, old)('GET', '/tenants/acme/keys')).status).toBe(403)
  expect((await apiOf(url, owners)('GET', '/tenants/acme/keys')).body).toMatchObject({ items: [{ role: 'editor' }] })
})

test('a tenant has a bounded number of keys', async () => {
  const databaseUrl = await freshDatabase()
  const { api } = await startTestApp({ databaseUrl })
  await created(api, '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  const fill = `insert into api_keys (id, tenant, name, key_hash, revoked_at)
    select 'k' || n, 'acme', 'x', sha256(n::text::bytea), now() from generate_series(1, $1::int) n`
  await withSql(databaseUrl, (sql) => sql.query(fill, [limits.keysPerTenant - 1]))
  const make = () => api('POST', '/tenants/acme/keys', { name: 'x' })
  expect((await make()).status).toBe(201)
  expect(await make()).toMatchObject({ status: 409, body: { code: 'conflict' } })
  expect((await api('GET', '/tenants/acme/keys')).body['items']).toHaveLength(limits.keysPerTenant)
})
