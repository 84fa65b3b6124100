import { afterAll, expect, test } from 'vitest'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { openSql } from '../../embedded/sql.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { upkeep } from './upkeep.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
// As the upkeep's own connections.
const db = openSql(databaseUrl, { maxConnections: 8, queryMs: 2000 })
afterAll(() => db.close())
const create = (body: object, headers = {}): Promise<ApiAnswer> => app.api('POST', '/links', { url, ...body }, headers)

const failed: [task: string, error: unknown][] = []
const onFailure = (task: string, error: unknown): void => {
  failed.push([task, error])
}
const url = 'https://example.com/'
const codes = async (): Promise<string[]> =>
  (await db.query<{ code: string }>('select code from links order by code')).map((row) => row.code)

test('links go 30 days after they expired or were deleted, with their clicks, and their codes are free for everybody; what leads on goes only when deleted', async () => {
  const acme = await newTenant(app, 'acme')
  const days = limits.purgeAfterDays
  for (const [code, column, age] of [
    ['deleted-long-ago', 'deleted_at', days + 1],
    ['deleted-lately', 'deleted_at', days - 1],
    ['expired-long-ago', 'expires_at', days + 1],
    ['expired-lately', 'expires_at', days - 1],
    ['alive', 'created_at', days + 1],
    ['leads-on', 'expires_at', days + 1],
    ['led-on', 'deleted_at', days + 1],
  ] as const) {
    await create({ code, ...(code.endsWith('-on') ? { expiredUrl: `${url}over` } : {}) })
    await db.query(`update links set ${column} = now() - make_interval(days => ${age}) where code = '${code}'`)
  }
  await db.query(`insert into clicks select id, date_trunc('hour', now()), 1 from links`)
  const taken = await acme.api('POST', '/links', { url, code: 'deleted-long-ago' })
  expect(taken.status).toBe(409)
  const announcedBefore = await db.query('select from outbox')

  expect(await upkeep(db, onFailure)).toMatchObject({ links: 3 })

  expect(await codes()).toEqual(['alive', 'deleted-lately', 'expired-lately', 'leads-on'])
  expect(await db.query('select from clicks')).toHaveLength(4)
  expect(await db.query('select from click_totals')).toHaveLength(4)
  expect(await db.query('select from outbox')).toHaveLength(announcedBefore.length)
  const created = await acme.api('POST', '/links', { url, code: 'deleted-long-ago' })
  expect([created.status, created.body['clicks']]).toEqual([201, 0])
})

test('idempotency keys and the outbox are kept as long as they are needed, and no longer', async () => {
  await create({}, { 'Idempotency-Key': 'old' })
  await db.query(
    `update idempotency_keys set created_at = now() - make_interval(hours => ${limits.idempotencyHours}, mins => 1)`,
  )
  await create({}, { 'Idempotency-Key': 'new' })
  await db.query(`update outbox set at = now() - make_interval(hours => ${limits.outboxHours}, mins => 1)`)
  const [old] = await db.query<{ n: number }>('select count(*) as n from outbox')
  await create({})

  expect(await upkeep(db, onFailure)).toMatchObject({ links: 0, idempotencyKeys: 1, outbox: old?.n })
  expect(await db.query('select key from idempotency_keys')).toEqual([{ key: 'new' }])
  expect(await db.query('select from outbox')).toHaveLength(1)
})

test('grants of hits and spools go when nobody can speak of them any more', async () => {
  await db.query(`insert into hits (link_id, month, granted) values (1, now() - interval '4 months', 1), (1, now(), 1)`)
  await db.query(
    `insert into click_spools (id, last_batch, clicks, closed_at) values
       (gen_random_uuid(), 1, 1, now() - interval '8 days'), (gen_random_uuid(), 1, 1, now()), (gen_random_uuid(), 1, 1, null)`,
  )
  expect(await upkeep(db, onFailure)).toMatchObject({ hits: 1, spools: 1 })
  expect(await db.query('select from click_spools')).toHaveLength(2)
})

test('more than one batch is worked off, by one process at a time', async () => {
  await db.query(
    `insert into links (code, url, deleted_at) select 'bulk-' || n, '${url}', now() - interval '40 days' from generate_series(1, 2500) as n`,
  )
  const [a, b] = await Promise.all([upkeep(db, onFailure), upkeep(db, onFailure)])
  expect(a.links + b.links + (await upkeep(db, onFailure)).links).toBe(2500)
})

const makeKeys = (count: number): Promise<unknown> =>
  db.query(
    `insert into idempotency_keys (tenant, key, body_hash, created_at)
     select 'owner', 'k' || n, '', now() - interval '3 days' from generate_series(1, ${count}) as n`,
  )
const trouble = async (what: string): Promise<() => Promise<unknown>> => {
  await db.query(
    `create function trouble() returns trigger language plpgsql as $$ begin ${what}; return old; end $$;
     create trigger trouble before delete on idempotency_keys for each row execute function trouble()`,
  )
  return () => db.query('drop function trouble cascade')
}

test('a task that fails is told of, and those after it go on; the next time it goes on, too', async () => {
  await makeKeys(5)
  await db.query(`update outbox set at = now() - interval '1 year'`)
  const end = await trouble(`raise exception 'no'`)
  const worked = await upkeep(db, onFailure)
  expect(failed).toMatchObject([['idempotencyKeys', { message: 'no' }]])
  expect(worked.idempotencyKeys).toBe(0)
  expect(worked.outbox).toBeGreaterThan(0)
  expect(await db.query('select from outbox')).toHaveLength(0)
  await end()
  expect((await upkeep(db, onFailure)).idempotencyKeys).toBe(5)
  expect(failed).toHaveLength(1)
})

test('what is too much for one statement is removed in smaller ones', async () => {
  failed.length = 0
  await makeKeys(100)
  // All of them at once would take half a minute; the deadline of a statement here is two seconds.
  const end = await trouble('perform pg_sleep(0.03)')
  const before = await upkeep(db, onFailure)
  await end()
  expect(failed).toEqual([])
  expect(before.idempotencyKeys).toBe(100)
})
