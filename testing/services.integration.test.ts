import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { startSentinelGroup } from '../loadtest/faults/sentinels.ts'
import { withSql } from '../embedded/sql.ts'
import type { Postgres } from '../server/connections/postgres.ts'
import {
  adminUrlOf,
  freshDatabase,
  freshRedis,
  redisCommand,
  saveRedis,
  startPostgresServer,
  startRedisServer,
  waitFor,
} from './services.ts'

const sql = <T>(url: string, work: (db: Postgres) => Promise<T>): Promise<T> =>
  withSql(url, work, { connectMs: 1000, queryMs: 1000 })

test('each fresh database is one of its own, its role owns it and is no superuser', async () => {
  const [a, b] = await Promise.all([freshDatabase(), freshDatabase()])
  const identityOf = (url: string) => sql(url, (db) => db.query('select ql_identity() as of, epoch from ql_meta'))
  const [[one], [other]] = await Promise.all([identityOf(a), identityOf(b)])
  expect(one?.['of']).not.toBe(other?.['of'])
  expect(one?.['epoch']).not.toBe(other?.['epoch'])
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
  expect(await redisCommand(inject('services').redisUrl, 'CONFIG GET maxmemory-policy')).toContain('volatile-lru')
})

test('a private Redis is killed, paused, and comes back with its last snapshot', async () => {
  const server = await startRedisServer({ config: ['maxmemory 20mb'] })
  expect(await redisCommand(server.url, 'CONFIG GET maxmemory')).toContain('20971520')
  await redisCommand(server.url, 'SET a old')
  await saveRedis(server.url)
  await redisCommand(server.url, 'SET a new')
  const { pid } = server
  await server.kill()
  expect(await redisCommand(server.url, 'GET a')).toBeUndefined()
  await server.restart()
  expect(server.pid).not.toBe(pid)
  expect(await redisCommand(server.url, 'GET a')).toContain('old')
  await server.pause()
  expect(await redisCommand(server.url, 'PING')).toBeUndefined()
  await server.resume()
  await waitFor(async () => (await redisCommand(server.url, 'PING')) === '+PONG')
  expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8')).not.toContain(new URL(server.url).password)
})

test('a group of Sentinels is gone with all its processes', async () => {
  const group = await startSentinelGroup(mkdtempSync(join(inject('services').runDir, 'sentinels-')))
  const pids = group.processes.map(({ pid }) => pid)
  expect(pids).toHaveLength(5)
  await group.close()
  // By their numbers alone: a name that does not fit is how one would be overlooked.
  expect(pids.filter((pid) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== '')).toEqual([]) // prettier-ignore
})

test('a private Postgres is killed and paused, and keeps what it acknowledged', async () => {
  const server = await startPostgresServer({ settings: ['max_connections=20'] })
  await sql(server.url, (db) => db.query('create table t as select 42 as n'))
  await server.kill()
  await expect(sql(server.url, (db) => db.query('select 1'))).rejects.toThrow(/ECONNREFUSED|ECONNRESET/)
  await server.restart()
  expect(await sql(server.url, (db) => db.query('select n from t'))).toEqual([{ n: 42 }])
  await server.pause()
  await expect(sql(server.url, (db) => db.query('select 1'))).rejects.toThrow('timeout')
  await server.resume()
  expect(await sql(server.url, (db) => db.query('show max_connections'))).toEqual([{ max_connections: '20' }])
  await server.stop()
  await server.restart()
  expect(await sql(server.url, (db) => db.query('select n from t'))).toEqual([{ n: 42 }])
})
