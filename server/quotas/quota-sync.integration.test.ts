import { expect, test } from 'vitest'
import type { Sql } from '../connections/postgres.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, handInPsql } from '../../testing/services.ts'
import { createQuotaSync } from './quota-sync.ts'
import type { TenantQuota } from './tenant-quota.ts'
import { defaultTiers } from '../tenants/tiers.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
for (const [id, tier] of [['acme', 'standard'], ['bigger', 'plus'], ['free', 'unlimited']]) {
    expect((await app.api('POST', '/tenants', { id, name: id, tier })).status).toBe(201)
  } // prettier-ignore
const db = handInPsql(databaseUrl, { maxConnections: 8 })

function replica() {
  const synced: string[] = []
  const quota = {
    hasGate: true,
    syncIn: (_sql: Sql, tenant: string) => Promise.resolve(void synced.push(tenant)),
  } as unknown as TenantQuota
  return { synced, nightly: createQuotaSync(db, defaultTiers, quota).nightly }
}

test('every night one of all replicas syncs every tenant with a quota', async () => {
  const replicas = Array.from({ length: 6 }, replica)
  for (let night = 0; night < 2; night++) {
    for (const { synced } of replicas) synced.length = 0
    const done = await Promise.all(replicas.map(({ nightly }) => nightly()))
    expect(done.filter(Boolean)).toHaveLength(1)
    // Each tenant once. Another replica may take over between two tenants.
    expect(replicas.flatMap(({ synced }) => synced).sort()).toEqual(['acme', 'bigger'])
    expect(await replicas[0]?.nightly()).toBe(false)
    await db.query(`update quota_nights set synced_at = synced_at - interval '1 day'`)
  }
})

test('a night is one transaction for each tenant, and what one replica leaves behind the next one does', async () => {
  await db.query(`update quota_nights set synced_at = '-infinity'`)
  const begun: unknown[] = []
  const diesAt = (victim: string | undefined) =>
    createQuotaSync(db, defaultTiers, {
      hasGate: true,
      syncIn: async (sql: Sql, tenant: string) => {
        if (tenant === victim) throw new Error('killed')
        const [row] = await sql.query<{ at: string }>('select now()::text as at')
        begun.push([tenant, row?.at])
      },
    } as unknown as TenantQuota).nightly()
  await expect(diesAt('bigger')).rejects.toThrow('killed')
  expect(begun).toMatchObject([['acme', expect.any(String)]])
  begun.length = 0
  expect(await diesAt(undefined)).toBe(true)
  // The tenant that was done is not done again.
  expect(begun).toMatchObject([['bigger', expect.any(String)]])
  begun.length = 0
  await db.query(`update quota_nights set synced_at = synced_at - interval '1 day'`)
  expect(await diesAt(undefined)).toBe(true)
  const times = begun.map((entry) => (entry as string[])[1])
  expect(new Set(times).size).toBe(2)
})

test('a server of the version before goes on creating and deleting while it is replaced; its own syncs fail', async () => {
  const counts = 'select count(*) from links where tenant = $1 and deleted_at is null'
  const [created] = await db.query(`with op as (insert into quota_ops (id, tenant) values ($2, $1)) ${counts}`, [
    'acme',
    '+create',
  ])
  expect(created).toEqual({ count: 0 })
  await db.query('insert into quota_ops (id, tenant) values ($1, $2)', ['-delete', 'acme'])
  await db.query('delete from quota_ops where tenant = any ($1)', [['acme']])
  await expect(db.query('select id from quota_ops where tenant = $1', ['acme'])).rejects.toThrow('to be replaced')
})

test('a night that fails is another replica’s', async () => {
  const broken = { hasGate: true, syncIn: () => Promise.reject(new Error('Redis is away')) } as unknown as TenantQuota
  await db.query(`update quota_nights set synced_at = '-infinity'`)
  await expect(createQuotaSync(db, defaultTiers, broken).nightly()).rejects.toThrow('away')
  expect(await replica().nightly()).toBe(true)
})
