import { beforeAll, expect, test } from 'vitest'
import { openPostgres, type Postgres, type Sql } from '../connections/postgres.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, waitFor } from '../../testing/services.ts'
import { readSnapshot, recordOp } from './quota-store.ts'
import { createQuotaSync } from './quota-sync.ts'
import { quotaTimes, type TenantQuota } from './tenant-quota.ts'
import { defaultTiers } from '../limits/tiers.ts'

let db: Postgres

beforeAll(async () => {
  const databaseUrl = await freshDatabase()
  const app = await startTestApp({ databaseUrl })
  for (const [id, tier] of [['acme', 'standard'], ['bigger', 'plus'], ['free', 'unlimited']]) {
    expect((await app.api('POST', '/tenants', { id, name: id, tier })).status).toBe(201)
  } // prettier-ignore
  const onError = (): void => undefined
  db = openPostgres({ url: databaseUrl, name: 'test', maxConnections: 8, connectMs: 2000, queryMs: 5000, onError })
  return () => db.close()
})

function replica() {
  const synced: string[] = []
  const quota = {
    sync: (tenant: string) => Promise.resolve((synced.push(tenant), { used: 0, before: null, after: 0 })),
  } as unknown as TenantQuota
  return { synced, nightly: createQuotaSync(db, defaultTiers, quota).nightly }
}

test('every night one of all replicas syncs every tenant with a quota, and forgets old ids', async () => {
  await recordOp(db, 'acme', '+old')
  await recordOp(db, 'acme', '+new')
  await db.query(`update quota_ops set at = now() - interval '1 hour' where id = '+old'`)
  const replicas = Array.from({ length: 6 }, replica)
  for (let night = 0; night < 2; night++) {
    for (const { synced } of replicas) synced.length = 0
    const done = await Promise.all(replicas.map(({ nightly }) => nightly()))
    expect(done.filter(Boolean)).toHaveLength(1)
    expect(replicas.flatMap(({ synced }) => synced)).toEqual(['acme', 'bigger'])
    expect(await replicas[0]?.nightly()).toBe(false)
    await db.query(`update quota_nights set synced_at = synced_at - interval '1 day'`)
  }
  expect(await db.query('select id from quota_ops')).toEqual([{ id: '+new' }])
})

test('a night is one transaction for each tenant, and what one replica leaves behind the next one does', async () => {
  await db.query(`update quota_nights set synced_at = '-infinity'`)
  const begun: unknown[] = []
  const diesAt = (victim: string | undefined) =>
    createQuotaSync(db, defaultTiers, {
      sync: async (tenant: string, sql: Sql) => {
        if (tenant === victim) throw new Error('killed')
        const [row] = await sql.query<{ at: string }>('select now()::text as at')
        begun.push([tenant, row?.at])
        return { used: 0, before: null, after: 0 }
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

test('what is young is told by the moment of the question, not by the beginning of its transaction', async () => {
  await db.query(
    `insert into quota_ops (id, tenant, at) values ('-almost', 'acme', clock_timestamp() - make_interval(secs => 19.9))`,
  )
  await db.transaction(async (sql) => {
    await sql.query('select now()')
    const isYoung = async (): Promise<boolean> =>
      (await readSnapshot(sql, 'acme', quotaTimes))?.young.includes('-almost') ?? false
    await waitFor(async () => !(await isYoung()))
  })
})

test('a night that fails is another replica’s', async () => {
  const broken = { sync: () => Promise.reject(new Error('Redis is away')) } as unknown as TenantQuota
  await db.query(`update quota_nights set synced_at = '-infinity'`)
  await expect(createQuotaSync(db, defaultTiers, broken).nightly()).rejects.toThrow('away')
  expect(await replica().nightly()).toBe(true)
})
