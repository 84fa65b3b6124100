// Sign-in for browsers, as a browser would ask: with a cookie, and with what browsers say of where a request comes from.
import { expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { openSql, withSql } from '../../embedded/sql.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, created, newTenant, type Api, type ApiAnswer } from '../../testing/http.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { upkeep } from '../links/upkeep.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl, env: { PUBLIC_URL: 'https://go.example.org' } })
const strangers = apiOf(app.url, null)

const ours = { 'Sec-Fetch-Site': 'same-origin' }
const cookieOf = (answer: ApiAnswer): string => String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
const signIn = (key: string, headers: Record<string, string> = ours): Promise<ApiAnswer> =>
  strangers('POST', '/session', { key }, headers)
/** As the page of a browser that has signed in. */
const pageWith =
  (cookie: string): Api =>
  (method, path, body, headers = ours) =>
    strangers(method, path, body, { Cookie: cookie, ...headers })
async function signedIn(key: string): Promise<Api> {
  const answer = await signIn(key)
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return pageWith(cookieOf(answer))
}

let tenants = 0
const tenant = () => newTenant(app, `team${tenants++}`)

test('a key is exchanged for a cookie that only the browser has, of this host, over TLS, and no script can read', async () => {
  const { id, key } = await tenant()
  const answer = await signIn(key)
  expect(answer.body).toMatchObject({ tenant: id, role: 'editor', keyName: 'test' })
  expect(String(answer.headers['set-cookie'])).toMatch(
    /^__Host-quicklink=qs_[\w-]{49}; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  )
  const page = pageWith(cookieOf(answer))
  expect((await page('GET', '/session')).body).toMatchObject({ id: answer.body['id'], tenant: id })
  expect((await page('POST', '/links', { url: 'https://example.org/' })).status).toBe(201)
})

test('the token itself stands nowhere in Postgres', async () => {
  const { key } = await tenant()
  const token = cookieOf(await signIn(key)).split('=')[1] ?? 'none'
  const rows = await withSql(databaseUrl, (sql) =>
    sql.query('select s::text as row, encode(token_hash, $1) from sessions s', ['escape']),
  )
  expect(JSON.stringify(rows)).not.toContain(token)
  expect(rows).not.toEqual([])
})

test.each([
  ['another site', { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }],
  ['another host of the same site', { 'Sec-Fetch-Site': 'same-site', Origin: 'https://blog.example.org' }],
  ['another origin, in an older browser', { Origin: 'https://evil.example' }],
  ['nowhere', {}],
  ['a page without an origin', { Origin: 'null' }],
])('a write by the cookie that comes from %s is refused, whatever it says', async (_what, headers) => {
  const page = await signedIn((await tenant()).key)
  for (const [method, path, body] of [
    ['POST', '/links', { url: 'https://example.org/' }],
    ['PATCH', '/links/nothing', { enabled: false }],
    ['DELETE', '/links/nothing', undefined],
    ['DELETE', '/session', undefined],
    ['DELETE', '/sessions', undefined],
  ] as const) {
    expect([path, (await page(method, path, body, headers)).status]).toEqual([path, 403])
  }
  expect((await page('GET', '/links', undefined, headers)).status).toBe(200)
})

test('a write by the cookie from a page of PUBLIC_URL is let in, also from a browser that names its origin only', async () => {
  const page = await signedIn((await tenant()).key)
  const write = { url: 'https://example.org/' }
  expect((await page('POST', '/links', write, { Origin: 'https://go.example.org' })).status).toBe(201)
})

test('another site cannot sign a browser in', async () => {
  const { key } = await tenant()
  expect((await signIn(key, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403)
  expect((await signIn(key, { Origin: 'https://evil.example' })).status).toBe(403)
  expect((await signIn(key, {})).status).toBe(201)
})

test('a token that was planted is never taken over: each sign-in has a new one, and ends the one before it', async () => {
  const { key } = await tenant()
  const planted = `__Host-quicklink=qs_${'x'.repeat(49)}`
  const first = await strangers('POST', '/session', { key }, { ...ours, Cookie: planted })
  expect(cookieOf(first)).not.toBe(planted)
  const second = await strangers('POST', '/session', { key }, { ...ours, Cookie: cookieOf(first) })
  expect(cookieOf(second)).not.toBe(cookieOf(first))
  await ends(pageWith(cookieOf(first)))
  expect((await pageWith(cookieOf(second))('GET', '/session')).status).toBe(200)
})

/** Within a second: what a busy machine adds is not ours. */
const ends = (page: Api): Promise<unknown> =>
  waitFor(async () => (await page('GET', '/links')).status === 401, { deadlineMs: 5000, everyMs: 50 })

test('who signs out is out, wherever the cookie has been copied to', async () => {
  const page = await signedIn((await tenant()).key)
  const answer = await page('DELETE', '/session')
  expect([answer.status, String(answer.headers['set-cookie'])]).toEqual([
    204,
    '__Host-quicklink=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax',
  ])
  await ends(page)
})

test('a session ends with its key', async () => {
  const { id, key } = await tenant()
  const page = await signedIn(key)
  const { items } = (await app.api('GET', `/tenants/${id}/keys`)).body as { items: { id: string }[] }
  expect((await app.api('DELETE', `/tenants/${id}/keys/${items[0]?.id}`)).status).toBe(204)
  await ends(page)
})

test('of the sessions of a key one can be ended, or all; those of another key are not there', async () => {
  const [mine, theirs] = [await tenant(), await tenant()]
  const [one, other, stranger] = [await signedIn(mine.key), await signedIn(mine.key), await signedIn(theirs.key)]
  const list = async (page: Api) => (await page('GET', '/sessions')).body['items'] as { id: string; current: boolean }[]
  const otherId = String((await other('GET', '/session')).body['id'])
  expect((await list(one)).map(({ id, current }) => [id === otherId, current]).toSorted()).toEqual([
    [false, true],
    [true, false],
  ])
  expect((await stranger('DELETE', `/sessions/${otherId}`)).status).toBe(404)
  expect((await one('DELETE', `/sessions/${otherId}`)).status).toBe(204)
  await ends(other)
  expect((await one('DELETE', '/sessions')).status).toBe(204)
  await ends(one)
  expect((await stranger('GET', '/session')).status).toBe(200)
})

test('a session that was not used for hours is over, and one that is as old as may be; upkeep removes both', async () => {
  const { key } = await tenant()
  const [idle, old] = [await signIn(key), await signIn(key)]
  await withSql(databaseUrl, async (sql) => {
    await sql.query(`update sessions set used_at = now() - make_interval(hours => $2) where id = $1`, [
      idle.body['id'],
      limits.sessionIdleHours,
    ])
    await sql.query(`update sessions set ends_at = now() where id = $1`, [old.body['id']])
  })
  await ends(pageWith(cookieOf(idle)))
  await ends(pageWith(cookieOf(old)))
  const db = openSql(databaseUrl, { maxConnections: 2, queryMs: 2000 })
  expect((await upkeep(db, () => undefined).finally(() => db.close())).sessions).toBe(2)
})

test('a key has a bounded number of sessions: the oldest goes', async () => {
  const { key } = await tenant()
  const first = await signedIn(key)
  for (let n = 1; n < limits.sessionsPerAccount; n++) expect((await signIn(key)).status).toBe(201)
  expect((await first('GET', '/sessions')).body['items']).toHaveLength(limits.sessionsPerAccount)
  expect((await signIn(key)).status).toBe(201)
  await ends(first)
})

test('a key that does not work is 401 with a sentence about the key, and an address may try only so many', async () => {
  const app = await startTestApp({ databaseUrl: await freshDatabase() })
  const api = apiOf(app.url, null)
  const wrong = await api('POST', '/session', { key: 'not-a-key-of-anybody-here' })
  expect([wrong.status, wrong.body['detail']]).toEqual([401, 'This key does not work: it is mistyped, or has ended.'])
  const tried = []
  for (let n = 0; n < limits.keyAttempts + 5; n++)
    tried.push((await api('POST', '/session', { key: `guess-${n}` })).status)
  expect(tried.at(-1)).toBe(429)
})

test('on this very machine a session works without TLS, under another name; elsewhere it is refused with what to do', async () => {
  const databaseUrl = await freshDatabase()
  const local = await startTestApp({ databaseUrl, env: { PUBLIC_URL: 'http://localhost:8080' } })
  const answer = await apiOf(local.url, null)('POST', '/session', { key: local.key })
  expect(String(answer.headers['set-cookie'])).toMatch(
    /^quicklink-session=qs_[\w-]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/,
  )
  const plain = await startTestApp({ databaseUrl, key: local.key, env: { PUBLIC_URL: 'http://go.example.org' } })
  const refused = await apiOf(plain.url, null)('POST', '/session', { key: local.key })
  expect([refused.status, refused.body['detail']]).toEqual([
    403,
    'Signing in needs https: PUBLIC_URL is http://go.example.org. Put TLS before QuickLink and set PUBLIC_URL to its https address.',
  ])
})

test('a key beside a cookie decides alone, and has no session to read or to end', async () => {
  const { key, api } = await tenant()
  const cookie = cookieOf(await signIn((await tenant()).key))
  const answer = await api('GET', '/session', undefined, { Cookie: cookie })
  expect([answer.status, answer.body['code']]).toEqual([404, 'not_found'])
  expect((await api('DELETE', '/session', undefined, { Cookie: cookie })).status).toBe(404)
  expect((await created(api, '/links', { url: 'https://example.org/' }))['tenant']).toMatch(/^team/)
  expect(key).toMatch(/^ql_/)
})

test('whoever has signed in with the key of the owner is out when that is replaced', async () => {
  const databaseUrl = await freshDatabase()
  const first = await startTestApp({ databaseUrl })
  const browser = apiOf(first.url, null)
  const Cookie = cookieOf(await browser('POST', '/session', { key: first.key }, ours))
  expect((await browser('GET', '/session', undefined, { ...ours, Cookie })).status).toBe(200)
  const second = await startTestApp({ databaseUrl })
  expect((await apiOf(second.url, null)('GET', '/session', undefined, { ...ours, Cookie })).status).toBe(401)
})
