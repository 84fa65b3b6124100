// Whole servers on one database and one Redis: the limits hold across processes, through kills and without Redis.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { apiOf, newTenant as newTenantOf, send, tally, times, type ApiAnswer } from '../../testing/http.ts'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import {
  adminUrlOf,
  freshDatabase,
  handInPsql,
  redisCommand,
  startRedisServer,
  waitFor,
} from '../../testing/services.ts'

const url = 'https://example.com/'
/** What is tested here is who is admitted; a machine that is busy with tests is not always in time. */
const patient = { LOG_LEVEL: 'warn', REDIS_TIMEOUT_MS: '10000' }
const tiers = JSON.stringify({ plus: { createsPerHour: null } })

const databaseUrl = await freshDatabase()
const redis = await startRedisServer()
const server = await startServer({
  DATABASE_URL: databaseUrl,
  REDIS_URL: redis.url,
  WORKERS: '4',
  TIERS: tiers,
  ...patient,
})
const db = handInPsql(adminUrlOf(databaseUrl))

let tenants = 0
const newTenant = (terms: object): ReturnType<typeof newTenantOf> => newTenantOf(server, `tenant-${++tenants}`, terms)

/** As a client that is told 503 with Retry-After: a machine that is busy with tests may be overloaded for a moment. */
async function create(key: string, more: object = {}, at = server): Promise<ApiAnswer> {
  for (;;) {
    const answer = await apiOf(at.url, key)('POST', '/links', { url, ...more })
    if (answer.status !== 503) return answer
    await pause(100 + Math.random() * 200)
  }
}

const rowsOf = async (id: string): Promise<number> =>
  (await db.query<{ n: number }>('select count(*) as n from links where tenant = $1 and deleted_at is null', [id]))[0]
    ?.n ?? NaN
const fill = (id: string, n: number, expires = 'null'): Promise<unknown> =>
  db.query(
    `insert into links (code, url, tenant, expires_at) select $1 || '-' || n, $2, $1, ${expires} from generate_series(1, $3::int) n`,
    [id, url, n],
  )
const usedInRedis = async (id: string): Promise<number> =>
  Number((await redisCommand(redis.url, `GET quota:tenant:${id}:used`))?.split(/\D+/).filter(Boolean).at(-1))

describe('a quota with 10 places left', () => {
  test('200 creates at once from 4 processes: exactly 10 succeed, and Redis counts the same', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 100 })
    await fill(id, 90)
    const answers = await times(200, () => create(key))
    expect(tally(answers)).toEqual({ 201: 10, 403: 190 })
    const refused = answers.find(({ status }) => status === 403)
    expect(refused?.body).toMatchObject({ code: 'quota_exceeded', used: expect.any(Number), limit: 100 })
    expect(await rowsOf(id)).toBe(100)
    const synced = (await server.api('POST', `/tenants/${id}/quota/sync`)).body
    expect(synced).toMatchObject({ tenant: id, used: 100, after: 100 })
  })

  test('a deleted link makes room at once, and so does the purge of what only expired', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 10 })
    await fill(id, 10)
    await server.api('POST', `/tenants/${id}/quota/sync`)
    expect((await create(key)).status).toBe(403)
    expect((await server.api('DELETE', `/links/${id}-1`)).status).toBe(204)
    expect((await create(key)).status).toBe(201)
    expect((await create(key)).status).toBe(403)
    await db.query(`update links set expires_at = now() - interval '1 day' where code = $1`, [`${id}-2`])
    expect((await create(key)).status).toBe(403)
    // The tenant may have the code of what has expired anew: that needs no further place.
    expect((await create(key, { code: `${id}-2` })).status).toBe(201)
    expect((await create(key)).status).toBe(403)
    expect(await rowsOf(id)).toBe(10)
    expect((await server.api('POST', `/tenants/${id}/quota/sync`)).body).toMatchObject({
      used: 10,
      before: 10,
      after: 10,
    })
    await db.query('delete from links where code = $1', [`${id}-3`])
    await waitFor(async () => (await create(key)).status === 201)
    expect(await rowsOf(id)).toBe(10)
  })

  test('a kill -9 in the middle: never over, and a sync makes Redis what the rows say', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 50 })
    await fill(id, 20)
    const storm = times(120, () => create(key).catch(() => ({ status: 0 })))
    await waitFor(async () => (await rowsOf(id)) > 22, { everyMs: 1 })
    const [victim] = await server.workerPids()
    process.kill(victim ?? 0, 'SIGKILL')
    const answers = await storm
    const rows = await rowsOf(id)
    expect(rows).toBeLessThanOrEqual(50)
    expect(rows).toBeGreaterThanOrEqual(20 + (tally(answers)[201] ?? 0))
    expect((await server.api('POST', `/tenants/${id}/quota/sync`)).body).toMatchObject({ used: rows, after: rows })
    expect(await usedInRedis(id)).toBe(rows)
    await waitFor(async () => (await server.workerPids()).length === 4)
  })

  test('creates, deletes and syncs at once, from 4 processes: when they have ended, Redis counts what the rows say', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 200 })
    await fill(id, 60)
    const sync = () => server.api('POST', `/tenants/${id}/quota/sync`)
    expect((await sync()).status).toBe(200)
    const remove = async (n: number): Promise<void> => {
      await waitFor(async () => (await server.api('DELETE', `/links/${id}-${n}`)).status === 204)
    }
    const syncs: number[] = []
    const syncing = times(20, async () => syncs.push((await sync()).status))
    const deletes = Promise.all(Array.from({ length: 50 }, (_, n) => remove(n + 1)))
    expect(tally(await times(80, () => create(key)))).toEqual({ 201: 80 })
    await Promise.all([syncing, deletes])
    expect(syncs.filter((status) => status === 200)).not.toHaveLength(0)
    expect([await rowsOf(id), await usedInRedis(id)]).toEqual([90, 90])
  })

  test('a Redis that has lost or repeats its numbers is not believed', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 12 })
    await fill(id, 10)
    expect((await create(key)).status).toBe(201)
    await redisCommand(redis.url, `SET quota:tenant:${id}:used 99`)
    await waitFor(async () => (await create(key)).status === 201)
    expect((await create(key)).status).toBe(403)
    await redisCommand(redis.url, 'FLUSHALL')
    expect((await create(key)).status).toBe(403)
    expect(await rowsOf(id)).toBe(12)
    expect((await server.api('PATCH', `/tenants/${id}`, { linkQuota: 13 })).status).toBe(200)
    await waitFor(async () => (await create(key)).status === 201)
    expect((await create(key)).status).toBe(403)
  })
})

describe('without Redis', () => {
  test('a quota holds as exactly, and another process that has Redis shares it', async () => {
    const { id, key } = await newTenant({ tier: 'plus', linkQuota: 30 })
    await fill(id, 20)
    // Another server on the same database that has never had a Redis.
    const alone = await startServer({ DATABASE_URL: databaseUrl, OWNER_KEY: server.key, WORKERS: '1', TIERS: tiers })
    const mixed = await Promise.all([times(60, () => create(key)), times(60, () => create(key, {}, alone))])
    expect(tally(mixed.flat())).toEqual({ 201: 10, 403: 110 })
    expect(await rowsOf(id)).toBe(30)

    await redis.kill()
    await db.query(`update links set deleted_at = now() where code in ($1 || '-1', $1 || '-2')`, [id])
    expect(tally(await times(40, () => create(key)))).toEqual({ 201: 2, 403: 38 })
    expect(await rowsOf(id)).toBe(30)
    expect((await server.api('POST', `/tenants/${id}/quota/sync`)).status).toBe(503)
    await alone.kill()
    await redis.restart()
    await waitFor(async () => (await server.api('POST', `/tenants/${id}/quota/sync`)).status === 200, {
      deadlineMs: 30_000,
    })
  })
})

describe('creates per hour', () => {
  test('the 51st is 429 with Retry-After and RateLimit fields; what fails or repeats does not count', async () => {
    const { id, key } = await newTenant({ tier: 'standard' })
    const bad = await times(5, () => create(key, { url: 'ftp://example.com' }))
    expect(tally(bad)).toEqual({ 400: 5 })
    expect((await create(key, { code: `mine-${id}` })).status).toBe(201)
    expect(tally(await times(5, () => create(key, { code: `mine-${id}` })))).toEqual({ 409: 5 })
    const again = () =>
      send(server.url, 'POST', '/api/v1/links', JSON.stringify({ url }), {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        'Idempotency-Key': 'once',
      })
    expect(tally(await times(5, again))).toEqual({ 201: 5 })
    expect(tally(await times(60, () => create(key)))).toEqual({ 201: 48, 429: 12 })
    const refused = await create(key)
    expect(refused.body).toMatchObject({ code: 'rate_limited', limit: 50, used: 50 })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3500)
    expect(refused.headers['ratelimit-policy']).toBe('"creates";q=50;w=3600')
    expect(refused.headers['ratelimit']).toMatch(/^"creates";r=0;t=3[56]\d\d$/)
    const metrics = await send(server.opsUrl, 'GET', '/metrics')
    const line = metrics.text
      .split('\n')
      .find((line) => line.startsWith('quicklink_rate_limited_total{tier="standard"}'))
    expect(line).toMatch(/ 13$/)
    // Who asks again for what was created gets it, although nothing new may be created.
    expect((await again()).status).toBe(201)
    expect((await server.api('GET', `/tenants/${id}/limits`)).body).toMatchObject({
      tier: 'standard',
      creates: { limit: 50, used: 50, remaining: 0 },
      aggregate: { limit: 2000 },
      links: { used: 50, limit: 1000 },
    })
    expect(await rowsOf(id)).toBe(50)
  })

  test('in memory, four workers have one counter', async () => {
    const memory = await startServer({
      DATABASE_URL: databaseUrl,
      OWNER_KEY: server.key,
      WORKERS: '4',
      RATE_LIMIT_STORE: 'memory',
      RATE_LIMIT_AGGREGATE_PER_HOUR: '70',
    })
    const [one, two] = [await newTenant({ tier: 'standard' }), await newTenant({ tier: 'standard' })]
    expect(tally(await times(60, () => create(one.key, {}, memory)))).toEqual({ 201: 50, 429: 10 })
    expect(tally(await times(30, () => create(two.key, {}, memory)))).toEqual({ 201: 20, 429: 10 })
    const refused = await create(two.key, {}, memory)
    expect(refused.headers['ratelimit-policy']).toBe('"all-tenants";q=70;w=3600')
    // How much the others create is told nobody.
    expect(refused.body).toMatchObject({ code: 'rate_limited', limit: 70 })
    expect(refused.body).not.toHaveProperty('used')
    await memory.kill()
  })
})

test('a create whose tenant has just been deleted is refused, and is no mistake of ours', async () => {
  const { id, key } = await newTenant({ tier: 'plus' })
  // Every process remembers key and tenant for a moment.
  await times(40, () => apiOf(server.url, key)('GET', '/limits'))
  expect((await server.api('DELETE', `/tenants/${id}`)).status).toBe(204)
  const statuses = Object.keys(tally(await times(20, () => create(key))))
  expect(statuses.filter((status) => !['401', '403', '404'].includes(status))).toEqual([])
})

test('a key that one process revokes is refused by every process within a second', async () => {
  const other = await startServer({ DATABASE_URL: databaseUrl, OWNER_KEY: server.key, WORKERS: '1' })
  const { id, key } = await newTenant({ tier: 'standard' })
  const ask = async (at: ServerProcess) =>
    (await send(at.url, 'GET', '/api/v1/limits', undefined, { Authorization: `Bearer ${key}` })).status
  expect(await ask(other)).toBe(200)
  const { body } = await server.api('GET', `/tenants/${id}/keys`)
  const [{ id: keyId }] = body['items'] as [{ id: string }]
  const asking = setInterval(() => void ask(other).catch(() => undefined), 20)
  expect((await server.api('DELETE', `/tenants/${id}/keys/${keyId}`)).status).toBe(204)
  await waitFor(async () => (await ask(other)) === 401, { deadlineMs: 5000 })
  clearInterval(asking)
  for (let n = 0; n < 8; n++) expect(await ask(server)).toBe(401)
  await other.kill()
})
