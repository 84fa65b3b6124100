// Two domains on real servers: what one is told of the other, and promise 4 for a code with a host before it.
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { created } from '../../testing/http.ts'
import {
  freshDatabase,
  handInPsql,
  proxied,
  redisCommand,
  saveRedis,
  startPostgresServer,
  startRedisServer,
  waitFor,
} from '../../testing/services.ts'

const host = 'go.second.example'
const ofMain = 'https://example.org/main'
const ofSecond = 'https://example.org/second'
const code = 'same-code'
const promiseMs = 1000

const visit = async (app: TestApp, at = host): Promise<string> => {
  const { status, headers } = await app.get(`/${code}`, { Host: at })
  return headers.location ?? String(status)
}
/** Both are in Redis: an announcement that comes while a pass is under way is dropped there, and made again. */
const inRedis = (app: TestApp, redisUrl: string): Promise<unknown> =>
  waitFor(
    async () => {
      for (const domain of [undefined, host]) await app.api('POST', '/cache/invalidate', { code, domain })
      return (await redisCommand(redisUrl, `EXISTS ql:v1:link:${host}/${code} ql:v1:link:${code}`)) === ':2'
    },
    { everyMs: 100 },
  )

const bothLinks = async (app: TestApp, more = {}): Promise<void> => {
  await created(app.api, '/links', { url: ofMain, code, ...more })
  await created(app.api, '/links', { url: ofSecond, code, domain: host, ...more })
}

it('when POST /domains has answered, no process of a crowd leads its host to the default domain, with Redis or without', async () => {
  const [redis, databaseUrl] = await Promise.all([startRedisServer(), freshDatabase()])
  const { proxy, url } = await proxied(redis.url)
  const first = await startTestApp({ databaseUrl, redisUrl: redis.url })
  const more = { databaseUrl, key: first.key }
  const crowd = [
    first,
    await startTestApp({ ...more, redisUrl: redis.url }),
    await startTestApp({ ...more, redisUrl: url }),
    await startTestApp({ ...more, redisUrl: url, env: { FRONT_DOOR: 'http' } }),
    await startTestApp(more),
    await startTestApp({ ...more, env: { FRONT_DOOR: 'http' } }),
  ]
  await created(first.api, '/links', { url: ofMain, code })
  for (const app of crowd) await waitFor(async () => (await visit(app)) === ofMain)
  await proxy.blackHole()
  let answeredMs = Infinity
  let goneMs = Infinity
  let over = false
  const wrong: unknown[] = []
  const visitors = crowd.map(async (app, n) => {
    while (!over) {
      const askedMs = performance.now()
      const said = await visit(app)
      if (askedMs > answeredMs && said === ofMain) wrong.push([n, said, askedMs - answeredMs])
      if (askedMs > goneMs + promiseMs && said !== '404') wrong.push([n, said, 'after its removal'])
      await pause(2)
    }
  })
  await created(first.api, '/domains', { host })
  answeredMs = performance.now()
  // It may be used at once, wherever.
  for (const app of crowd) {
    const path = `/links/${code}?domain=${host}`
    await created(app.api, '/links', { url: ofSecond, code, domain: host })
    await waitFor(async () => (await visit(app)) === ofSecond)
    expect((await app.api('DELETE', path)).status).toBe(204)
  }
  expect((await first.api('DELETE', `/domains/${host}`)).status).toBe(204)
  goneMs = performance.now()
  await pause(2 * promiseMs)
  over = true
  await Promise.all(visitors)
  expect(wrong).toEqual([])
})

describe('a link of a further domain never comes back', () => {
  it('when it was disabled while Redis was away, and Redis is back as it was before', async () => {
    const redis = await startRedisServer({ config: ['save ""'] })
    const databaseUrl = await freshDatabase()
    const one = await startTestApp({ databaseUrl, redisUrl: redis.url, env: { BREAKER_FAILURES: '1000' } })
    const more = { databaseUrl, redisUrl: redis.url, key: one.key, env: { BREAKER_FAILURES: '1000' } }
    const apps = [
      one,
      await startTestApp(more),
      await startTestApp({ ...more, env: { ...more.env, FRONT_DOOR: 'http' } }),
    ]
    await created(one.api, '/domains', { host })
    await bothLinks(one)
    await inRedis(one, redis.url)
    for (const app of apps) {
      await waitFor(async () => (await visit(app)) === ofSecond && (await visit(app, 'any.example')) === ofMain)
    }
    const file = join(redis.dir, 'dump.rdb')
    await saveRedis(redis.url)
    copyFileSync(file, `${file}.kept`)
    await redis.kill()
    expect((await one.api('PATCH', `/links/${code}?domain=${host}`, { enabled: false })).status).toBe(200)
    const disabledMs = performance.now()
    copyFileSync(`${file}.kept`, file)
    await redis.restart()
    expect(await redisCommand(redis.url, `EXISTS ql:v1:link:${host}/${code}`)).toBe(':1')
    await waitFor(() => performance.now() - disabledMs > promiseMs)
    for (const untilMs = performance.now() + 2000; performance.now() < untilMs;) {
      for (const app of apps) {
        expect(await visit(app)).toBe('404')
        expect(await visit(app, 'any.example')).toBe(ofMain)
      }
    }
    // And it is Redis that says so by now.
    await waitFor(
      async () => Number((await redisCommand(redis.url, `STRLEN ql:v1:link:${host}/${code}`))?.slice(1)) < 20,
    )
  })

  it('when a hand in psql changed it, within a second', async () => {
    const databaseUrl = await freshDatabase()
    const hand = handInPsql(databaseUrl)
    const app = await startTestApp({ databaseUrl })
    await created(app.api, '/domains', { host })
    await bothLinks(app)
    await waitFor(async () => (await visit(app)) === ofSecond)
    await hand.query('update links set url = $1 where code = $2', ['https://example.org/else', `${host}/${code}`])
    await pause(promiseMs)
    expect([await visit(app), await visit(app, 'any.example')]).toEqual(['https://example.org/else', ofMain])
    // Nor a domain that a hand removes.
    await hand.query('update domains set removed_at = now()')
    await pause(promiseMs)
    expect([await visit(app), await visit(app, 'any.example')]).toEqual(['404', ofMain])
  })
})

it('each of two links with the same code has hits of its own', async () => {
  const [redis, databaseUrl] = await Promise.all([startRedisServer(), freshDatabase()])
  const app = await startTestApp({ databaseUrl, redisUrl: redis.url })
  await created(app.api, '/domains', { host })
  await bothLinks(app, { monthlyHits: 3 })
  const told: string[] = []
  for (let n = 0; n < 5; n++) told.push(await visit(app), await visit(app, 'any.example'))
  expect(told).toEqual([...Array<string[]>(3).fill([ofSecond, ofMain]), ['429', '429'], ['429', '429']].flat())
  for (const query of ['', `?domain=${host}`]) {
    // Until Postgres has counted them it says that they are settling.
    const used = async () => (await app.api('GET', `/links/${code}/hits${query}`)).body['used']
    await waitFor(async () => (await used()) === 3, { deadlineMs: 30_000 })
  }
})

it('a process that starts while Postgres is away knows the domains from Redis, and answers a further one with its own links', async () => {
  const [redis, postgres] = await Promise.all([startRedisServer(), startPostgresServer()])
  const { proxy, url: databaseUrl } = await proxied(postgres.url)
  const first = await startTestApp({ databaseUrl, redisUrl: redis.url })
  await created(first.api, '/domains', { host })
  await created(first.api, '/domains', { host: 'gone.example' })
  await first.api('DELETE', '/domains/gone.example')
  await bothLinks(first)
  await waitFor(async () => (await visit(first)) === ofSecond && (await visit(first, 'any.example')) === ofMain)
  await waitFor(async () => (await visit(first, 'gone.example')) === '404')
  await inRedis(first, redis.url)
  await proxy.refuse()
  for (const frontDoor of ['raw', 'http']) {
    const late = await startTestApp({ databaseUrl, redisUrl: redis.url, booted: false, env: { FRONT_DOOR: frontDoor } })
    await waitFor(async () => (await visit(late)) === ofSecond)
    expect([await visit(late, 'any.example'), await visit(late, 'gone.example')]).toEqual([ofMain, '404'])
  }
  // What nobody of ours has written there is no list.
  await redisCommand(redis.url, 'SET ql:v1:domains nonsense')
  const other = await startTestApp({ databaseUrl, redisUrl: redis.url, booted: false })
  await waitFor(async () => (await visit(other)) === ofMain)
})

it('a further domain says what only this installation can, on every server of it', async () => {
  const databaseUrl = await freshDatabase()
  const app = await startTestApp({ databaseUrl, env: { PUBLIC_URL: 'https://go.first.example:8443' } })
  await created(app.api, '/domains', { host })
  const other = await startTestApp({ databaseUrl, key: app.key })
  const { domains } = app.app.status() as { domains: Record<string, string> }
  const proof = domains[`https://${host}:8443`]
  expect(proof).toMatch(/^[\w-]{32}$/)
  const said = async (of: TestApp, at: string) => (await of.get('/.well-known/quicklink', { Host: at })).text
  await waitFor(async () => (await said(other, host)) === `${proof}\n`)
  expect(await said(app, host)).toBe(`${proof}\n`)
  expect(await said(app, 'go.first.example')).not.toContain(proof)
  const another = await startTestApp({ databaseUrl: await freshDatabase() })
  await created(another.api, '/domains', { host })
  expect(await said(another, host)).not.toContain(proof)
})
