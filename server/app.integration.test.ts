// The whole of one worker on real servers: what is promised while Redis or Postgres fails.
import { createServer } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../testing/app.ts'
import { steadily } from '../testing/load.ts'
import { hurried } from '../testing/server-process.ts'
import { monitorRedis } from '../testing/redis-monitor.ts'
import {
  freshDatabase,
  handInPsql,
  proxied,
  startPostgresServer,
  startRedisServer,
  waitFor,
  type FaultProxy,
} from '../testing/services.ts'

/** The share of answers that is held to a deadline. */
const nearlyAll = 0.99

/**
 * What the machine adds to a deadline: how long nearly all answers of a server that does nothing take meanwhile, three times
 * (there and back to a database is more turns of two cores that run everything).
 */
async function noiseMs(until: Promise<unknown>): Promise<number> {
  const server = createServer((_, res) => res.writeHead(302).end()).listen(0, '127.0.0.1')
  const { port } = await new Promise<AddressInfo>((resolve) =>
    server.once('listening', () => resolve(server.address() as AddressInfo)),
  )
  const load = await steadily(() => `http://127.0.0.1:${port}`, ['/'], 100, until)
  server.close()
  return 3 * load.p(nearlyAll)
}

const target = 'https://example.org/somewhere'

const isOpen = async (app: TestApp, dependency: string): Promise<boolean> =>
  (await app.metric('quicklink_breaker_state', { dependency, state: 'open' })) === 1

async function behindProxies(env: Record<string, string> = {}) {
  const [redis, postgres] = await Promise.all([startRedisServer(), startPostgresServer()])
  const { proxy: redisProxy, url: redisUrl } = await proxied(redis.url)
  const { proxy: postgresProxy, url: databaseUrl } = await proxied(postgres.url)
  const app = await startTestApp({ databaseUrl, redisUrl, env: { ...hurried, ...env } })
  await waitFor(async () => (await app.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 30_000 })
  return { app, redis, postgres, redisProxy, postgresProxy }
}

/** 20 links, asked for by nobody yet. */
async function links(app: TestApp): Promise<Map<string, string>> {
  const made = new Map<string, string>()
  for (let n = 0; n < 20; n++) made.set(`/${await app.create(`${target}/${n}`)}`, `${target}/${n}`)
  return made
}

describe('Redis fails, and every redirect is right', () => {
  it.each([
    ['refused', (proxy: FaultProxy) => proxy.refuse()],
    ['black-holed', (proxy: FaultProxy) => proxy.blackHole()],
    ['slow by 200 ms', (proxy: FaultProxy) => proxy.delay(200)],
  ])('%s: answers below 120 ms, and nobody waits for it once the breaker is open', async (_, fail) => {
    const { app, redisProxy } = await behindProxies()
    const known = await links(app)
    const broken = (async () => {
      await pause(500)
      await fail(redisProxy)
      await pause(3000)
      // Links that passes vouch for are seldom looked up.
      await waitFor(() => isOpen(app, 'redis'), { deadlineMs: 30_000 })
    })()
    const [load, noise] = await Promise.all([steadily(() => app.url, [...known.keys()], 200, broken), noiseMs(broken)])
    expect(load.failures).toEqual([])
    expect(load.viaHttp, 'redirects that left the raw front door').toBe(0)
    for (const { path, status, headers } of load.answers) {
      expect([status, headers.location]).toEqual([302, known.get(path)])
    }
    expect(load.answers.length).toBeGreaterThan(500)
    expect(load.p(nearlyAll)).toBeLessThan(120 + noise)

    const before = redisProxy.counters.toTarget
    const refused = (): Promise<number> => app.metric('quicklink_db_fallback_total', { reason: 'open' })
    const misses = await refused()
    // There are look-ups, and none of them gets as far as Redis.
    const looked = waitFor(async () => (await refused()) > misses, { deadlineMs: 30_000 })
    await steadily(() => app.url, [...known.keys()], 100, looked)
    await looked
    // Passes go on asking for the cursor; no lookup does.
    expect(redisProxy.counters.toTarget - before).toBeLessThan(2000)
  })

  it('never there: the server starts, redirects, and is not trusted to have a cache', async () => {
    const redis = await startRedisServer()
    await redis.kill()
    const app = await startTestApp({ databaseUrl: await freshDatabase(), redisUrl: redis.url, env: hurried })
    const known = await links(app)
    const over = pause(1000)
    const [load, noise] = await Promise.all([steadily(() => app.url, [...known.keys()], 200, over), noiseMs(over)])
    expect(load.failures).toEqual([])
    expect(load.viaHttp, 'redirects that left the raw front door').toBe(0)
    expect(load.answers.every(({ path, headers }) => headers.location === known.get(path))).toBe(true)
    expect(load.p(nearlyAll)).toBeLessThan(120 + noise)
  })

  it('comes back: the breaker closes after its time, and Redis answers again', async () => {
    const { app, redisProxy } = await behindProxies({ BREAKER_OPEN_MS: '1000' })
    // One alone is looked up once a second, as long as passes vouch for it.
    const paths = [...(await links(app)).keys()]
    const visitAll = (): Promise<unknown> => Promise.all(paths.map((path) => app.get(path)))
    await redisProxy.refuse()
    await waitFor(
      async () => {
        await visitAll()
        return isOpen(app, 'redis')
      },
      { deadlineMs: 30_000 },
    )
    await redisProxy.pass()
    const hits = await app.metric('quicklink_lookups_total', { source: 'redis' })
    await waitFor(
      async () => {
        await visitAll()
        return (await app.metric('quicklink_lookups_total', { source: 'redis' })) > hits
      },
      { deadlineMs: 30_000 },
    )
  })
})

describe('Postgres fails', () => {
  it.each([
    ['refused', (proxy: FaultProxy) => proxy.refuse()],
    ['black-holed', (proxy: FaultProxy) => proxy.blackHole()],
  ])('%s: cached links live, others are 503 in time, creates are 503, and it heals by itself', async (_, fail) => {
    const { app, postgresProxy } = await behindProxies()
    const known = await links(app)
    const [path] = [...known.keys()] as [string]
    await fail(postgresProxy)
    const outage = pause(4000)
    const [cached, strangers, created, noise] = await Promise.all([
      steadily(() => app.url, [...known.keys()], 100, outage),
      steadily(() => app.url, ['/unknown1', '/unknown2', '/unknown3'], 50, outage),
      app.api('POST', '/links', { url: target }),
      noiseMs(outage),
    ])
    expect(cached.failures).toEqual([])
    expect(cached.viaHttp, 'redirects that left the raw front door').toBe(0)
    expect(cached.answers.filter(({ path, headers }) => headers.location !== known.get(path))).toEqual([])
    expect(strangers.failures).toEqual([])
    expect(new Set(strangers.answers.map(({ status }) => status))).toEqual(new Set([503]))
    expect(strangers.answers.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true)
    // Postgres' deadline once, and a look into Redis before and after it.
    expect(strangers.p(nearlyAll)).toBeLessThan(150 + noise)
    expect(strangers.viaHttp, 'answers that left the raw front door').toBe(0)
    expect(created).toMatchObject({ status: 503, body: { code: 'unavailable' } })
    expect(created.headers['retry-after']).toBeDefined()

    await postgresProxy.pass()
    await waitFor(async () => (await app.get('/unknown1')).status === 404, { deadlineMs: 5000 })
    await waitFor(async () => (await app.api('POST', '/links', { url: target })).status === 201, { deadlineMs: 30_000 })
    expect((await app.get(path)).status).toBe(302)
  })

  it('starts without it, and serves what Redis knows', async () => {
    const [redis, postgres] = await Promise.all([startRedisServer(), startPostgresServer()])
    const first = await startTestApp({ databaseUrl: postgres.url, redisUrl: redis.url })
    await waitFor(async () => (await first.metric('quicklink_trust_age_seconds')) < 0.5, { deadlineMs: 30_000 })
    const code = await first.create(target)
    await first.close()
    await postgres.kill()
    const app = await startTestApp({ databaseUrl: postgres.url, redisUrl: redis.url, booted: false, env: hurried })
    await waitFor(async () => (await app.get(`/${code}`)).status === 302, { deadlineMs: 30_000 })
    expect((await app.get('/neverseen')).status).toBe(503)
    expect((await app.api('GET', '/links')).status).toBe(503)
  })
})

describe('a stampede', () => {
  it('of 1,000 requests for one cold code is at most one Redis read and one Postgres row', async () => {
    // Slow enough that all are there before the answer is, and nobody needs a second one, however busy the machine is.
    const { app, redis, postgres, postgresProxy } = await behindProxies({
      LOCAL_CACHE_TTL_MS: '600',
      TRUST_MS: '400',
      DB_TIMEOUT_MS: '10000',
      API_DB_TIMEOUT_MS: '10000',
    })
    // By hand: who creates it by the API has a copy.
    const hand = handInPsql(postgres.url)
    await hand.query(`insert into links (code, url) values ('cold', $1)`, [target])
    const monitor = await monitorRedis(redis.url)
    // A connection of the pool that has this statement prepared: opening one over a slow line is not what is tested.
    await app.get('/nobody-has-this')
    const sockets = await Promise.all(Array.from({ length: 1000 }, () => connected(app)))
    const rows = (): Promise<number> => app.sample('quicklink_db_batch_size_sum')
    const before = await rows()
    const lookups = await app.metric('quicklink_lookups_total')
    // Last: from here on no pass is in time, and Redis is trusted for a moment only.
    await postgresProxy.delay(1000)
    const heads = await Promise.all(sockets.map((socket) => askRaw(socket, 'cold')))
    expect(heads.every((head) => head.startsWith('HTTP/1.1 302') && head.includes(`Location: ${target}\r\n`))).toBe(
      true,
    )
    expect((await rows()) - before).toBe(1)
    expect((await app.metric('quicklink_lookups_total')) - lookups).toBe(1)
    // The sampled checker may just have looked as well. None: a busy machine was so late that Redis was not trusted any more.
    expect(monitor.reads('ql:v1:link:cold')).toBeLessThanOrEqual(2)
  })
})

const connected = (app: TestApp): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(app.app.port, '127.0.0.1', () => resolve(socket)).once('error', reject)
  })

const askRaw = (socket: Socket, code: string): Promise<string> =>
  new Promise((resolve, reject) => {
    socket.once('error', reject).once('data', (chunk) => {
      resolve(chunk.toString('latin1'))
      socket.destroy()
    })
    socket.write(`GET /${code} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  })
