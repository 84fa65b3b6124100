// Postgres and Redis over TLS, with certificates of the test's own. A certificate that does not hold is refused, and what was
// exchanged in files is used by the next connection.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { askRedis } from '../../embedded/redis-process.ts'
import { freePort } from '../../embedded/process.ts'
import { startTestApp } from '../../testing/app.ts'
import { makeCa } from '../../testing/certificates.ts'
import { freshDatabase, handInPsql, startPostgresServer, startRedisServer, waitFor } from '../../testing/services.ts' // prettier-ignore
import { boot } from '../boot.ts'
import { loadConfig } from '../config.ts'
import { createLog } from '../telemetry/log.ts'
import { isUnavailable, openPostgres, type Postgres } from './postgres.ts'
import { openRedis } from './redis.ts'
import { database } from './target.ts'

// Where Postgres' user can enter.
const parent = join(inject('services').runDir, 'postgres')
mkdirSync(parent, { recursive: true, mode: 0o711 })
const dir = join(parent, 'tls')
mkdirSync(dir, { mode: 0o711 })
const authority = makeCa(dir, 'ours')
const ca = authority.file
const otherCa = makeCa(dir, 'other').file
const { cert, key } = authority.sign('localhost')
const redisPort = await freePort()
const tls = ['tls-auth-clients no', `tls-port ${redisPort}`, `tls-cert-file ${cert}`, `tls-key-file ${key}`]
const [postgres, redis] = await Promise.all([
  startPostgresServer({ bare: true, settings: ['ssl=on', `ssl_cert_file=${cert}`, `ssl_key_file=${key}`] }),
  startRedisServer({ config: [...tls, `tls-ca-cert-file ${ca}`] }),
])

function postgresAt(hostname: string, rootCert: string): string {
  const url = Object.assign(new URL(postgres.url), { hostname })
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', rootCert)
  return url.href
}

const redisAt = (hostname: string): string =>
  Object.assign(new URL(redis.url), { protocol: 'rediss:', hostname, port: String(redisPort) }).href.replace(
    /^redis:/,
    'rediss:',
  )

const usual = { name: 'test', maxConnections: 1, connectMs: 10_000, queryMs: 10_000, onError: () => undefined }
const isSecret = (sql: Postgres): Promise<unknown> =>
  sql.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')

test.each([
  ['a CA that is not known', () => postgresAt('localhost', otherCa), /^The certificate of Postgres at localhost:\d+ is not signed by a CA that is trusted here \(\w+\): DATABASE_URL has to name its CA's file \(sslrootcert=…\)\.$/],
  ['another host', () => postgresAt('127.0.0.1', ca), /^The certificate of Postgres at 127\.0\.0\.1:\d+ is not for 127\.0\.0\.1: DATABASE_URL has to use a name that is in it\.$/],
  ['a Postgres without TLS', async () => `${await freshDatabase()}?sslmode=verify-full`, /^Postgres at [\w.]+:\d+ does not speak TLS as DATABASE_URL asks for: /],
] as const)('Postgres: %s is refused with one sentence, and tried again', async (_, url, sentence) => {
  const databaseUrl = await url()
  const sql = openPostgres({ ...usual, url: databaseUrl })
  for (const attempt of [sql.query('select 1'), sql.transaction((one) => one.query('select 1'))])
    await expect(attempt).rejects.toThrow(sentence)
  await sql.close()
  const config = { databaseUrl, dataDir: dir, ownerKey: undefined, codeSalt: undefined, visitsTz: 'UTC' }
  const failure: unknown = await boot(config, createLog({ logLevel: 'silent' }, process.stdout)).catch((error: unknown) => error)
  expect(failure).toMatchObject({ message: expect.stringMatching(sentence) as string })
  expect(isUnavailable(failure)).toBe(true)
}) // prettier-ignore

test.each([
  ['a CA that is not known', () => [redisAt('localhost'), otherCa], /^The certificate of Redis at localhost:\d+ is not signed by a CA that is trusted here \(\w+\): REDIS_CA_FILE has to name its CA's file\.$/],
  ['another host', () => [redisAt('127.0.0.1'), ca], /^The certificate of Redis at 127\.0\.0\.1:\d+ is not for 127\.0\.0\.1: REDIS_URL has to use a name that is in it\.$/],
] as const)('Redis: %s is refused with one sentence', async (_, target, sentence) => {
  const [redisUrl, redisCaFile] = target() as [string, string]
  const told: string[] = []
  const redis = openTestRedis({ redisUrl, redisCaFile }, told)
  await waitFor(() => told.length > 0)
  expect(redis.ready).toBe(false)
  redis.close()
  expect(told[0]).toMatch(sentence)
}) // prettier-ignore

function openTestRedis(target: object, told: string[] = []) {
  const none = {
    redisUrl: undefined,
    redisSentinels: undefined,
    redisSentinelName: undefined,
    redisPassword: undefined,
  }
  const onError = ({ message }: Error): void => void told.push(message)
  return openRedis({ ...none, ...target }, { onError, onCommand: () => undefined })
}

test.each(['localhost', '127.0.0.1'])('Redis at %s: a connection that is let go in the middle of its handshake ends nothing else', async (host) => {
  // An error that nobody hears of fails this run.
  for (let n = 0; n < 150; n++) {
    const redis = openTestRedis({ redisUrl: redisAt(host), redisCaFile: ca })
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    redis.close()
  }
}) // prettier-ignore

test('with the right CA and name a server runs over TLS alone', async () => {
  const app = await startTestApp({
    databaseUrl: postgresAt('localhost', ca),
    redisUrl: redisAt('localhost'),
    env: { REDIS_CA_FILE: ca, REDIS_TIMEOUT_MS: '1000' },
  })
  // A handshake may take longer than a connection has here, beside other work: then the next try is in time.
  const link = { code: 'secret', url: 'https://example.org/' }
  await waitFor(async () => (await app.api('POST', '/links', link)).status === 201, { deadlineMs: 30_000 })
  await waitFor(async () => (await app.get('/secret')).status === 302, { deadlineMs: 30_000 })
  await waitFor(async () => (await app.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 30_000 })
  const rows = await handInPsql(postgres.url).query<{ ssl: boolean }>(
    `select distinct ssl from pg_stat_ssl join pg_stat_activity using (pid) where application_name like 'quicklink-%' and application_name <> 'quicklink-hand'`,
  )
  expect(rows).toEqual([{ ssl: true }])
})

test('Postgres: a CA and a password that are exchanged in their files are used by the next connection', async () => {
  const [trusted, urlFile] = [join(dir, 'trusted.pem'), join(dir, 'database-url')]
  const hand = handInPsql(postgres.url)
  await hand.query(`create role exchanged login password 'before'`)
  const write = (password: string): void =>
    writeFileSync(urlFile, Object.assign(new URL(postgresAt('localhost', trusted)), { username: 'exchanged', password }).href) // prettier-ignore
  copyFileSync(otherCa, trusted)
  write('before')
  const sql = openPostgres({ ...usual, ...database(loadConfig({ DATABASE_URL_FILE: urlFile })) })
  await expect(isSecret(sql)).rejects.toThrow('not signed by a CA')
  copyFileSync(ca, trusted)
  expect(await isSecret(sql)).toEqual([{ ssl: true }])
  await hand.query(`alter role exchanged password 'after'`)
  await hand.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'exchanged'`)
  await waitFor(() => sql.counts().idle === 0)
  await expect(isSecret(sql)).rejects.toThrow('password authentication failed')
  write('after')
  expect(await isSecret(sql)).toEqual([{ ssl: true }])
  await sql.close()
})

test('Redis: a CA and a password that are exchanged in their files are used by the next connection', async () => {
  const [trusted, urlFile] = [join(dir, 'trusted-redis.pem'), join(dir, 'redis-url')]
  const { password } = new URL(redis.url)
  const ask = (command: string) => askRedis(redis.port, password, command)
  await ask('ACL SETUSER exchanged on >before ~* &* +@all')
  const write = (password: string): void =>
    writeFileSync(urlFile, Object.assign(new URL(redisAt('localhost')), { username: 'exchanged', password }).href)
  copyFileSync(otherCa, trusted)
  write('before')
  const env = { DATABASE_URL: 'postgres://nobody/none', REDIS_URL_FILE: urlFile, REDIS_CA_FILE: trusted }
  const told: string[] = []
  const connection = openTestRedis(loadConfig(env), told)
  await waitFor(() => told.some((line) => line.includes('not signed by a CA')))
  copyFileSync(ca, trusted)
  await waitFor(() => connection.ready)
  expect(await connection.ping()).toBe('PONG')
  await ask('ACL SETUSER exchanged resetpass >after')
  await ask('CLIENT KILL USER exchanged')
  await waitFor(() => told.some((line) => line.includes('WRONGPASS')))
  write('after')
  await waitFor(() => connection.ready)
  expect(await connection.ping()).toBe('PONG')
  connection.close()
})
