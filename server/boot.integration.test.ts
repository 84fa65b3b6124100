// What a start does to a database, on a real one. Long because a start does seven things, in the order in which they are tested.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { boot, type BootConfig, type BootResult } from './boot.ts'
import { ConfigError } from './config.ts'
import { limits } from './limits.ts'
import { withDatabaseLock } from './connections/migrate.ts'
import { openSql, withSql } from '../embedded/sql.ts'
import { isUnavailable, type Postgres } from './connections/postgres.ts'
import { laterReserved } from './link.ts'
import { rotateSalt } from './links/salt.ts'
import { hashKey } from './tenants/keys.ts'
import { adminUrlOf, emptyDatabase, waitFor } from '../testing/services.ts'

let databaseUrl: string
let dataDir: string
let db: Postgres
let logged: string[]

beforeEach(async () => {
  databaseUrl = await emptyDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'quicklink-boot-'))
  db = openSql(databaseUrl)
  logged = []
})
afterEach(async () => {
  await db.close()
  await rm(dataDir, { recursive: true })
})

const admin = (statement: string): Promise<unknown> =>
  withSql(adminUrlOf(databaseUrl).replace(/[^/]+$/, 'postgres'), (sql) => sql.query(statement))

const note = (details: object, message: string): void => void logged.push(`${message} ${JSON.stringify(details)}`)
const log = { info: note, warn: note, error: note }
const start = (more: Partial<BootConfig> = {}): Promise<BootResult> =>
  boot({ databaseUrl, dataDir, ownerKey: undefined, codeSalt: undefined, visitsTz: 'UTC', ...more }, log)

const ignore = (): void => undefined

const keyFile = (): string => join(dataDir, 'owner-key')
const storedHash = async (): Promise<Buffer | undefined> =>
  (await db.query<{ key_hash: Buffer }>(`select key_hash from api_keys where id = 'owner'`))[0]?.key_hash
const meta = async () =>
  (
    await db.query<{ salt: string | null; epoch: string; identity: string; salt_fingerprint: string }>(
      'select * from ql_meta',
    )
  )[0]
const draw = async (sequence = 'link_counter_seq'): Promise<number> =>
  (await db.query<{ n: number }>(`select nextval('${sequence}') as n`))[0]?.n ?? NaN

describe('migrations', () => {
  test('run once, whether starts come one after the other or eight at a time', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => start()))
    results.push(await start())
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1)
    const files = readdirSync(new URL('migrations', import.meta.url)).map((file) => file.replace('.sql', ''))
    const run = await db.query<{ name: string }>('select name from ql_migrations order by name')
    expect(run.map(({ name }) => name)).toEqual(files.sort())
    expect(await db.query('select id from api_keys')).toEqual([{ id: 'owner' }])
    expect(logged.filter((line) => line.startsWith('migrated'))).toHaveLength(files.length)
  })

  test('with a VISITS_TZ that Postgres does not know say so', async () => {
    // Node knows it.
    await expect(start({ visitsTz: 'US/Pacific-New' })).rejects.toThrow(
      'VISITS_TZ is US/Pacific-New, a time zone that this Postgres does not know: name another, like UTC or Europe/Berlin.',
    )
  })

  test('one that has a lower number than some that are there already is run all the same', async () => {
    await start()
    await db.query(`delete from ql_migrations where name = '0030_sign_in_makers'`)
    await start()
    expect(await db.query(`select name from ql_migrations where name = '0030_sign_in_makers'`)).toHaveLength(1)
  })

  test('without Postgres fail as something that may pass', async () => {
    const failure = await start({ databaseUrl: 'postgres://nobody@127.0.0.1:1/none' }).catch((error: unknown) => error)
    expect(isUnavailable(failure)).toBe(true)
    expect(failure).not.toBeInstanceOf(ConfigError)
  })

  test('name the links that have a word which is reserved from then on', async () => {
    const dir = fileURLToPath(new URL('migrations', import.meta.url))
    const before = readdirSync(dir).filter((file) => file < '0009')
    const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore }
    const options = { databaseUrl, dir, migrationsTable: 'ql_migrations', schema: 'public', logger: quiet }
    await runner({ ...options, direction: 'up', count: before.length })
    await db.query(
      `insert into links (code, url) values ('Console', 'https://example.org/'), ('plain', 'https://example.org/')`,
    )
    await start()
    const named = logged.filter((line) => line.includes('reserved words'))
    expect(named).toHaveLength(1)
    expect(named[0]).toMatch(/keep them: Console /)
    expect(await db.query(`select url from links where code = 'Console'`)).toEqual([{ url: 'https://example.org/' }])
    const migrations = ['0009_windows.sql', '0012_in_bulk.sql'].map((file) => readFileSync(join(dir, file), 'utf8'))
    for (const word of laterReserved) expect(migrations.join('\n')).toContain(`'${word}'`)
  })

  test('wait for a table that somebody reads, and nobody waits behind them', async () => {
    await start()
    await db.query(`delete from ql_migrations where name like '0026%'`)
    await db.query('alter table tags drop column links')
    await db.query('drop table tag_changes')
    await db.query('drop function ql_count_tags cascade')
    const migrating = await db.transaction(async (reader) => {
      await reader.query('select from tags')
      const starting = start()
      await waitFor(() => logged.some((line) => line.includes('waits for a table')), { deadlineMs: 30_000 })
      // A migration that kept its place in the queue would keep this one behind it until the first reader has ended.
      await db.transaction(async (other) => {
        await other.query(`set local lock_timeout = '2s'`)
        await other.query('select from tags')
      })
      return { starting }
    })
    await migrating.starting
    expect(await db.query(`select from ql_migrations where name like '0026%'`)).not.toEqual([])
  })

  test('that fail leave nothing of themselves behind, say which it was, and are no reason to try again', async () => {
    await db.query('create table clicks (mine int)')
    const failure = await start().catch((error: unknown) => error)
    expect(isUnavailable(failure)).toBe(false)
    expect(await db.query(`select from pg_tables where tablename = 'links'`)).toEqual([])
    // Of those before it each is whole, so it is said which one it was.
    await db.query('drop table clicks; create table sessions (mine int)')
    await expect(start()).rejects.toThrow(
      '0015_sessions.sql failed, and the migrations before it stay: relation "sessions" already exists',
    )
    await db.query('drop table sessions')
    await start()
  })
})

describe('the owner key', () => {
  test('is generated once, into a file that only its user can read, and never logged', async () => {
    await start()
    const key = (await readFile(keyFile(), 'utf8')).trim()
    expect(key).toMatch(/^ql_[0-9A-Za-z_-]{49}$/)
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
    expect(await storedHash()).toEqual(hashKey(key))
    await start()
    expect((await readFile(keyFile(), 'utf8')).trim()).toBe(key)
    expect(logged.join('\n')).not.toContain(key)
    const rows = JSON.stringify(
      await db.query('select to_json(k) from api_keys k union all select to_json(m) from ql_meta m'),
    )
    expect(rows).not.toContain(key)
  })

  test('that was supplied is stored as a hash only; another one replaces it', async () => {
    await start({ ownerKey: 'first owner key' })
    expect(await storedHash()).toEqual(hashKey('first owner key'))
    await expect(stat(keyFile())).rejects.toThrow('ENOENT')
    await start()
    expect(await storedHash()).toEqual(hashKey('first owner key'))
    await start({ ownerKey: 'second owner key' })
    expect(await storedHash()).toEqual(hashKey('second owner key'))
  })

  test('that takes the place of a generated one is in the file of that, where commands look for it', async () => {
    await start()
    await start({ ownerKey: 'a key of my own' })
    expect((await readFile(keyFile(), 'utf8')).trim()).toBe('a key of my own')
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
  })

  test('that was supplied with a slip of the finger is refused, because nobody would be let in with it', async () => {
    await start()
    const key = (await readFile(keyFile(), 'utf8')).trim()
    const wrong = key.slice(0, -1) + (key.endsWith('A') ? 'Q' : 'A')
    const failure = await start({ ownerKey: wrong }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ConfigError)
    expect((failure as Error).message).toMatch(/^OWNER_KEY .+ set another one\.$/)
    expect((failure as Error).message).not.toContain(wrong)
    expect(await storedHash()).toEqual(hashKey(key))
    await start({ ownerKey: key })
  })

  test('is not generated where it could not be kept, and the start says what to change', async () => {
    await writeFile(join(dataDir, 'file'), '')
    const failure = await start({ dataDir: join(dataDir, 'file') }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ConfigError)
    expect((failure as Error).message).toMatch(/^DATA_DIR is .+ \(E[A-Z]+\): name a writable folder\.$/)
    expect(await storedHash()).toBeUndefined()
    await start()
    expect(await storedHash()).toEqual(hashKey((await readFile(keyFile(), 'utf8')).trim()))
  })

  test('left in a file by a start that died before it was stored is replaced', async () => {
    await writeFile(keyFile(), 'ql_of-a-start-that-died\n', { mode: 0o644 })
    await start()
    expect(await storedHash()).toEqual(hashKey((await readFile(keyFile(), 'utf8')).trim()))
    expect((await stat(keyFile())).mode & 0o777).toBe(0o600)
  })

  test('in a file that is not of this database is pointed out', async () => {
    await start({ ownerKey: 'the owner key' })
    await writeFile(keyFile(), 'ql_of-another-database\n')
    await start()
    expect(logged.join('\n')).toContain('set OWNER_KEY')
    expect(logged.join('\n')).not.toContain('ql_of')
  })
})

describe('the salt', () => {
  const mine = 'a salt of my own, long enough for everyone'
  const another = 'another salt of mine, long enough as well'

  test('is generated once and kept', async () => {
    const first = await start()
    expect(first).toMatchObject({ salt: expect.stringMatching(/^[0-9A-Za-z_-]{43}$/), saltGeneration: 1 })
    expect(await start()).toEqual(first)
    expect(await start({ codeSalt: first.salt })).toEqual(first)
    expect(logged.join('\n')).not.toContain(first.salt)
  })

  test('that was supplied is not stored', async () => {
    expect(await start({ codeSalt: mine })).toMatchObject({ salt: mine, saltGeneration: 1 })
    expect(await meta()).toMatchObject({ salt: null, salt_fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(JSON.stringify(await meta())).not.toContain(mine)
    expect(await start({ codeSalt: mine })).toMatchObject({ salt: mine, saltGeneration: 1 })
  })

  test.each([
    ['another one than before', mine, another],
    ['none, where one was supplied before', mine, undefined],
    ['one, where one was generated before', undefined, mine],
  ])('refuses a start with %s, in one sentence that names what to do', async (_what, before, now) => {
    await start({ codeSalt: before })
    const failure = await start({ codeSalt: now }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ConfigError)
    expect((failure as Error).message).toMatch(/^CODE_SALT is [^.]+npm run rotate-salt[^.]+\.$/)
    expect((failure as Error).message).not.toContain(mine)
    expect(await start({ codeSalt: before })).toMatchObject({ saltGeneration: 1 })
  })

  test('can be rotated: a new generation, and the old salt is refused from then on', async () => {
    const rotate = (salt: string | undefined) =>
      withDatabaseLock({ url: databaseUrl, connectMs: 1000, onInfo: () => undefined }, (sql) => rotateSalt(sql, salt))
    const first = await start()
    const second = await rotate(undefined)
    expect(second.saltGeneration).toBe(2)
    expect(second.salt).not.toBe(first.salt)
    expect(await start()).toMatchObject(second)
    expect(await rotate(mine)).toMatchObject({ salt: mine, saltGeneration: 3 })
    expect((await meta())?.salt).toBeNull()
    await expect(start()).rejects.toThrow('CODE_SALT is missing')
    expect(await start({ codeSalt: mine })).toMatchObject({ salt: mine, saltGeneration: 3 })
    await expect(rotate(mine)).rejects.toThrow('already uses')
  })
})

describe('a restored copy', () => {
  const link = (code: string, counter: number, generation = 1): Promise<unknown> =>
    db.query('insert into links (code, url, counter, salt_generation) values ($1, $2, $3, $4)', [
      code,
      'https://example.com/',
      counter,
      generation,
    ])

  test('is a new epoch, without the old outbox, its counter beyond what may have been handed out; once', async () => {
    await start()
    await link('before-1', 500)
    const before = await meta()
    await db.query(`update ql_meta set identity = 'another database'`)
    await Promise.all([start(), start(), start()])
    const after = await meta()
    expect(after?.epoch).not.toBe(before?.epoch)
    expect(await db.query('select from outbox')).toEqual([])
    expect(await db.query('select from ql_meta where identity = ql_identity()')).toHaveLength(1)
    expect(await draw()).toBe(501 + limits.counterRestoreMargin)
    expect(logged.filter((line) => line.includes('restored'))).toHaveLength(1)
    await start()
    expect(await meta()).toEqual(after)
    expect(await draw()).toBe(502 + limits.counterRestoreMargin)
  })

  test('is recognised where the same contents stand in another database', async () => {
    const booted = await start()
    await link('before-0', 40)
    const before = await meta()
    const source = new URL(databaseUrl).pathname.slice(1)
    await db.close()
    const name = `${source}_copy`
    await admin(`create database ${name} template ${source} owner quicklink`)
    try {
      const copyUrl = databaseUrl.replace(source, name)
      db = openSql(copyUrl)
      expect(await meta()).toEqual(before)
      expect(await start({ databaseUrl: copyUrl })).toEqual(booted)
      expect((await meta())?.epoch).not.toBe(before?.epoch)
      expect(await draw()).toBe(41 + limits.counterRestoreMargin)
    } finally {
      await admin(`drop database ${name} with (force)`)
    }
  })

  test('has no sequence that stands below what is stored', async () => {
    await start()
    await link('before-2', 70)
    const [{ id, version } = { id: NaN, version: NaN }] = await db.query<{ id: number; version: number }>(
      'select id, version from links',
    )
    await db.query(`alter sequence link_id_seq restart`)
    await db.query(`alter sequence link_version_seq restart`)
    await db.query(`update ql_meta set identity = 'another database'`)
    await start()
    expect(await draw('link_id_seq')).toBeGreaterThan(id)
    expect(await draw('link_version_seq')).toBeGreaterThan(version)
  })

  test('is what an emptied table is taken for: whatever caches remember of it is from another epoch', async () => {
    await start()
    const before = await meta()
    await db.query('truncate links')
    await start()
    expect((await meta())?.epoch).not.toBe(before?.epoch)
  })
})

test('at every start the counter is moved past the highest that is stored, of every generation, and never back', async () => {
  await start()
  expect(await draw()).toBe(0)
  await db.query(`update ql_meta set salt_generation = 2`)
  await db.query(
    `insert into links (code, url, counter, salt_generation) values ('one-1', 'https://example.com/', 900, 1), ('two-1', 'https://example.com/', 300, 2)`,
  )
  await start()
  expect(await draw()).toBe(901)
  await db.query(`select setval('link_counter_seq', 5000)`)
  await start()
  expect(await draw()).toBe(5001)
})
