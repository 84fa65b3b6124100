// Promise 8: accepted = persisted + spooled + dropped, whatever happens to Postgres or to the process.
// Long because one world of clicks, Postgres and dying processes serves all of it.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { search, searches } from '../../testing/search.ts'
import { freshDatabase, migrated, waitFor } from '../../testing/services.ts'
import { clicksIn, fromLine } from './batch.ts'
import { createClickBooks, type ClicksReport } from './books.ts'
import { Clicks, type ClicksDeps } from './clicks.ts'

const db = await migrated(await freshDatabase())

let dataDir: string
let running: Clicks[]
const counted = { accepted: 0, dropped: 0, persisted: 0 }
let damaged = 0
const note = createClickBooks((what, clicks) => (counted[what] += clicks)).note

function begin(): void {
  dataDir = mkdtempSync(join(tmpdir(), 'quicklink-clicks-'))
  running = []
  damaged = 0
  Object.assign(counted, { accepted: 0, dropped: 0, persisted: 0 })
  Object.assign(network, { up: true, losesAnswers: false, statements: 0 })
  nextId += 10
}
async function end(): Promise<void> {
  await Promise.all(running.map((clicks) => clicks.stop()))
  rmSync(dataDir, { recursive: true, force: true })
}
beforeEach(begin)
afterEach(end)

/** Postgres as these clicks see it. */
const network = { up: true, losesAnswers: false, statements: 0 }
const sql: ClicksDeps['sql'] = {
  async query(text, values, name) {
    network.statements++
    if (!network.up) throw new Error('connect ECONNREFUSED')
    const rows = await db.query(text, values, name)
    if (network.losesAnswers && name === 'ql-write-clicks') throw new Error('Query read timeout')
    return rows as never
  },
  async transaction(work) {
    if (!network.up) throw new Error('connect ECONNREFUSED')
    const result = await db.transaction(work)
    if (network.losesAnswers) throw new Error('Query read timeout')
    return result
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
    // Flushed by hand. A stop that a slow disk cuts short would leave an instance that goes on beside the next one.
    { clicksEveryMs: 1e9, clickLinks: maxLinks, takeOverEveryMs: 0, clicksStopMs: 60_000, visitsRestMs: 0 },
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
const spoolsOf = (dir: string): string[] => (existsSync(join(dir, 'spool')) ? readdirSync(join(dir, 'spool')) : [])

type Harm = 'none' | 'last line torn' | 'a line damaged'
type Step = { hit: number; times: number } | { up: boolean; losesAnswers: boolean } | { dies: Harm; at: number }
const hits = fc.record({ hit: fc.nat(3), times: fc.integer({ min: 1, max: 9 }) })
const away: Step = { up: false, losesAnswers: false }
const back: Step = { up: true, losesAnswers: false }
const change = fc.constantFrom<Step>(away, back, { up: true, losesAnswers: true })
const death = fc.record({ dies: fc.constantFrom<Harm>('none', 'last line torn', 'a line damaged'), at: fc.nat(9) })
/** Some clicks have arrived, more have not, and a line of these is damaged. */
const worst = fc
  .tuple(fc.array(hits, { maxLength: 2 }), fc.array(hits, { minLength: 2, maxLength: 4 }), fc.nat(9))
  .map(([some, more, at]): Step[] => [...some, away, ...more, { dies: 'a line damaged', at }, back])
const part = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(hits) },
  { weight: 3, arbitrary: fc.tuple(change) },
  { weight: 2, arbitrary: fc.tuple(death) },
  { weight: 1, arbitrary: worst },
)
const story = fc.array(part, { maxLength: 30 }).map((parts): Step[] => parts.flat())

/** Shortens a line of a spool that a dead process has left; what stood in it, and whether nothing follows it. */
function harm(how: Harm, at: number): { clicks: number; isLast: boolean } {
  const nothing = { clicks: 0, isLast: false }
  const spools = how === 'none' ? [] : spoolsOf(dataDir).sort()
  if (spools.length === 0) return nothing
  const file = join(dataDir, 'spool', spools[at % spools.length]!, '000001.log')
  const lines = readFileSync(file, 'latin1').trimEnd().split('\n')
  const which = how === 'last line torn' ? lines.length - 1 : at % lines.length
  const batch = fromLine(lines[which]!)
  if (batch === undefined) return nothing
  lines[which] = lines[which]!.slice(0, -15)
  writeFileSync(file, lines.join('\n') + (how === 'last line torn' ? '' : '\n'))
  return { clicks: clicksIn(batch.rows) + (batch.impossible ?? 0), isLast: which === lines.length - 1 }
}

async function counts(steps: readonly Step[]): Promise<void> {
  await end()
  begin()
  // The last one can be no link's.
  const links = [nextId, nextId + 1, nextId + 2, nextId + 0.5]
  const made = [0, 0, 0, 0]
  let [harmed, atAnEnd] = [0, false]
  const reports: ClicksReport[] = []
  /** An old one of the same spool comes again, and so does this one. */
  const report = (one: ClicksReport): void => {
    const old = reports.find(({ spool }) => spool === one.spool)
    for (const each of [...(old ? [old] : []), one, ...(one.closed ? [] : [one])]) note(each)
    reports.push(one)
  }
  let clicks = start({ report })
  for (const step of steps) {
    if ('up' in step) Object.assign(network, step)
    else if ('hit' in step) {
      hit(clicks, links[step.hit]!, step.times)
      made[step.hit]! += step.times
      await clicks.flush()
    } else {
      const { up } = network
      network.up = false
      await kill(clicks)
      const { clicks: stood, isLast } = harm(step.dies, step.at)
      harmed += stood
      atAnEnd ||= isLast
      network.up = up
      clicks = start({ report })
    }
  }
  Object.assign(network, back)
  // By rounds and not by the clock: a flush takes as long as the disk does.
  let rounds = 0
  do await clicks.flush()
  while (clicks.spooled + clicks.pending > 0 && ++rounds < 10)
  expect([clicks.spooled, clicks.pending]).toEqual([0, 0])
  const arrived = await Promise.all(links.slice(0, 3).map(inPostgres))
  arrived.forEach((n, i) => expect(n).toBeLessThanOrEqual(made[i]!))
  const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0)
  expect(counted.accepted).toBe(sum(made))
  // What has not arrived can be no link's, or stood in a line that was harmed.
  const lost = sum(made) - sum(arrived) - made[3]!
  expect(lost).toBeLessThanOrEqual(harmed)
  if (lost > 0) expect(damaged).toBeGreaterThan(0)
  // The books have it, but for lines at a spool's end: what stood in them, and what became of it, nobody can know.
  for (const unsaid of [sum(arrived) - counted.persisted, sum(made) - counted.persisted - counted.dropped]) {
    expect(unsaid).toBeGreaterThanOrEqual(0)
    expect(unsaid).toBeLessThanOrEqual(atAnEnd ? harmed : 0)
  }
}

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

  it('that come while others are being written down are in the flush that was asked for after them', async () => {
    const clicks = start()
    hit(clicks, nextId, 1)
    const earlier = clicks.flush()
    hit(clicks, nextId, 1)
    await clicks.flush()
    expect(await inPostgres(nextId)).toBe(2)
    await earlier
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

  it(
    'are each counted once, or said to be lost, whatever Postgres, the process, its spool and its reports go through',
    searches,
    () => search('clicks', fc.asyncProperty(story, counts), 60),
  )

  it('in a damaged batch right behind what had arrived are given up, and not taken for arrived', async () => {
    const dead = start()
    hit(dead, nextId, 10)
    await dead.flush()
    network.up = false
    for (const clicks of [20, 30]) {
      hit(dead, nextId, clicks)
      await dead.flush()
    }
    await kill(dead)
    expect(harm('a line damaged', 1).clicks).toBe(20)
    network.up = true
    start()
    await waitFor(() => counted.accepted === counted.persisted + counted.dropped)
    expect(counted).toEqual({ accepted: 60, dropped: 20, persisted: 40 })
    expect(await inPostgres(nextId)).toBe(40)
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

  it('that a dead process has left are counted by a primary that was started since, and no others', async () => {
    const before = start()
    for (const times of [10, 20]) {
      hit(before, nextId, times)
      await before.flush()
    }
    network.up = false
    for (const times of [5, 7]) {
      hit(before, nextId, times)
      await before.flush()
    }
    await kill(before)
    const file = join(dataDir, 'spool', spoolsOf(dataDir)[0]!, '000001.log')
    const lines = readFileSync(file, 'latin1').split('\n')
    writeFileSync(file, lines.map((line, n) => (n === 2 ? line.slice(0, -15) : line)).join('\n'))

    // The example in books.ts: 30 had arrived, and the line of the 5 is damaged.
    network.up = true
    const books = createClickBooks(() => undefined)
    const after = start({ report: books.note })
    await after.flush()
    expect(await inPostgres(nextId)).toBe(37)
    expect(books.totals()).toEqual({ accepted: 7, dropped: 0, persisted: 7 })
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
