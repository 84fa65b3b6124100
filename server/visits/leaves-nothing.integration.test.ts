// Visits, and then every file that may leave the machine: a real dump, a real copy of the data folder, Redis' own file, the click spool, the log. No address
// and no User-Agent is in any of them. That the search finds what is there is shown by what may be there.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { gunzipSync } from 'node:zlib'
import { afterEach, expect, inject, test } from 'vitest'
import { backup } from '../../embedded/backup.ts'
import { placesIn, projectDir } from '../../embedded/paths.ts'
import { startPostgres, stopPostgres } from '../../embedded/postgres.ts'
import { startTestApp } from '../../testing/app.ts'
import {
  handInPsql,
  postgres15BinDir,
  saveRedis,
  startPostgresServer,
  startRedisServer,
  waitFor,
} from '../../testing/services.ts'
import { clicksIn, fromLine } from '../clicks/batch.ts'

const address = '203.0.113.77'
const addresses = [address, '2001:db8:77:7::1', '2001:db8:77:7']
/** A part that is in no name of a browser, whole or cut. */
const agents = ['.4242.77', 'a-name-of-no-browser']
const browser = `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0${agents[0]} Safari/537.36`
const secrets = [...addresses, ...agents]
/** What may be kept of it. */
const kept = 'Chrome 126'
const usual = { timeout: 120_000 }

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

/** As they are, and as Postgres writes bytes. */
const formsOf = (text: string): Buffer[] => [Buffer.from(text), Buffer.from(Buffer.from(text).toString('hex'))]
const has = (file: Buffer, text: string): boolean => formsOf(text).some((form) => file.includes(form))

/** Links are followed, by persons and by others, found and not found, through either door; nothing of them reaches Postgres before the spool was read. */
async function visited(databaseUrl: string, tierOff: boolean): Promise<Record<string, Buffer>> {
  const redis = tierOff ? undefined : await startRedisServer({ config: ['rdbcompression no'] })
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-visits-'))
  endings.push(() => rmSync(dataDir, { recursive: true, force: true }))
  let logged = ''
  const logTo = new Writable({
    write(chunk: Buffer, _, done) {
      logged += chunk.toString()
      done()
    },
  })
  const spooled: Buffer[] = []
  for (const frontDoor of ['raw', 'http']) {
    const env = {
      DATA_DIR: join(dataDir, frontDoor),
      TRUST_PROXY: 'loopback',
      FRONT_DOOR: frontDoor,
      LOG_LEVEL: 'debug',
    }
    const app = await startTestApp({ databaseUrl, redisUrl: redis?.url, env, logTo })
    const sql = handInPsql(databaseUrl)
    const code = await app.create('https://example.org/')
    const closed = await app.create('https://example.org/', { password: 'a word for this' })
    const ruled = await app.create('https://example.org/', {
      rules: [{ when: { language: 'de' }, url: 'https://example.org/de' }],
    })
    const from = (n: number, agent: string | undefined) => ({
      'X-Forwarded-For': addresses[n]!,
      'User-Agent': agent!,
      Referer: 'https://www.a.example/x',
      'Accept-Language': 'de',
    })
    await sql.transaction(async (held) => {
      // So that the spool keeps what it has.
      await held.query('lock table visit_hours in access exclusive mode')
      for (const path of [`/${code}?utm_source=news`, `/${ruled}`, `/${closed}`, '/no-such-code', '/nothing/here'])
        for (const headers of [from(0, browser), from(1, agents[1])]) await app.get(path, headers)
      const files = (): Buffer[] => {
        const names = readdirSync(dataDir, { recursive: true, encoding: 'utf8', withFileTypes: true })
        return names.filter((file) => file.isFile()).map((file) => readFileSync(join(file.parentPath, file.name)))
      }
      const inSpool = (): number =>
        files()
          .flatMap((file) => file.toString('latin1').split('\n'))
          .map(fromLine)
          .reduce((sum, batch) => sum + (batch === undefined ? 0 : clicksIn(batch.rows)), 0)
      await waitFor(() => inSpool() === 4)
      spooled.push(...files())
    })
    const told =
      'select coalesce(sum(h.total), 0)::int as n from visit_hours as h join links as l on h.subject = $1 || l.id where l.code = any($2)'
    await waitFor(async () => (await sql.query<{ n: number }>(told, ['l/', [code, ruled]]))[0]?.n === 4, {
      deadlineMs: 30_000,
    })
    await app.close()
  }
  const files: Record<string, Buffer> = { spool: Buffer.concat(spooled), log: Buffer.from(logged) }
  if (!redis) return files
  await saveRedis(redis.url)
  return { ...files, redis: readFileSync(join(redis.dir, 'dump.rdb')) }
}

function expectNothingOf(files: Record<string, Buffer>): void {
  const found = Object.entries(files).flatMap(([name, file]) =>
    secrets.filter((secret) => has(file, secret)).map((secret) => `${secret} in ${name}`),
  )
  expect(found).toEqual([])
}

async function saltsOf(databaseUrl: string): Promise<string[]> {
  const sql = handInPsql(databaseUrl)
  const rows = await sql.query<{ salt: Buffer }>('select salt from visit_salts')
  return rows.map(({ salt }) => salt.toString('hex'))
}

test('a dump, the log, the spool and Redis say nothing of who came; a dump has no salt', usual, async ({ skip }) => {
  const binDir = await postgres15BinDir()
  if (binDir === undefined) skip('there is no pg_dump, and no apt to install it')
  const server = await startPostgresServer({ binDir: binDir! })
  const files = await visited(server.url, false)
  // What the nightly service runs.
  const script = readFileSync(join(projectDir, 'docker', 'backup.sh'), 'utf8')
  const [, options = ''] =
    /exec pg_dump (.*) --host=postgres --username=backup --format=custom quicklink/.exec(script) ?? []
  const dump = execFileSync(
    join(binDir!, 'pg_dump'),
    [...options.split(' '), '--format=custom', `--dbname=${server.url}`],
    { maxBuffer: 1e9 },
  )
  const text = execFileSync(join(binDir!, 'pg_restore'), ['--file=-'], { input: dump, maxBuffer: 1e9 })
  expectNothingOf({ ...files, dump: text })
  const salts = await saltsOf(server.url)
  expect(salts).toHaveLength(2)
  expect(salts.filter((salt) => text.includes(salt))).toEqual([])
  expect(text.includes('CREATE TABLE public.visit_salts')).toBe(true)
  // What may be found is found.
  expect([has(text, kept), has(text, 'a.example'), has(files['spool']!, kept)]).toEqual([true, true, true])
  expect(files['redis']!.includes('https://example.org/')).toBe(true)
  expect(files['log']!.length).toBeGreaterThan(0)
})

test(
  'a copy of the data folder, with all that Postgres wrote down for itself, says nothing of who came',
  usual,
  async () => {
    const places = placesIn(join(inject('services').runDir, 'leaves-nothing'))
    const silent = (): void => undefined
    const { url } = await startPostgres(places, 1, silent)
    endings.push(() => stopPostgres(places))
    await visited(url, true)
    const salts = await saltsOf(url)
    await backup(places, silent)
    const folder = join(places.dataDir, 'backups')
    const copy = gunzipSync(readFileSync(join(folder, readdirSync(folder)[0]!)))
    expectNothingOf({ copy })
    expect(has(copy, kept)).toBe(true)
    // As docs/PRIVACY.md says, these are in it.
    expect(salts.filter((salt) => copy.includes(Buffer.from(salt, 'hex')))).toEqual(salts)
  },
)
