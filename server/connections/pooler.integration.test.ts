// Behind PgBouncer in transaction mode nothing of a session lasts: neither settings nor prepared statements. QuickLink needs neither.
import { expect, test } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { pooledConnections } from '../../testing/pgbouncer.ts'
import { adminUrlOf, freshDatabase, handInPsql, throughPgBouncer, waitFor } from '../../testing/services.ts'
import { openPostgres, openSession } from './postgres.ts'

// It may have to be installed first.
const timeout = 180_000
const none = 'there is no PgBouncer, and no apt to install it'

test('a worker’s eleven connections share three: links, imports, exports, clicks', { timeout }, async ({ skip }) => {
  const direct = await freshDatabase()
  const databaseUrl = (await throughPgBouncer(direct)) ?? skip(none)
  // Nothing may be answered from memory alone.
  const env = { DATABASE_DIRECT_URL: direct, API_DB_TIMEOUT_MS: '10000', DB_TIMEOUT_MS: '5000' }
  const app = await startTestApp({ databaseUrl, env })
  const codes = await Promise.all(
    Array.from({ length: 20 }, (_, n) => app.create(`https://example.org/${n}`, { tags: ['a'] })),
  )
  const visits = await Promise.all([...codes, ...codes].map((code) => app.get(`/${code}`)))
  expect(visits.map(({ status }) => status)).toEqual(Array(40).fill(302))
  expect((await app.api('PATCH', `/links/${codes[0]}`, { url: 'https://example.org/new' })).status).toBe(200)
  const file = `code,url\n${Array.from({ length: 50 }, (_, n) => `kept-${n},https://example.org/${n}`).join('\n')}\n`
  const { body } = await app.api('POST', '/imports', file, { 'Content-Type': 'text/csv' })
  await waitFor(async () => (await app.api('GET', `/imports/${String(body['id'])}`)).body['state'] === 'done', {
    deadlineMs: 60_000,
  })
  expect((await app.get('/kept-49')).headers['location']).toBe('https://example.org/49')
  const { text } = await app.api('GET', '/links/export?format=ndjson')
  expect(text.trim().split('\n')).toHaveLength(70)
  await waitFor(async () => (await app.metric('quicklink_clicks_persisted_total')) === 41, { deadlineMs: 60_000 })
  const [seen] = await handInPsql(adminUrlOf(direct)).query<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = $1 and application_name like 'quicklink-%'`,
    [new URL(direct).pathname.slice(1)],
  )
  expect(seen?.n).toBeGreaterThan(0)
  expect(seen?.n).toBeLessThanOrEqual(pooledConnections)
})

test('each transaction has the settings of its pool, and leaves none to the next', { timeout }, async ({ skip }) => {
  const url = (await throughPgBouncer(await freshDatabase())) ?? skip(none)
  const open = { url, pooled: true, connectMs: 10_000, onError: () => undefined }
  const pool = openPostgres({ ...open, name: 'probes', maxConnections: 1, queryMs: 10_000, onlyIndexes: true })
  const settings = `select pg_backend_pid() as pid, current_setting('jit') as jit, current_setting('enable_seqscan') as scan,
    current_setting('statement_timeout') as bound`
  try {
    const [first] = await pool.query(settings, [], 'named')
    const within = await pool.transaction(async (sql) => (await sql.query(settings))[0])
    await using stranger = await openSession({ ...open, name: 'stranger', queryMs: 10_000 })
    const { rows } = await stranger.client.query(settings)
    const [again] = await pool.query(settings, [], 'named')
    const { pid } = first as { pid: number }
    expect([first, within, again]).toEqual(Array(3).fill({ pid, jit: 'off', scan: 'off', bound: '9s' }))
    expect(rows).toEqual([{ pid, jit: 'on', scan: 'on', bound: '0' }])
    await expect(pool.query('select 1 / $1::int', [0])).rejects.toThrow('division by zero')
    expect(await pool.query('select $1::int as n', [7])).toEqual([{ n: 7 }])
  } finally {
    await pool.close()
  }
})
