// The API of links as its rows in Postgres show it, and while Postgres is away. What needs no look behind it is in contract/.
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { hurried } from '../../testing/server-process.ts'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql, proxied } from '../../testing/services.ts'
import { limits } from '../limits.ts'

const url = 'https://example.com/'

const databaseUrl = await freshDatabase()
const through = await proxied(databaseUrl)
const proxy = through.proxy
const app = await startTestApp({ databaseUrl: through.url, env: { API_DB_TIMEOUT_MS: hurried.API_DB_TIMEOUT_MS } })
const db = handInPsql(databaseUrl)

const create = (more: object, headers = {}): Promise<ApiAnswer> => app.api('POST', '/links', { url, ...more }, headers)
const withKey = (key: string): Record<string, string> => ({ 'Idempotency-Key': key })
const one = async <Row>(text: string, values: unknown[] = []): Promise<Row> =>
  (await db.query<Row & object>(text, values))[0] as Row
const countLinks = async (): Promise<number> => (await one<{ n: number }>('select count(*) as n from links')).n

test('what is written is in the tier 1 of its process before it is acknowledged', async () => {
  const held = async (): Promise<unknown> => (await app.api('GET', '/cache/announced')).body['tier1']
  const { body: made } = await create({ code: 'announced', expiresAt: '2099-01-31T14:30:00.750+02:00', enabled: false })
  expect(await held()).toMatchObject({ absent: true, version: made['version'] })
  const changes = [{ enabled: true }, { url: 'https://example.org/ö', permanent: true }, { enabled: false }]
  for (const change of changes) {
    const { version, url, permanent, expiresAt, enabled } = (await app.api('PATCH', '/links/announced', change)).body
    expect(await held()).toMatchObject(enabled ? { version, url, permanent, expiresAt } : { absent: true, version })
  }
  await app.api('DELETE', '/links/announced')
  expect(await held()).toMatchObject({ absent: true, version: expect.any(Number) as number })
  const { version } = (await create({ code: 'announced' })).body
  expect(await held()).toMatchObject({ version, url, permanent: false, expiresAt: null })
})

test('a generated code never collides with a custom one: it takes the next counter', async () => {
  await create({})
  const { last } = await one<{ last: number }>('select max(counter) as last from links')
  const probe = (await create({})).body['code']
  // The code that comes next becomes a custom one.
  await db.query(`update links set counter = null, salt_generation = null where code = $1`, [probe])
  await db.query(`select setval('link_counter_seq', $1, true)`, [last])
  const { status, body } = await create({})
  expect([status, body['code'] === probe]).toEqual([201, false])
  const row = await one('select counter, salt_generation from links where code = $1', [body['code']])
  expect(row).toEqual({ counter: last + 2, salt_generation: 1 })
})

test('a deleted code that is created again is another link: no clicks of the first one, and a later version in the outbox', async () => {
  const read = () => one<{ id: number; version: number }>(`select id, version from links where code = 'again-1'`)
  await create({ code: 'again-1' })
  const first = await read()
  await db.query(`insert into clicks values ($1, date_trunc('hour', now()), 5)`, [first.id])
  expect((await app.api('GET', '/links/again-1')).body['clicks']).toBe(5)
  await app.api('DELETE', '/links/again-1')
  expect((await create({ code: 'again-1' })).body['clicks']).toBe(0)
  const second = await read()
  expect(second.id).toBeGreaterThan(first.id)
  expect(second.version).toBeGreaterThan(first.version)
  const outbox = await db.query(`select version from outbox where code = 'again-1' order by version`)
  expect(outbox.at(-1)).toEqual({ version: second.version })
})

test('a code that has expired may be created again by its tenant only', async () => {
  const other = await newTenant(app, 'other')
  await create({ code: 'expired-1' })
  await db.query(`update links set expires_at = now() - interval '1 minute' where code = 'expired-1'`)
  expect((await app.api('GET', '/links/expired-1')).status).toBe(200)
  expect((await other.api('POST', '/links', { url, code: 'expired-1' })).status).toBe(409)
  expect(await create({ code: 'expired-1' })).toMatchObject({ status: 201, body: { expiresAt: null } })
})

test('a code that leads somewhere after its end is taken until it is deleted', async () => {
  await create({ code: 'leads-on', expiredUrl: `${url}over` })
  await db.query(`update links set expires_at = now() - interval '1 minute' where code = 'leads-on'`)
  expect((await create({ code: 'leads-on' })).status).toBe(409)
  await app.api('DELETE', '/links/leads-on')
  expect(await create({ code: 'leads-on' })).toMatchObject({ status: 201, body: { expiredUrl: null } })
})

test('codes of one and two characters, and words that were reserved later, are links where they exist; nobody can make them', async () => {
  for (const code of ['a', '_-', 'account', 'Session']) {
    expect((await create({ code })).status).toBe(400)
    expect((await app.get(`/${code}`)).status).toBe(404)
    await db.query('insert into links (code, url) values ($1, $2)', [code, url])
    await vi.waitFor(async () => expect((await app.get(`/${code}`)).headers.location).toBe(url), 20_000)
    expect((await app.api('PATCH', `/links/${code}`, { url: `${url}b` })).status).toBe(200)
    expect((await app.api('GET', `/links/${code}/hits`)).status).toBe(200)
    expect((await app.api('DELETE', `/links/${code}`)).status).toBe(204)
    expect((await create({ code })).status).toBe(400)
  }
})

test('an Idempotency-Key is forgotten after a day, and free for another body', async () => {
  const first = await create({}, withKey('old'))
  await db.query(`update idempotency_keys set created_at = now() - make_interval(hours => $1, mins => 1)`, [
    limits.idempotencyHours,
  ])
  const second = await create({ permanent: true }, withKey('old'))
  expect([second.status, second.body['code'] === first.body['code']]).toEqual([201, false])
  expect((await create({ permanent: true }, withKey('old'))).text).toBe(second.text)
})

test('a touch changes nothing but the version, and announces it', async () => {
  const { code, version } = (await create({})).body
  // As an invalidation does.
  const touched = await one<{ version: number }>(
    'update links set code = code where code = $1 returning url, enabled, version',
    [code],
  )
  expect(touched).toMatchObject({ url, enabled: true })
  expect(touched.version).toBeGreaterThan(version as number)
  const outbox = await db.query('select version from outbox where code = $1 order by version', [code])
  expect(outbox).toEqual([{ version }, { version: touched.version }])
})

describe('GET /links/{code}/clicks', () => {
  const clicks = async (query: string): Promise<unknown> => (await app.api('GET', `/links/clicked/clicks${query}`)).body
  beforeAll(async () => {
    await create({ code: 'clicked' })
    await db.query(
      `insert into clicks select id, hour, n from links,
         (values (timestamptz '2030-01-01T22:00Z', 1), ('2030-01-01T23:00Z', 2), ('2030-01-02T00:00Z', 4),
           (date_trunc('hour', now()), 8), (date_trunc('hour', now()) - interval '29 days', 16),
           (date_trunc('hour', now()) - interval '32 days', 32)) as v (hour, n)
       where code = 'clicked'`,
    )
  })

  test('by day and by hour, in UTC; the total is the sum of the buckets, and of a link that of all', async () => {
    const days = [
      { at: '2030-01-01T00:00:00.000Z', clicks: 3 },
      { at: '2030-01-02T00:00:00.000Z', clicks: 4 },
    ]
    expect(await clicks('?from=2030-01-01T00:00:00Z&to=2030-01-03T00:00:00Z')).toEqual({ total: 7, buckets: days })
    expect(await clicks('?by=hour&from=2030-01-01T23:00:00Z&to=2030-01-02T00:00:00Z')).toEqual({
      total: 2,
      buckets: [{ at: '2030-01-01T23:00:00.000Z', clicks: 2 }],
    })
    expect((await app.api('GET', '/links/clicked')).body['clicks']).toBe(63)
  })

  test('the last 30 days, if nothing is said', async () => {
    expect(await clicks('')).toMatchObject({ total: 24 })
  })
})

test.each(['refuse', 'blackHole'] as const)(
  'while Postgres is away (%s) a create is 503 with Retry-After, and nothing is half done',
  async (fault) => {
    const links = await countLinks()
    const again = (): Promise<ApiAnswer> => create({ code: `away-${fault}` }, withKey(`away-${fault}`))
    await proxy[fault]()
    const wrong = create({}, { Authorization: 'Bearer wrong' })
    const answers = await Promise.all([again(), app.api('GET', '/links'), wrong])
    await proxy.pass()
    for (const { status, body, headers } of answers) {
      expect([status, body['code'], headers['retry-after']]).toEqual([503, 'unavailable', '1'])
    }
    await expect.poll(async () => (await again()).status, { timeout: 10_000 }).toBe(201)
    expect(await countLinks()).toBe(links + 1)
  },
)

test('in a restored copy nothing is minted before the counter has jumped, and the create succeeds all the same', async () => {
  const columns = 'epoch, last_value as next, identity = ql_identity() as known'
  const state = () =>
    one<{ epoch: string; next: number; known: boolean }>(`select ${columns} from ql_meta, link_counter_seq`)
  const before = await state()
  // What a restore into another database amounts to: the identity on record is not that of this one.
  await db.query(`update ql_meta set identity = 'another database'`)
  const answers = await Promise.all(Array.from({ length: 5 }, () => create({})))
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
  const rows = await db.query<{ counter: number }>('select counter from links order by id desc limit 5')
  const jumped = before.next + limits.counterRestoreMargin
  for (const { counter } of rows) {
    expect(counter).toBeGreaterThan(jumped)
    // Once: not once for each of the five.
    expect(counter).toBeLessThan(jumped + limits.counterRestoreMargin)
  }
  const after = await state()
  expect([after.known, after.epoch === before.epoch]).toEqual([true, false])
})
