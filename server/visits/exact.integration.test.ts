// From a visitor's request to an answer about it: two servers, a Redis that is emptied, a Postgres that refuses in the middle, and in the long
// form (npm run -s exact) a worker that is killed.
import { readdirSync, readFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { created, send, type Api } from '../../testing/http.ts'
import { startServer } from '../../testing/server-process.ts'
import { freshDatabase, freshRedis, handInPsql, proxied, redisCommand, waitFor } from '../../testing/services.ts'
import { fromLine } from '../clicks/batch.ts'
import type { StatsShown } from './operations.ts'

/** Of the long form. */
const many = Number(process.env['QL_EXACT_VISITS'] ?? 0)
const few = 2000
/** Visitors. */
const atOnce = 25

const agents = {
  'Chrome 126':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Firefox 127': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  bot: 'Googlebot/2.1 (+http://www.google.com/bot.html)',
} as const
const kinds = ['Chrome 126', 'Firefox 127', 'bot'] as const
const referrers = ['news.example', 'search.example', undefined]
const languages = ['de', 'en']
const codes = Array.from({ length: 10 }, (_, n) => `link-${n}`)

/** What visitor n says, and what is to be told of it. */
function known(n: number) {
  const kind = kinds[n % 3]!
  const referrer = referrers[(n % 7) % 3]
  const language = languages[n % 2]!
  const headers = {
    'User-Agent': agents[kind],
    'Accept-Language': language,
    ...(referrer ? { Referer: `https://${referrer}/page` } : {}),
  }
  const told: Readonly<Record<string, string | undefined>> = {
    bot: kind === 'bot' ? 'bot' : 'person',
    browser: kind === 'bot' ? undefined : kind,
    referrer,
    language,
  }
  return { code: codes[n % codes.length]!, headers, told }
}

interface Visited {
  total: number
  people: number
  /** By dimension and value. */
  readonly values: Map<string, number>
  /** When the first server answered, each time. */
  readonly firstAtMs: number[]
}

/** Visits of visitors 0 to n, some at a time, at both servers; what has been answered with a redirect. */
async function visitAll(
  urls: readonly string[],
  visits: number,
  at: Readonly<Record<number, () => unknown>>,
): Promise<Visited> {
  const came: Visited = { total: 0, people: 0, values: new Map(), firstAtMs: [] }
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const visit = async (n: number): Promise<void> => {
    const { code, headers, told } = known(n)
    const answer = await send(urls[n % urls.length]!, 'GET', `/${code}`, undefined, headers, agent).catch(
      () => undefined,
    )
    if (answer?.status !== 302) return
    came.total++
    if (n % urls.length === 0) came.firstAtMs.push(Date.now())
    if (told['bot'] === 'person') came.people++
    for (const [dimension, value] of Object.entries(told)) {
      const name = `${dimension} ${value ?? ''}`
      if (value !== undefined) came.values.set(name, (came.values.get(name) ?? 0) + 1)
    }
  }
  for (let n = 0; n < visits; n += atOnce) {
    await at[n / visits]?.()
    await Promise.all(Array.from({ length: atOnce }, (_, i) => visit(n + i)))
  }
  agent.destroy()
  return came
}

/**
 * Of all links together, by their tag: each dimension adds up to `all`, and each value is what came, or `off` by so many. Where not every
 * visit was looked at, it is as good as a sample. How many were looked at.
 */
async function expectTold(api: Api, came: Visited, all: number, off: number): Promise<number> {
  let looked = all
  for (const dimension of [
    'bot',
    'browser',
    'referrer',
    'language',
    'os',
    'device',
    'country',
    'utm_source',
    'target',
  ]) {
    const stats = (await api('GET', `/tags/all/stats?dimension=${dimension}`)).body as unknown as StatsShown
    const { total, people, detailed, sampled, top, other, unknown, withheld } = stats
    looked = Math.min(looked, detailed)
    const margin = off + (sampled ? 0.1 * all : 0)
    expect(total).toBe(all)
    expect(Math.abs(people - came.people)).toBeLessThanOrEqual(margin)
    expect(top.reduce((sum, value) => sum + value.total, other.total + unknown.total + withheld)).toBe(total)
    for (const [name, count] of came.values) {
      if (!name.startsWith(`${dimension} `)) continue
      const told = top.find(({ value }) => `${dimension} ${value}` === name)?.total ?? 0
      expect([name, Math.abs(told - count) <= margin]).toEqual([name, true])
    }
  }
  return looked
}

const clicksIn = async (databaseUrl: string): Promise<number> =>
  (await handInPsql(databaseUrl).query<{ n: number }>('select coalesce(sum(clicks), 0)::bigint as n from clicks'))[0]!.n
const totalOf = async (api: Api): Promise<number> => Number((await api('GET', '/stats')).body['total'])

async function makeLinks(api: Api): Promise<void> {
  for (const code of codes) await created(api, '/links', { url: 'https://example.org/', code, tags: ['All'] })
}

async function inOneProcess(): Promise<void> {
  const databaseUrl = await freshDatabase()
  const redisUrl = await freshRedis()
  const { proxy, url } = await proxied(databaseUrl)
  const first = await startTestApp({ databaseUrl: url, redisUrl })
  const second = await startTestApp({ databaseUrl: url, redisUrl, key: first.key })
  await makeLinks(first.api)
  const came = await visitAll([first.url, second.url], few, {
    0.25: () => redisCommand(redisUrl, 'FLUSHALL'),
    0.5: () => proxy.refuse(),
    0.75: () => proxy.pass(),
  })
  await waitFor(async () => (await totalOf(first.api)) === came.total, { deadlineMs: 30_000 })
  await expectTold(first.api, came, came.total, 0)
  let ofLinks = 0
  for (const code of codes) ofLinks += Number((await first.api('GET', `/links/${code}/stats`)).body['total'])
  expect(ofLinks).toBe(came.total)
  expect(await clicksIn(databaseUrl)).toBe(came.total)
}

/** Until when the clicks of a worker's spool were counted, which is nobody's any more. */
function lastWritten(dataDir: string, id: string): number | undefined {
  const spool = join(dataDir, 'spool', readdirSync(join(dataDir, 'spool')).find((name) => name.startsWith(id)) ?? '')
  const lines = readFileSync(join(spool, readdirSync(spool).sort().at(-1) ?? ''), 'latin1')
    .trimEnd()
    .split('\n')
  return lines.map(fromLine).findLast((batch) => batch !== undefined)?.atMs
}

/** The long form: two servers as they are started, and one of their four workers is killed. */
async function withAKill(): Promise<void> {
  const databaseUrl = await freshDatabase()
  const redisUrl = await freshRedis()
  const { proxy, url } = await proxied(databaseUrl)
  const env = { DATABASE_URL: url, REDIS_URL: redisUrl, WORKERS: '2' }
  const first = await startServer(env)
  const second = await startServer({ ...env, OWNER_KEY: first.key })
  await makeLinks(first.api)
  const [victim] = await first.workerPids()
  const spoolOf = (pid: number): string | undefined =>
    readdirSync(join(first.dataDir, 'spool')).find((name) => name.split('@')[2] === `${pid}`)
  let [killedMs, writtenMs] = [NaN, NaN]
  const kill = async (): Promise<void> => {
    const [id = ''] = spoolOf(victim!)?.split('@') ?? []
    process.kill(victim!, 'SIGKILL')
    killedMs = Date.now()
    // While Postgres refuses, the files stay, whoever takes them over.
    writtenMs = await waitFor(() => lastWritten(first.dataDir, id))
  }
  const came = await visitAll([first.url, second.url], many, {
    0.25: () => redisCommand(redisUrl, 'FLUSHALL'),
    0.5: () => proxy.refuse(),
    0.6: kill,
    0.75: () => proxy.pass(),
  })
  // Somebody takes over what the dead worker has left; then all who count bring what they have.
  await waitFor(async () => spoolOf(victim!) === undefined && (await first.metric('quicklink_clicks_spooled')) === 0, {
    deadlineMs: 60_000,
  })
  for (const server of [first, second]) {
    server.signal('SIGTERM')
    await server.ended
    expect(readdirSync(join(server.dataDir, 'spool'))).toEqual([])
  }
  const { api } = await startServer({ ...env, OWNER_KEY: first.key })
  const total = await totalOf(api)
  expect(await clicksIn(databaseUrl)).toBe(total)
  // What the killed worker had counted since its last line, and nothing else. Its server's other worker answered meanwhile, too.
  const lost = came.total - total
  const since = came.firstAtMs.filter((atMs) => atMs >= writtenMs && atMs <= killedMs).length
  expect(lost).toBeLessThanOrEqual(since)
  // A visitor whose connection broke may have been counted.
  const off = Math.abs(lost) + atOnce
  const detailed = await expectTold(api, came, total, off)
  process.stdout.write(
    `${came.total} of ${many} visits redirected; ${total} told, ${detailed} of them in detail. The killed worker had written ` +
      `${killedMs - writtenMs} ms ago: ${lost} lost, of ${since} that its server had answered since\n`,
  )
}

it(
  'visits with known values are told exactly, in total and in every dimension, whatever fails meanwhile',
  () => (many > 0 ? withAKill() : inOneProcess()),
  many > 0 ? 900_000 : undefined,
)
