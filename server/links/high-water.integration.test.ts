// A database whose files were put back looks like itself. Here its sequences and rows are set back, identity and all.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { boot, type BootConfig, type BootResult } from '../boot.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import { openSql } from '../../embedded/sql.ts'
import { freshDatabase } from '../../testing/services.ts'
import { highWaterFile, lookAtHighWater, readHighWater, type HighWater } from './high-water.ts'

let databaseUrl: string
let dataDir: string
let db: Postgres
let logged: string[]

const note = (details: object, message: string): void => void logged.push(`${message} ${JSON.stringify(details)}`)
const log = { info: note, warn: note, error: note }
const start = (more: Partial<BootConfig> = {}): Promise<BootResult> =>
  boot({ databaseUrl, dataDir, ownerKey: undefined, codeSalt: undefined, visitsTz: 'UTC', ...more }, log)
const meta = async () => (await db.query<{ epoch: string }>('select * from ql_meta'))[0]
const draw = async (sequence = 'link_counter_seq'): Promise<number> =>
  (await db.query<{ n: number }>(`select nextval('${sequence}') as n`))[0]?.n ?? NaN

describe('a database whose files were put back', () => {
  const goBack = (): Promise<unknown> =>
    db.query(`with links as (delete from links where code like 'after-%' returning 1)
      select setval('link_counter_seq', 41), setval('link_id_seq', 41), count(*) from links`)
  const mark = async (): Promise<HighWater> => {
    const onGoneBack = (): Promise<BootResult> => start()
    return lookAtHighWater({ sql: db, dataDir, onGoneBack })
  }
  const live = async (counter: number, code: string): Promise<void> => {
    await db.query(`select setval('link_counter_seq', $1), setval('link_id_seq', $1 - 1)`, [counter])
    await db.query(`insert into links (code, url, counter, salt_generation) values ($1, 'https://a/', $2, 1)`, [
      code,
      counter,
    ])
  }

  beforeEach(async () => {
    databaseUrl = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'quicklink-high-water-'))
    db = openSql(databaseUrl)
    logged = []
    await start()
    await live(41, 'before-4')
    await live(90, 'after-4')
    await mark()
  })
  afterEach(async () => {
    await db.close()
    await rm(dataDir, { recursive: true })
  })

  test('is known by its own mark in DATA_DIR: ids and counter jump past what was handed out since', async () => {
    const before = await meta()
    await goBack()
    await Promise.all([start(), start()])
    expect((await meta())?.epoch).not.toBe(before?.epoch)
    expect(await draw()).toBe(91 + limits.counterRestoreMargin)
    expect(await draw('link_id_seq')).toBe(91 + limits.counterRestoreMargin)
    expect(logged.filter((line) => line.includes('restored'))).toHaveLength(1)
  })

  test('is noticed while the server runs, too, and once', async () => {
    await goBack()
    expect(await mark()).toMatchObject({ counter: 90 })
    expect(await draw()).toBe(91 + limits.counterRestoreMargin)
    const after = await meta()
    await mark()
    await start()
    expect(await meta()).toEqual(after)
  })

  test('is noticed again by a server that has seen more of it', async () => {
    const other = await mkdtemp(join(tmpdir(), 'quicklink-boot-'))
    const millions = 5 * limits.counterRestoreMargin
    await live(millions, 'after-5')
    await lookAtHighWater({ sql: db, dataDir: other, onGoneBack: () => start() })
    await goBack()
    await start()
    expect(await draw()).toBe(91 + limits.counterRestoreMargin)
    await start({ dataDir: other })
    expect(await draw()).toBe(millions + 1 + limits.counterRestoreMargin)
    const after = await meta()
    await start()
    await start({ dataDir: other })
    expect(await meta()).toEqual(after)
    await rm(other, { recursive: true })
  })

  test('has its mark also where nothing else has made DATA_DIR yet', async () => {
    const marked = await mark()
    dataDir = join(dataDir, 'not', 'there')
    await mark()
    await expect(readHighWater(dataDir)).resolves.toEqual(marked)
  })

  test('is noticed by what a Redis has seen of it, where DATA_DIR is new; once, whoever comes with it', async () => {
    await goBack()
    const [now] = await db.query<{ identity: string }>(`select ql_identity() || '/' || ql_announcing() as identity`)
    const config = { databaseUrl, dataDir: await mkdtemp(join(tmpdir(), 'quicklink-boot-')) }
    const withRedis = () =>
      boot({ ...config, ownerKey: undefined, codeSalt: undefined, visitsTz: 'UTC' }, log, now?.identity)
    await withRedis()
    const after = await meta()
    await withRedis()
    expect(await meta()).toEqual(after)
    expect(await draw()).toBe(42 + limits.counterRestoreMargin)
    await rm(config.dataDir, { recursive: true })
  })

  test('is not mistaken: sequences that skip ahead, a new DATA_DIR, a damaged mark, links that were purged', async () => {
    const before = await meta()
    await db.query(`select setval('link_counter_seq', 122), setval('link_id_seq', 122)`)
    await start()
    await start({ dataDir: join(dataDir, 'new') })
    await db.query(`delete from links`)
    await mark()
    await start()
    await writeFile(highWaterFile(dataDir), '{"database":')
    await start()
    await mark()
    expect(await meta()).toEqual(before)
    expect(await draw()).toBe(123)
  })

  test('is not what another database under the same DATA_DIR is', async () => {
    const first = databaseUrl
    await db.close()
    databaseUrl = await freshDatabase()
    db = openSql(databaseUrl)
    await start()
    const before = await meta()
    expect(await mark()).toMatchObject({ counter: -1 })
    expect(await meta()).toEqual(before)
    expect(databaseUrl).not.toBe(first)
  })
})
