// From a request at either door to what Postgres is given, and nothing that says who it was.
// Long because one set-up of a process, its spool and Postgres serves all of it.
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { countryDatabase } from '../../testing/country-database.ts'
import { freshDatabase, freshRedis, migrated, waitFor } from '../../testing/services.ts'
import { Clicks, type ClicksDeps } from '../clicks/clicks.ts'
import { clicksIn, fromLine, type Spooled } from '../clicks/batch.ts'
import { limits } from '../limits.ts'
import { detailedIn, dimensions, unpack, type HourOfVisits, type LinkVisits } from './batch.ts'
import { estimate } from './hyperloglog.ts'
import { Salts } from './salts.ts'
import { Visits } from './visits.ts'
import type { Said } from './slots.ts'

const databaseUrl = await freshDatabase()
const db = await migrated(databaseUrl)

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'quicklink-visits-'))
  return () => rmSync(dataDir, { recursive: true, force: true })
})

describe('salts', () => {
  const utcDay = (days: number): number => (Math.floor(Date.now() / 86_400_000) + days) * 86_400_000
  const open = (onError = (error: unknown): void => expect.fail(String(error))): Salts =>
    new Salts({ sql: db, onError: (error) => onError(error) })

  it("are one for all processes, tomorrow's is there today, and old ones are gone", async () => {
    await db.query("insert into visit_salts values ((now() at time zone 'UTC')::date - 2, 'old'), ((now() at time zone 'UTC')::date - 1, 'yesterday')") // prettier-ignore
    const all = [open(), open(), open()]
    await Promise.all(all.map((salts) => salts.look()))
    await Promise.all(all.map((salts) => salts.look()))
    for (const day of [utcDay(0), utcDay(1)]) {
      const known = all.map((salts) => salts.of(day + 3_600_000)?.toString('hex'))
      expect(new Set(known).size).toBe(1)
      expect(known[0]).toHaveLength(64)
    }
    expect(all[0]!.of(utcDay(0))).not.toEqual(all[0]!.of(utcDay(1)))
    expect(all[0]!.of(utcDay(-1))).toBeDefined()
    expect(all[0]!.of(utcDay(-2))).toBeUndefined()
    const rows = await db.query('select day from visit_salts')
    expect(rows).toHaveLength(3)
    for (const salts of all) salts.stop()
  })

  it('that cannot be read leave those that are known', async () => {
    const errors: unknown[] = []
    const network = { up: true }
    const salts = new Salts({
      sql: { query: (...args) => (network.up ? db.query(...args) : Promise.reject(new Error('away'))) },
      onError: (error) => errors.push(error),
    })
    await salts.look()
    const known = salts.of(Date.now())
    network.up = false
    expect(await salts.look()).toBe(false)
    expect([salts.of(Date.now()), errors.length]).toEqual([known, 1])
    salts.stop()
  })
})

describe('visits of a process', () => {
  let running: Clicks | undefined
  afterEach(() => running?.stop())

  const given: HourOfVisits[] = []
  const folding: { fails: number | 'always'; isLate: (hours: readonly HourOfVisits[]) => boolean } = {
    fails: 0,
    isLate: () => false,
  }
  let untold = 0
  let errors: string[] = []

  function start({
    maxBytes = 1e9,
    everyMs = 1e9,
    ...more
  }: { maxBytes?: number; everyMs?: number } & Partial<ClicksDeps> = {}) {
    given.length = untold = folding.fails = 0
    folding.isLate = () => false
    errors = []
    const config = { visits: 'full', visitsDetailPerS: 2000, honourDnt: 'on', trustProxy: () => false } as const
    const salts = { of: () => Buffer.from('a salt of a day') }
    const visits = new Visits(config, { countries: undefined, salts, onFolded: () => undefined })
    const clicks = new Clicks(
      { dataDir, spoolMaxMb: maxBytes / 1e6 },
      {
        sql: db,
        nowMs: Date.now,
        report: () => undefined,
        onPersisted: () => undefined,
        onDamaged: () => undefined,
        onError: (error, what) => errors.push(`${what}: ${String(error)}`),
        visits: (batch) => visits.fold(batch),
        onUntold: (some) => (untold += some),
        async foldVisits(sql, hours) {
          // In the transaction of the clicks: this is gone where that is.
          await sql.query('insert into visits_given select $1::jsonb', [JSON.stringify(hours)])
          if (folding.isLate(hours)) {
            await sql.query('set local statement_timeout = 1')
            await sql.query('select pg_sleep(1)')
          }
          if (folding.fails === 'always' || folding.fails-- > 0) await sql.query('select 1 / 0')
          folding.fails = folding.fails === 'always' ? folding.fails : 0
          given.push(...hours)
        },
        ...more,
      },
      { clicksEveryMs: everyMs, clickLinks: 1000, takeOverEveryMs: 0, clicksStopMs: 2000, visitsRestMs: 1e9 },
    )
    running = clicks
    const visit = (linkId: number, said: Partial<Said>, times = 1, peer = '192.0.2.7'): void => {
      const tally = clicks.tally(linkId)
      const caller = {
        peer, forwardedFor: undefined, query: undefined,
        said: () => ({ userAgent: firefox, referer: undefined, acceptLanguage: undefined, isPrivate: false, purpose: undefined, ...said }),
      } // prettier-ignore
      for (let n = 0; n < times; n++) {
        clicks.hit(tally)
        visits.onVisit(tally, caller, undefined)
      }
    }
    return { clicks, visit }
  }
  const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0'
  const clicksOf = async (linkId: number): Promise<number> => {
    const [row] = await db.query<{ n: number }>('select coalesce(sum(clicks), 0)::bigint as n from clicks where link_id = $1', [linkId]) // prettier-ignore
    return row!.n
  }
  const allGiven = (linkId: number): LinkVisits[] =>
    given.flatMap(({ links }) => links.filter((link) => link.linkId === linkId))
  const cellsOf = ({ cells }: LinkVisits, name: (typeof dimensions)[number]) =>
    cells.filter(([dimension]) => dimensions[dimension] === name).map(([, ...rest]) => rest)

  beforeAll(() => db.query('create table visits_given (hours jsonb)'))

  it('arrive with their clicks, exactly where all were looked at, and by weight where not', async () => {
    const { clicks, visit } = start()
    visit(101, { referer: 'https://a.example/' }, 3)
    visit(101, { referer: 'https://a.example/' }, 2, '192.0.2.8')
    visit(101, { isPrivate: true }, 1, '192.0.2.9')
    visit(101, { userAgent: 'curl/8.5.0' }, 4)
    visit(102, { referer: 'https://b.example/' }, 10_000)
    await clicks.flush()
    const [first] = allGiven(101)
    expect(first).toMatchObject({ total: 10, people: 6, withheld: 1, detailed: 10, atLeast: false })
    expect(cellsOf(first!, 'referrer')).toEqual([['a.example', 5, 5]])
    expect(cellsOf(first!, 'bot')).toEqual([['person', 5, 5], ['bot', 4, 0]]) // prettier-ignore
    expect(estimate(first!.visitors!)).toBe(2)
    const [second] = allGiven(102)
    expect(second).toMatchObject({ total: 10_000, people: 10_000, detailed: limits.visitsPerLink, atLeast: true })
    expect(cellsOf(second!, 'referrer')).toEqual([['b.example', 10_000, 10_000]])
    expect([await clicksOf(101), await clicksOf(102), untold, errors]).toEqual([10, 10_000, 0, []])
  })

  it('of which many were told let Postgres rest, so that rows are written once for what comes meanwhile', async () => {
    const { clicks, visit } = start({ everyMs: 10 })
    for (let link = 0; link < 1000; link++)
      visit(8_000_000 + link, { acceptLanguage: 'de', referer: 'https://a.example/' })
    await waitFor(() => clicks.spooled + clicks.pending === 0 && given.length > 0)
    let came = 1
    await waitFor(() => {
      visit(8_000_000, {})
      came++
      return clicks.spooled >= 30
    })
    await clicks.flush()
    expect(allGiven(8_000_000).reduce((sum, { total }) => sum + total, 0)).toBe(came)
  })

  it('that Postgres takes at the second try are there once', async () => {
    const { clicks, visit } = start()
    await db.query('delete from visits_given')
    folding.fails = 1
    visit(103, {}, 7)
    await clicks.flush()
    expect([await clicksOf(103), errors.length]).toEqual([0, 1])
    await clicks.flush()
    expect([await clicksOf(103), allGiven(103).length, untold]).toEqual([7, 1, 0])
    expect(await db.query('select from visits_given')).toHaveLength(1)
  })

  it('that Postgres never takes keep no click back, and are counted', async () => {
    const { clicks, visit } = start()
    await db.query('delete from visits_given')
    folding.fails = 'always'
    visit(104, {}, 7)
    for (let n = 0; n < 3; n++) await clicks.flush()
    expect([await clicksOf(104), clicks.spooled, untold]).toEqual([7, 0, 7])
    expect(await db.query('select from visits_given')).toHaveLength(0)
    folding.fails = 0
    visit(104, {}, 2)
    await clicks.flush()
    expect([await clicksOf(104), allGiven(104).map(({ total }) => total)]).toEqual([9, [2]])
  })

  it('that are too much for the deadline of Postgres arrive in smaller parts, however often it was late', async () => {
    let isAway = true
    const sql: ClicksDeps['sql'] = {
      query: (...asked) => (isAway ? Promise.reject(new Error('away')) : db.query(...asked)),
      transaction: (work) => (isAway ? Promise.reject(new Error('away')) : db.transaction(work)),
    }
    const { clicks, visit } = start({ sql })
    for (let n = 0; n < 8; n++) {
      visit(106, {}, 1)
      await clicks.flush()
    }
    isAway = false
    let late = 0
    folding.isLate = (hours) => hours.some(({ links }) => links.some(({ total }) => total > 1)) || late++ < 4
    await waitFor(async () => {
      await clicks.flush()
      return clicks.spooled === 0
    })
    expect([await clicksOf(106), allGiven(106).reduce((sum, { total }) => sum + total, 0), untold]).toEqual([8, 8, 0])
  })

  it('give way in a spool that is nearly full: the oldest breakdowns first, while no click does', async () => {
    const away: ClicksDeps['sql'] = {
      query: () => Promise.reject(new Error('away')),
      transaction: () => Promise.reject(new Error('away')),
    }
    const { clicks, visit } = start({ maxBytes: 500_000, sql: away })
    let came = 0
    for (let n = 0; n < 30; n++) {
      for (let link = 0; link < 15; link++) {
        for (let site = 0; site < 100; site++, came++) visit(500 + link, { referer: `https://a-longer-name-of-a-site-${site}.example/` })
      }
      await clicks.flush()
    }
    const dir = join(dataDir, 'spool')
    const texts = readdirSync(dir).flatMap((spool) => readdirSync(join(dir, spool)).sort().map((file) => readFileSync(join(dir, spool, file), 'latin1')))
    const batches = texts.flatMap((text) => text.trimEnd().split('\n').map((line) => fromLine(line)!))
    const told = batches.map(({ visits }) => detailedIn(visits))
    const first = told.findIndex((detailed) => detailed > 0)
    expect(first).toBeGreaterThan(0)
    // From there on all of them.
    expect(told.slice(first)).toEqual(Array.from({ length: 30 - first }, () => 1500))
    expect(batches.map(({ number }) => number)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
    expect(batches.reduce((sum, { rows }) => sum + clicksIn(rows), 0)).toBe(came)
    expect(batches.every(({ visits }) => unpack(visits).reduce((sum, { total }) => sum + total, 0) === 1500)).toBe(true)
    expect(untold).toBe(1500 * first)
    expect(texts.join('').length).toBeLessThanOrEqual(500_000)
  }) // prettier-ignore

  it('give way in a spool that is nearly full and has nothing old: breakdowns first, then people, clicks last', async () => {
    const maxBytes = 20_000
    const away: ClicksDeps['sql'] = {
      query: () => Promise.reject(new Error('away')),
      transaction: () => Promise.reject(new Error('away')),
    }
    const { clicks, visit } = start({ maxBytes, sql: away })
    for (let n = 0; n < 200; n++) {
      visit(105, { referer: `https://site-${n}.example/` }, 3)
      await clicks.flush()
    }
    const dir = join(dataDir, 'spool')
    const lines = readdirSync(dir).flatMap((spool) =>
      readdirSync(join(dir, spool)).flatMap((file) =>
        readFileSync(join(dir, spool, file), 'latin1')
          .trimEnd()
          .split('\n'),
      ),
    )
    const batches = lines.map((line) => fromLine(line)!)
    const kinds = batches.map(({ visits }) => (visits === undefined ? 'clicks' : unpack(visits)[0]!.cells.length > 0 ? 'all' : 'people')) // prettier-ignore
    const [all, people, only] = ['all', 'people', 'clicks'].map((kind) => kinds.filter((one) => one === kind).length)
    expect(kinds).toEqual([...Array<string>(all!).fill('all'), ...Array<string>(people!).fill('people'), ...Array<string>(only!).fill('clicks')]) // prettier-ignore
    for (const count of [all, people, only]) expect(count).toBeGreaterThan(0)
    expect(lines.join('').length).toBeLessThanOrEqual(maxBytes)
    expect(batches.every(({ rows: [row] }) => row![1] === 3)).toBe(true)
    expect(untold).toBe(3 * (200 - all!))
  })
})

describe('both doors', () => {
  const secret = { address: '203.0.113.77', agent: '.4242.77' }
  const browser = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0${secret.agent} Safari/537.36` // prettier-ignore

  afterEach(() => void vi.restoreAllMocks())

  async function allOf(redisUrl: string): Promise<string> {
    const redis = new Redis(redisUrl)
    const keys: string[] = []
    for await (const some of redis.scanStream()) keys.push(...(some as string[]))
    const values = await Promise.all(keys.map((key) => redis.get(key).catch(() => null)))
    redis.disconnect()
    return [...keys, ...values].join()
  }
  async function allRows(): Promise<string[]> {
    const tables = await db.query<{ name: string }>("select format('%I', tablename) as name from pg_tables where schemaname = 'public'") // prettier-ignore
    const rows = await Promise.all(
      tables.map(({ name }) => db.query<{ text: string }>(`select t::text as text from ${name} t`)),
    )
    return rows.flat().map(({ text }) => text)
  }

  /** Requests as they are written, on one connection. */
  async function ask(url: string, requests: readonly string[]): Promise<void> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')))
    for (const [n, request] of requests.entries()) {
      socket.write(`${request.trim().split('\n').join('\r\n')}\r\n\r\n`)
      await waitFor(() => received.split('HTTP/1.1 302').length === n + 2)
    }
    socket.end()
    await once(socket, 'close')
  }

  it('tell the same of the same visits, of whom nothing is in the spool, in Redis, in Postgres or in the log', async () => {
    const geoip = join(dataDir, 'countries.mmdb')
    writeFileSync(geoip, countryDatabase({ '203.0.113.0/24': 'DE' }))
    const told: unknown[] = []
    let logged = ''
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk, ...more) => {
      logged += String(chunk)
      const done = more.at(-1) as (() => void) | string | undefined
      if (typeof done === 'function') done()
      return true
    })
    for (const frontDoor of ['raw', 'http']) {
      const redisUrl = await freshRedis()
      const dir = join(dataDir, frontDoor)
      const env = {
        FRONT_DOOR: frontDoor,
        GEOIP_FILE: geoip,
        TRUST_PROXY: 'loopback',
        DATA_DIR: dir,
        LOG_LEVEL: 'debug',
      }
      const app = await startTestApp({ databaseUrl, redisUrl, env })
      const code = await app.create('https://example.com/', { rules: [{ when: { os: 'windows' }, url: 'https://example.com/w' }] }) // prettier-ignore
      const from = `X-Forwarded-For: ${secret.address}\nHost: go.example`
      await ask(app.url, [
        `GET /${code}?utm_source=news&utm_campaign=b%C3%BCro HTTP/1.1\nUser-Agent: ${browser}\nReferer: https://www.a.example/x\nAccept-Language: de-CH,de\n${from}`,
        `GET /${code} HTTP/1.1\nUser-Agent: ${browser}\nSec-Purpose: prefetch;prerender\n${from}`,
        `GET /${code} HTTP/1.1\nUser-Agent: ${browser}\nSec-GPC: 1\n${from}`,
        `HEAD /${code} HTTP/1.1\nUser-Agent: ${browser}\n${from}`,
        `GET /${code} HTTP/1.1\nUser-Agent: Slackbot 1.0\n${from}`,
      ])
      const textsOf = (): string[] => {
        const spool = join(dir, 'spool')
        const files = existsSync(spool) ? readdirSync(spool, { recursive: true, encoding: 'utf8' }) : []
        return files.filter((file) => file.endsWith('.log')).map((file) => readFileSync(join(spool, file), 'latin1'))
      }
      const batchesOf = (): Spooled[] =>
        textsOf().flatMap((text) =>
          text
            .split('\n')
            .map(fromLine)
            .filter((batch) => batch !== undefined),
        )
      await waitFor(() => batchesOf().reduce((sum, { rows }) => sum + clicksIn(rows), 0) === 4)
      const batches = batchesOf()
      const links = batches.flatMap(({ visits }) => unpack(visits))
      told.push(links.flatMap(({ cells }) => cells.map(([dimension, ...rest]) => [dimensions[dimension], ...rest].join(' '))).sort()) // prettier-ignore
      expect(links.reduce((sum, { total }) => sum + total, 0)).toBe(4)
      expect(links.reduce((sum, { people }) => sum + people, 0)).toBe(2)
      expect(links.reduce((sum, { withheld }) => sum + withheld, 0)).toBe(1)
      const keptOf = `select sum(v.total)::int as n from visit_hours v join links l on v.subject = 'l/' || l.id where l.code = $1`
      await waitFor(async () => (await db.query<{ n: number }>(keptOf, [code]))[0]?.n === 4, { deadlineMs: 30_000 })
      const texts = [...textsOf(), logged, await allOf(redisUrl), ...(await allRows())]
      // As they are, and as Postgres and a dump write bytes.
      for (const secretly of Object.values(secret)) {
        for (const form of [secretly, Buffer.from(secretly).toString('hex')]) {
          expect(texts.filter((text) => text.includes(form))).toEqual([])
        }
      }
      // What may be found is found so.
      expect(texts.some((text) => text.includes(Buffer.from('Chrome 126').toString('hex')))).toBe(true)
      await app.close()
    }
    expect(told[1]).toEqual(told[0])
    expect(told[0]).toEqual([
      'bot person 1 1', 'bot prefetch 1 0', 'bot preview 1 0', 'browser Chrome 126 2 1', 'country DE 3 1', 'device desktop 2 1',
      'language de 1 1', 'os windows 2 1', 'referrer a.example 1 1', 'target default 1 0', 'target rule 1 2 1',
      'utm_campaign büro 1 1', 'utm_source news 1 1',
    ]) // prettier-ignore
  })
})
