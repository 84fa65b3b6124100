// The roles of docs/OPERATE.md, made by its own SQL: what the server runs as may do all that a server does, and change no table.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openSql } from '../../embedded/sql.ts'
import { startServer } from '../../testing/server-process.ts'
import { handInPsql, startPostgresServer, waitFor } from '../../testing/services.ts'
import { boot } from '../boot.ts'
import { ConfigError } from '../config.ts'
import { createLog } from '../telemetry/log.ts'

const operate = readFileSync(new URL('../../docs/OPERATE.md', import.meta.url), 'utf8')
const chapter = operate.split('\n### With least rights\n')[1]?.split('\n### ')[0] ?? ''
/** Of superuser, owner, and owner again after the first migration. */
const blocks = Array.from(chapter.matchAll(/```sql\n([^`]+)```/g), ([, sql = '']) =>
  sql.split(';').map((statement) => statement.trim()).filter((statement) => statement !== ''),
) // prettier-ignore
const migrate = new URL('../migrate.ts', import.meta.url).pathname

test('with the grants of the documentation a server serves, counts, imports and keeps up, and may change no table', async () => {
  const { url } = await startPostgresServer({ bare: true })
  const as = (username: string, password: string): string =>
    Object.assign(new URL(url), { username, password, pathname: '/quicklink' }).href
  const [ownerUrl, databaseUrl] = [as('quicklink_owner', 'of-the-owner'), as('quicklink', 'of-the-server')]
  const does = async (at: string, statements: readonly string[] = []): Promise<void> => {
    const sql = openSql(at)
    for (const statement of statements) await sql.query(statement)
    await sql.close()
  }
  expect(blocks.map(({ length }) => length)).toEqual([5, 7, 1])
  await does(url, blocks[0])
  await does(ownerUrl, blocks[1])
  const early = boot({ databaseUrl, dataDir: '/nonexistent', ownerKey: undefined, codeSalt: undefined, visitsTz: 'UTC' }, createLog({ logLevel: 'silent' }, process.stdout)) // prettier-ignore
  await expect(early).rejects.toThrow(ConfigError)
  await expect(early).rejects.toThrow(/has to be migrated.*npm run migrate/)
  const { stdout } = await promisify(execFile)(process.execPath, [migrate], { env: { DATABASE_URL: ownerUrl } })
  expect(stdout).toContain('The database has all tables and indexes of this version.')
  await does(ownerUrl, blocks[2])

  const server = await startServer({ DATABASE_URL: databaseUrl, API_DB_TIMEOUT_MS: '10000', DB_TIMEOUT_MS: '5000' })
  const role = handInPsql(databaseUrl)
  expect((await server.api('POST', '/links', { code: 'mine', url: 'https://example.org/', monthlyHits: 100, tags: ['a'] })).status).toBe(201) // prettier-ignore
  const { ask } = { ask: (path: string) => fetch(server.url + path, { redirect: 'manual' }) }
  expect((await ask('/mine')).status).toBe(302)
  const csv = { 'Content-Type': 'text/csv' }
  const { body } = await server.api('POST', '/imports', 'code,url\nkept,https://example.org/kept\n', csv)
  const done = async () => (await server.api('GET', `/imports/${String(body['id'])}`)).body['state'] === 'done'
  await waitFor(done, { deadlineMs: 30_000 })
  expect((await ask('/kept')).status).toBe(302)
  const visits = async () => (await role.query<{ n: number }>('select sum(total)::int as n from visit_hours where subject like $1', ['l/%']))[0]?.n // prettier-ignore
  await waitFor(async () => (await visits()) === 2, { deadlineMs: 30_000 })
  expect((await server.api('DELETE', '/links/kept')).status).toBe(204)
  expect((await server.api('POST', '/quota/sync')).status).toBe(200)
  await waitFor(() => server.output().includes('kept up'), { deadlineMs: 30_000 })
  expect(server.output()).not.toMatch(/permission denied|must be owner/)

  const partition = 'visit_hours_2031w01'
  const made = `select ql_visit_partitions('2031-01-01Z', '2031-01-01Z') as n`
  expect(await role.query(made)).toEqual([{ n: 4 }])
  expect(await role.query('select ql_drop_visit_partition($1) as gone', [partition])).toEqual([{ gone: true }])
  await role.query(`insert into visit_days (subject, at) values ('l/1', '2031-01-01Z')`)
  expect(await role.query(`select ql_drop_visit_partition('visit_days_2031m01') as gone`)).toEqual([{ gone: false }])
  for (const name of ['links', 'visit_days', 'visit_days_2031m01; drop table links', 'pg_class'])
    await expect(role.query('select ql_drop_visit_partition($1)', [name])).rejects.toThrow('is no partition of visits')
  for (const statement of [
    'drop table links',
    'alter table links disable trigger all',
    'create table more (n int)',
    'truncate outbox',
    'delete from ql_migrations',
  ])
    // prettier-ignore
    await expect(role.query(statement)).rejects.toThrow(/permission denied|must be owner/)
})
