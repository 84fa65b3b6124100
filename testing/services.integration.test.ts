import { readFileSync } from 'node:fs'
import { expect, inject, test } from 'vitest'
import { askRedis } from '../embedded/redis-process.ts'
import { type Postgres, openPostgres } from '../server/connections/postgres.ts'
import { adminUrlOf, freshDatabase, freshRedis, startPostgresServer, startRedisServer, waitFor } from './services.ts'

async function sql<T>(url: string, work: (db: Postgres) => Promise<T>): Promise<T> {
  const onError = (): undefined => undefined
  const db = openPostgres({ url, name: 'test', maxConnections: 1, connectMs: 1000, queryMs: 1000, onError })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

const redis = (url: string, command: string): Promise<string | undefined> => {
  const { hostname, port, password } = new URL(url)
  return askRedis(Number(port), password, command, hostname)
}

test('each fresh database is empty, its role owns it and is no superuser', async () => {
  const [a, b] = await Promise.all([freshDatabase(), freshDatabase()])
  await sql(a, (db) => db.query('create table t (n int)'))
  await sql(b, (db) => db.query('create table t (n int)'))
  const [role] = await sql(a, (db) => db.query('select rolsuper from pg_roles where rolname = current_user'))
  expect(role).toEqual({ rolsuper: false })
  const [admin] = await sql(adminUrlOf(a), (db) =>
    db.query(
      "select rolsuper, current_setting('server_version_num')::int as version from pg_roles where rolname = current_user",
    ),
  )
  expect(admin).toMatchObject({ rolsuper: true })
  expect(admin?.['version']).toBeGreaterThan(150_000)
})

test('each fresh Redis is another database of the shared server', async () => {
  const [a, b] = await Promise.all([freshRedis(), freshRedis()])
  expect(new URL(a).pathname).not.toBe(new URL(b).pathname)
  expect(await redis(inject('services').redisUrl, 'CONFIG GET maxmemory-policy')).toContain('volatile-lru')
})

test('a private Redis is killed, paused, and comes back with its last snapshot', async () => {
  const server = await startRedisServer({ config: ['maxmemory 20mb'] })
  expect(await redis(server.url, 'CONFIG GET maxmemory')).toContain('20971520')
  await redis(server.url, 'SET a old')
  await redis(server.url, 'SAVE')
  await redis(server.url, 'SET a new')
  const { pid } = server
  await server.kill()
  expect(await redis(server.url, 'GET a')).toBeUndefined()
  await server.restart()
  expect(server.pid).not.toBe(pid)
  expect(await redis(server.url, 'GET a')).toContain('old')
  server.pause()
  expect(await redis(server.url, 'PING')).toBeUndefined()
  server.resume()
  await waitFor(async () => (await redis(server.url, 'PING')) === '+PONG')
  expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain(new URL(server.url).password)
})

test('a private Postgres is killed and paused, and keeps what it acknowledged', async () => {
  const server = await startPostgresServer({ settings: ['max_connections=20'] })
  await sql(server.url, (db) => db.query('create table t as select 42 as n'))
  await server.kill()
  await expect(sql(server.url, (db) => db.query('select 1'))).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
  await server.restart()
  expect(await sql(server.url, (db) => db.query('select n from t'))).toEqual([{ n: 42 }])
  server.pause()
  await expect(sql(server.url, (db) => db.query('select 1'))).rejects.toThrow('timeout')
  server.resume()
  expect(await sql(server.adminUrl, (db) => db.query('show max_connections'))).toEqual([{ max_connections: '20' }])
  await server.stop()
  await server.restart()
  expect(await sql(server.url, (db) => db.query('select n from t'))).toEqual([{ n: 42 }])
})
