// Promise 7 on whole servers: 8 processes, one limited link, many more requests than it has hits. Never one too many;
// how many too few is what each fault may cost at most. QL_HITS_REQUESTS=20000 QL_HITS_LIMIT=1000 shows the full counts.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { send } from '../../testing/app.ts'
import { allTrust } from '../../testing/changes.ts'
import { flood, type Flood, type FloodOptions } from '../../testing/load.ts'
import { startServer } from '../../testing/server-process.ts'
import {
  freshDatabase,
  handInPsql,
  proxied,
  redisCommand,
  saveRedis,
  startRedisServer,
  waitFor,
} from '../../testing/services.ts'

const workers = 8
const limit = Number(process.env['QL_HITS_LIMIT'] ?? 400)
const requests = Number(process.env['QL_HITS_REQUESTS'] ?? 3000)
const advance = limit / 10
const dbTimeoutMs = 1000
/** What a process may hold of a link: a bundle, and the next one. */
const held = 2 * Math.max(1, advance >> 5)

const redis = await startRedisServer()
const through = await proxied(redis.url)
const proxy = through.proxy
const databaseUrl = await freshDatabase()
const sql = handInPsql(databaseUrl)
const server = await startServer({
  DATABASE_URL: databaseUrl,
  REDIS_URL: through.url,
  WORKERS: String(workers),
  HIT_QUOTA_UNGRANTABLE: 'reject',
  BREAKER_OPEN_MS: '1000',
  // 8 processes on few cores: a busy scheduler is not an outage.
  DB_TIMEOUT_MS: String(dbTimeoutMs),
  REDIS_TIMEOUT_MS: '1000',
})
await allTrust([server])
afterAll(() => server.kill())

async function link(monthlyHits: number): Promise<string> {
  const { body } = await server.api('POST', '/links', { url: 'https://example.org/', monthlyHits })
  return String(body['code'])
}

const redirects = ({ statuses }: Flood): number => statuses[302] ?? 0
const month = (): string => new Date().toISOString().slice(0, 7)

/** Something happens when a third of the requests is sent. */
async function floodWith(code: string, happens: () => unknown, more: Partial<FloodOptions> = {}): Promise<Flood> {
  let done: unknown
  const during = (sent: number): void => {
    if (sent === Math.floor(requests / 30)) done = happens()
  }
  const found = await flood(server.url, `/${code}`, { requests, perSecond: requests, during, ...more })
  await done
  return found
}

describe('a link with a limit, asked for far too often', () => {
  it('is redirected exactly as often, but for what is left in processes, and says so', async () => {
    const code = await link(limit)
    const found = await floodWith(code, () => undefined)
    const served = redirects(found)
    expect(served).toBeLessThanOrEqual(limit)
    // Who had to wait too long on a busy machine was told so, and not that the month is used up.
    const late = found.statuses[503] ?? 0
    expect(served + late).toBeGreaterThanOrEqual(limit - workers * held)
    expect(found.statuses[429]).toBe(requests - served - late)
    expect(late).toBeLessThan(requests / 10)
    expect(found.failures).toBe(0)
    const refused = await send(server.url, 'GET', `/${code}`)
    const toEndS = (Date.parse(`${month()}-01T00:00Z`) + 32 * 86_400_000 - Date.now()) / 1000
    expect(Number(refused.headers['retry-after'])).toBeLessThan(toEndS)
    await waitFor(async () => (await server.api('GET', `/links/${code}/hits`)).body['used'] === served)
    const { body } = await server.api('GET', `/links/${code}/hits`)
    expect(body).toEqual({
      month: month(),
      used: served,
      limit,
      remaining: limit - served,
      // All of it is handed out, and what is left is in processes.
      settling: served < limit,
      resetsAt: expect.stringMatching(/-01T00:00:00.000Z$/),
    })
    expect(Number((await redisCommand(redis.url, `TTL links:${code}:hits:${month()}`))?.slice(1))).toBeLessThan(toEndS)
  })

  it.each<[string, (code: string) => unknown, number]>([
    ['its counter is evicted', (code) => redisCommand(redis.url, `UNLINK links:${code}:hits:${month()}`), 3 * advance],
    ['Redis is flushed', () => redisCommand(redis.url, 'FLUSHALL'), 3 * advance],
    ['a process is killed', async () => process.kill((await server.workerPids())[0]!, 'SIGKILL'), held],
    [
      'the replies of Redis get lost',
      async () => {
        await proxy.dropReplies()
        await pause(500)
        await proxy.pass()
      },
      // Each process may lose a bundle and an advance on the way.
      workers * (advance + held),
    ],
    [
      'Redis is restored from an older snapshot',
      async () => {
        await saveRedis(redis.url)
        await pause(100)
        await redis.kill()
        await redis.restart()
      },
      3 * advance,
    ],
  ])('while %s: never once too often', async (_, happens, lost) => {
    await allTrust([server])
    const code = await link(limit)
    const first = await floodWith(code, () => happens(code))
    // Redis is away for a while, so what it held cannot be had; then it can, or it is lost.
    await allTrust([server])
    await pause(1100)
    const second = await floodWith(code, () => undefined)
    const served = redirects(first) + redirects(second)
    expect(served).toBeLessThanOrEqual(limit)
    expect(served).toBeGreaterThanOrEqual(limit - lost - workers * held)
  })

  it('is held to a lower limit within a second', async () => {
    const code = await link(limit)
    const some = await flood(server.url, `/${code}`, { requests: limit / 2, perSecond: 2000 })
    expect(redirects(some)).toBe(limit / 2)
    await server.api('PATCH', `/links/${code}`, { monthlyHits: limit / 4 })
    await pause(1000)
    expect(redirects(await floodWith(code, () => undefined))).toBe(0)
    await server.api('PATCH', `/links/${code}`, { monthlyHits: limit })
    await pause(1000)
    const rest = redirects(await floodWith(code, () => undefined))
    expect(rest).toBeLessThanOrEqual(limit / 2)
    expect(rest).toBeGreaterThanOrEqual(limit / 2 - workers * held)
  })

  it('begins anew when it is created anew', async () => {
    const code = `again-${limit}`
    await server.api('POST', '/links', { url: 'https://example.org/', code, monthlyHits: 20 })
    expect(redirects(await flood(server.url, `/${code}`, { requests: 60, perSecond: 500 }))).toBe(20)
    await server.api('DELETE', `/links/${code}`)
    await server.api('POST', '/links', { url: 'https://example.org/', code, monthlyHits: 20 })
    await pause(1000)
    expect(redirects(await flood(server.url, `/${code}`, { requests: 60, perSecond: 500 }))).toBe(20)
  })

  it('has its hits of each month, and none of the other one', async () => {
    const code = await link(limit)
    const at = (time: string) => sql.query(`create or replace function ql_now() returns timestamptz language sql volatile as $$ ${time} $$`) // prettier-ignore
    // The database's clock, which is this machine's: the month ends in 12 seconds, by when every process has looked at it,
    // and its hits are used up on a busy machine, too.
    const beganMs = Date.now()
    const endsMs = beganMs + 12_000
    await at(
      `select clock_timestamp() - timestamptz '${new Date(beganMs).toISOString()}' + timestamptz '2031-12-31 23:59:48Z'`,
    )
    await pause(6000)
    const inMonth = { old: 0, new: 0, between: 0 }
    // A busy machine takes longer until those of the new month are used up.
    const usedUp = (): boolean =>
      inMonth.new + inMonth.between >= limit - workers * held || Date.now() > endsMs + 20_000
    while (Date.now() < endsMs + 2500 || !usedUp()) {
      const sentMs = Date.now()
      const found = redirects(await flood(server.url, `/${code}`, { requests: 200, perSecond: 4000 }))
      // A process begins a month early by as long as the database's last answer took, and none waits longer than for this.
      inMonth[Date.now() < endsMs - dbTimeoutMs ? 'old' : sentMs > endsMs ? 'new' : 'between'] += found
    }
    expect(inMonth.old).toBeLessThanOrEqual(limit)
    expect(inMonth.new).toBeLessThanOrEqual(limit)
    expect(inMonth.old + inMonth.new + inMonth.between).toBeLessThanOrEqual(2 * limit)
    expect(inMonth.old + inMonth.between).toBeGreaterThanOrEqual(limit - workers * held)
    expect(inMonth.new + inMonth.between).toBeGreaterThanOrEqual(limit - workers * held)
    const rows = await sql.query('select month::text, granted from hits where month > $1 order by 1', ['2031-01-01'])
    expect(rows).toEqual([
      { month: '2031-12-01', granted: limit },
      { month: '2032-01-01', granted: limit },
    ])
    await at('select clock_timestamp()')
  })
})
