// Promise 8: accepted = persisted + spooled + dropped, whatever happens to Postgres or to the process.
// Long because one world of clicks, Postgres and dying processes serves all of it.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { freshDatabase, migrated, waitFor } from '../../testing/services.ts'
import { createClickBooks } from './books.ts'
import { Clicks, type ClicksDeps } from './clicks.ts'

let db: Postgres
beforeAll(async () => {
  db = await migrated(await freshDatabase())
})

let dataDir: string
let running: Clicks[]
const counted = { accepted: 0, dropped: 0, persisted: 0 }
let damaged = 0
const note = createClickBooks((what, clicks) => (counted[what] += clicks)).note

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'quicklink-clicks-'))
  running = []
  damaged = 0
  Object.assign(counted, { accepted: 0, dropped: 0, persisted: 0 })
})
afterEach(async () => {
  await Promise.all(running.map((clicks) => clicks.stop()))
  rmSync(dataDir, { recursive: true, force: true })
})

/** Postgres as these clicks see it. */
const network = { up: true, losesAnswers: false, statements: 0 }
const sql: Sql = {
  async query(text, values, name) {
    network.statements++
    if (!network.up) throw new Error('connect ECONNREFUSED')
    const rows = await db.query(text, values, name)
    if (network.losesAnswers && name === 'ql-write-clicks') throw new Error('Query read timeout')
    return rows as never
  },
}

function start({
  maxBytes = 1e9,
  maxLinks = 1000,
  ...more
}: { maxBytes?: number; maxLinks?: number } & Partial<ClicksDeps> = {}): Clicks {
  const clicks = new Clicks(
    { dataDir, spoolMaxMb: maxBytes / 1e6 },
    {
      sql,
      nowMs: Date.now,
      report: note,
      onPersisted: () => undefined,
      onDamaged: (lines) => (damaged += lines),
      onError: () => undefined,
      ...more,
    },
    // Flushed by hand.
    { clicksEveryMs: 1e9, clickLinks: maxLinks, takeOverEveryMs: 0, clicksStopMs: 1000 },
  )
  running.push(clicks)
  return clicks
}

/** Nothing more is heard of it, as of a process that was killed; its spool has no holder. */
async function kill(clicks: Clicks): Promise<void> {
  running.splice(running.indexOf(clicks), 1)
  // Nothing is flushed, because nothing was hit since.
  await clicks.stop()
}

let nextId = 1000
function hit(clicks: Clicks, linkId: number, times: number): void {
  const tally = clicks.tally(linkId)
  for (let n = 0; n < times; n++) clicks.hit(tally)
}
async function inPostgres(linkId: number): Promise<number> {
  const [row] = await db.query<{ n: number }>('select coalesce(sum(clicks), 0)::bigint as n from clicks where link_id = $1', [linkId]) // prettier-ignore
  return row!.n
}
/** Of the one spool that there is. */
function damage(how: (lines: string) => string): void {
  const file = join(dataDir, 'spool', spoolsOf(dataDir)[0]!, '000001.log')
  writeFileSync(file, how(readFileSync(file, 'latin1')))
}
const spoolsOf = (dir: string): string[] => (existsSync(join(dir, 'spool')) ? readdirSync(join(dir, 'spool')) : [])

beforeEach(() => {
  Object.assign(network, { up: true, losesAnswers: false, statements: 0 })
  nextId++
})

describe('clicks', () => {
  it('are in Postgres after a flush, by the hour, and a clean stop leaves no files', async () => {
    const clicks = start({ nowMs: () => Date.UTC(2030, 0, 1, 12, 34) })
    hit(clicks, nextId, 5)
    await clicks.flush()
    hit(clicks, nextId, 2)
    await clicks.flush()
    const rows = await db.query('select hour, clicks from clicks where link_id = $1', [nextId])
    expect(rows).toEqual([{ hour: new Date('2030-01-01T12:00Z'), clicks: 7 }])
    expect(counted).toEqual({ accepted: 7, dropped: 0, persisted: 7 })
    await clicks.stop()
    expect(spoolsOf(dataDir)).toEqual([])
  })

  it('wait on disk while Postgres is away, and arrive all, a few statements later', async () => {
    const clicks = start()
    network.up = false
    for (let n = 0; n < 200; n++) {
      hit(clicks, nextId, 3)
      await clicks.flush()
    }
    expect([clicks.spooled, clicks.pending]).toEqual([600, 0])
    expect(counted).toEqual({ accepted: 600, dropped: 0, persisted: 0 })
    network.up = true
    network.statements = 0
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(600)
    expect(clicks.spooled).toBe(0)
    expect(network.statements).toBeLessThan(10)
    expect(counted).toEqual({ accepted: 600, dropped: 0, persisted: 600 })
  })

  it('are counted once when the answer to a write is lost, however they are sent again', async () => {
    const clicks = start()
    network.losesAnswers = true
    for (let n = 0; n < 3; n++) {
      hit(clicks, nextId, 4)
      await clicks.flush()
    }
    network.losesAnswers = false
    hit(clicks, nextId, 1)
    await clicks.flush()
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(13)
    expect(counted).toEqual({ accepted: 13, dropped: 0, persisted: 13 })
  })

  it('of a process that was killed are taken over, each once, whatever of them had arrived', async () => {
    const dead = start()
    hit(dead, nextId, 5)
    await dead.flush()
    network.losesAnswers = true
    hit(dead, nextId, 7)
    await dead.flush()
    network.up = false
    hit(dead, nextId, 11)
    await dead.flush()
    await kill(dead)
    Object.assign(network, { up: true, losesAnswers: false })
    const heir = start()
    await waitFor(() => counted.persisted === 23)
    expect(await inPostgres(nextId)).toBe(23)
    expect(counted).toEqual({ accepted: 23, dropped: 0, persisted: 23 })
    expect(heir.spooled).toBe(0)
    await waitFor(() => spoolsOf(dataDir).length === 0)
  })

  it('in a torn last batch are skipped and the batch is counted; the others arrive', async () => {
    network.up = false
    const dead = start()
    for (let n = 0; n < 3; n++) {
      hit(dead, nextId, 10)
      await dead.flush()
    }
    await kill(dead)
    damage((lines) => lines.slice(0, -15))
    network.up = true
    start()
    await waitFor(() => counted.persisted === 20)
    expect(damaged).toBe(1)
    expect(await inPostgres(nextId)).toBe(20)
  })

  it('in a damaged batch in the middle are given up, and the books show it', async () => {
    network.up = false
    const dead = start()
    for (let n = 1; n <= 3; n++) {
      hit(dead, nextId, n * 10)
      await dead.flush()
    }
    await kill(dead)
    damage((lines) => lines.replace(`[[${nextId},20,0]]`, `[[${nextId},21,0]]`))
    network.up = true
    start()
    await waitFor(() => counted.persisted === 40)
    expect(damaged).toBe(1)
    expect(counted).toEqual({ accepted: 60, dropped: 20, persisted: 40 })
  })

  it('in a damaged batch right behind what had arrived are given up, too, and not taken for arrived', async () => {
    const dead = start()
    hit(dead, nextId, 10)
    await dead.flush()
    network.up = false
    for (const clicks of [20, 30]) {
      hit(dead, nextId, clicks)
      await dead.flush()
    }
    await kill(dead)
    damage((lines) => lines.replace(`[[${nextId},20,0]]`, `[[${nextId},21,0]]`))
    network.up = true
    start()
    await waitFor(() => counted.accepted === counted.persisted + counted.dropped)
    expect(counted).toEqual({ accepted: 60, dropped: 20, persisted: 40 })
    expect(await inPostgres(nextId)).toBe(40)
  })

  it('of a row that can be no link’s are given up, and hold up nothing: of a running process', async () => {
    const clicks = start()
    hit(clicks, 1.5, 3)
    hit(clicks, -1, 4)
    hit(clicks, nextId, 10)
    await clicks.flush()
    hit(clicks, nextId, 1)
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(11)
    expect(counted).toEqual({ accepted: 18, dropped: 7, persisted: 11 })
    expect(clicks.spooled).toBe(0)
  })

  it('of a row that can be no link’s are given up, and hold up nothing: of a dead one, with the row in its last batch', async () => {
    network.up = false
    const dead = start()
    for (const id of [1.5, nextId, 2 ** 60]) {
      hit(dead, id, 3)
      hit(dead, nextId, 10)
      await dead.flush()
    }
    await kill(dead)
    network.up = true
    const heir = start()
    await waitFor(() => counted.persisted === 33)
    expect(await inPostgres(nextId)).toBe(33)
    expect(counted).toEqual({ accepted: 39, dropped: 6, persisted: 33 })
    expect(heir.spooled).toBe(0)
  })

  it('beyond the bound of the spool are given up, the newest ones, and counted', async () => {
    network.up = false
    const clicks = start({ maxBytes: 1000 })
    for (let n = 0; n < 50; n++) {
      hit(clicks, nextId, 2)
      await clicks.flush()
    }
    expect(counted.accepted).toBe(100)
    expect(counted.dropped).toBeGreaterThan(50)
    expect(clicks.spooled).toBe(100 - counted.dropped)
    network.up = true
    await clicks.flush()
    hit(clicks, nextId, 1)
    await clicks.flush()
    expect(counted.accepted).toBe(101)
    expect(counted.accepted).toBe(counted.persisted + counted.dropped)
    expect(await inPostgres(nextId)).toBe(counted.persisted)
  })

  it('wait in memory while no spool can be begun, and all arrive when one can', async () => {
    const errors: unknown[] = []
    const clicks = start({ onError: (error) => errors.push(error) })
    // Root writes into folders of any mode, but makes none where a file is.
    writeFileSync(join(dataDir, 'spool'), '')
    for (let n = 0; n < 6; n++) {
      hit(clicks, nextId, 10)
      await clicks.flush()
    }
    expect(errors).toHaveLength(6)
    expect([clicks.pending, counted.accepted, counted.dropped]).toEqual([60, 0, 0])
    rmSync(join(dataDir, 'spool'))
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(60)
    expect(counted).toEqual({ accepted: 60, dropped: 0, persisted: 60 })
  })

  it('which find no room while no spool can be begun are in the books at once, and only once', async () => {
    const clicks = start({ maxLinks: 3 })
    writeFileSync(join(dataDir, 'spool'), '')
    for (let n = 0; n < 5; n++) {
      for (let link = 0; link < 5; link++) hit(clicks, 6_000_000 + 5 * n + link, 1)
      await clicks.flush()
      expect([counted.accepted, counted.dropped]).toEqual([n < 1 ? 2 : 5 * n - 1, n < 1 ? 2 : 5 * n - 1])
    }
    expect(clicks.pending).toBe(6)
    rmSync(join(dataDir, 'spool'))
    await clicks.flush()
    await clicks.flush()
    expect(counted).toEqual({ accepted: 25, dropped: 19, persisted: 6 })
    await clicks.stop()
    expect(counted).toEqual({ accepted: 25, dropped: 19, persisted: 6 })
  })

  it('that a stop leaves in memory are given up, and counted', async () => {
    const clicks = start()
    writeFileSync(join(dataDir, 'spool'), '')
    hit(clicks, nextId, 4)
    await clicks.flush()
    hit(clicks, nextId, 3)
    expect([clicks.pending, counted.accepted]).toEqual([7, 0])
    await clicks.stop()
    expect(counted).toEqual({ accepted: 7, dropped: 7, persisted: 0 })
  })

  it('of more links than there is room for are given up, and counted', async () => {
    const clicks = start({ maxLinks: 3 })
    for (let n = 0; n < 5; n++) hit(clicks, 5_000_000 + n, 1)
    await clicks.flush()
    expect(counted).toEqual({ accepted: 5, dropped: 2, persisted: 3 })
  })

  it('go on in a new spool when somebody has taken the old one away', async () => {
    const clicks = start()
    hit(clicks, nextId, 1)
    await clicks.flush()
    rmSync(join(dataDir, 'spool', spoolsOf(dataDir)[0]!), { recursive: true })
    hit(clicks, nextId, 2)
    await clicks.flush()
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(3)
    expect(counted).toEqual({ accepted: 3, dropped: 0, persisted: 3 })
  })

  it('that nobody had granted are granted afterwards', async () => {
    const clicks = start()
    hit(clicks, nextId, 3)
    for (let n = 0; n < 2; n++) clicks.ungranted(nextId)
    await clicks.flush()
    const rows = await db.query('select granted, ungranted from hits where link_id = $1', [nextId])
    expect(rows).toEqual([{ granted: 2, ungranted: 2 }])
  })
})
