// Members of a tenant, as browsers and admins ask: invitations, roles, and what becomes of sessions that are open. Long because one server and
// its members serve all of it.
import { expect, test } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { waitFor } from '../../embedded/wait.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, created, newTenant, type Api, type ApiAnswer } from '../../testing/http.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl, env: { PUBLIC_URL: 'https://go.example.org' } })
const strangers = apiOf(app.url, null)

const ours = { 'Sec-Fetch-Site': 'same-origin' }
const cookieOf = (answer: ApiAnswer): string => String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
const pageWith =
  (cookie: string): Api =>
  (method, path, body, headers = ours) =>
    strangers(method, path, body, { Cookie: cookie, ...headers })

let tenants = 0
/** A tenant, and its admin's key. */
async function team() {
  const { id } = await newTenant(app, `team${tenants++}`)
  const { key } = await created(app.api, `/tenants/${id}/keys`, { name: 'boss', role: 'admin' })
  return { id, admin: apiOf(app.url, String(key)) }
}
interface Invited {
  readonly id: string
  readonly token: string
}
const tokenIn = (url: unknown): string => /^https:\/\/go\.example\.org\/console\/sign-in#token=(qi_[\w-]{49})$/.exec(String(url))?.[1] ?? '' // prettier-ignore
async function invite(admin: Api, role = 'editor', more = {}): Promise<Invited> {
  const { id, invitation } = await created(admin, '/members', { name: 'Ada', role, ...more })
  return { id: String(id), token: tokenIn((invitation as { url: string }).url) }
}
const spend = (token: string, headers: Record<string, string> = ours) =>
  strangers('POST', '/session', { token }, headers)
async function joined(admin: Api, role = 'editor'): Promise<{ id: string; page: Api }> {
  const { id, token } = await invite(admin, role)
  const answer = await spend(token)
  expect([answer.status, answer.text]).toEqual([201, answer.text])
  return { id, page: pageWith(cookieOf(answer)) }
}
const ends = (page: Api) => waitFor(async () => (await page('GET', '/links')).status === 401, { deadlineMs: 5000 })
const url = 'https://example.org/'

test('who is invited sees whom the link signs in, signs in by it once, and makes links under its own name', async () => {
  const { id: tenant, admin } = await team()
  const { id, token } = await invite(admin)
  for (let n = 0; n < 2; n++) {
    const { status, body } = await strangers('POST', '/invitation', { token }, ours)
    expect([status, body]).toMatchObject([200, { kind: 'member', tenant, role: 'editor', name: 'Ada' }])
  }
  expect((await admin('GET', `/members/${id}`)).body).toMatchObject({
    state: 'invited',
    by: 'invitation',
    signedInAt: null,
  })
  const answer = await spend(token)
  expect(answer.body).toMatchObject({
    tenant,
    role: 'editor',
    kind: 'member',
    name: 'Ada',
    memberId: id,
    keyName: null,
  })
  const page = pageWith(cookieOf(answer))
  expect(await created(page, '/links', { url })).toMatchObject({ tenant, createdBy: 'Ada' })
  expect((await admin('GET', `/members/${id}`)).body).toMatchObject({ state: 'joined' })
  const { body } = await admin('GET', '/audit')
  expect((body['items'] as { by: object }[])[0]?.by).toMatchObject({ kind: 'member', id, name: 'Ada' })
  const again = await spend(token)
  expect([again.status, again.body['code']]).toEqual([401, 'unauthorized'])
  expect((await strangers('POST', '/invitation', { token }, ours)).status).toBe(401)
})

test('an invitation that is spent by many at once signs in one of them', async () => {
  const { admin } = await team()
  const { token } = await invite(admin)
  const answers = await Promise.all(Array.from({ length: 8 }, () => spend(token)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(7).fill(401)])
})

test('a link is void when a newer one is made, when its time is over, and when its member is removed', async () => {
  const { admin } = await team()
  const [replaced, late, removed] = [await invite(admin), await invite(admin), await invite(admin)]
  const { url: newer, endsAt } = await created(admin, `/members/${replaced.id}/invitation`, {})
  const days = (Date.parse(String(endsAt)) - Date.now()) / 86_400_000
  expect(Math.round(days)).toBe(limits.invitationDays)
  await withSql(databaseUrl, (sql) =>
    sql.query('update sign_in_links set ends_at = now() where member_id = $1', [late.id]),
  )
  await admin('DELETE', `/members/${removed.id}`)
  for (const { token } of [replaced, late, removed]) expect((await spend(token)).status).toBe(401)
  expect((await spend(tokenIn(newer))).status).toBe(201)
})

test('a link signs nobody in from a page of another site, and its token stands nowhere in Postgres', async () => {
  const { admin } = await team()
  const { token } = await invite(admin)
  for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://evil.example' }]) {
    expect((await spend(token, headers)).status).toBe(403)
    expect((await strangers('POST', '/invitation', { token }, headers)).status).toBe(403)
  }
  const rows = await withSql(databaseUrl, (sql) =>
    sql.query(`select l::text, encode(token_hash, 'escape') from sign_in_links l`),
  )
  expect(JSON.stringify(rows)).not.toContain(token)
  expect((await spend(token)).status).toBe(201)
})

test('guesses of links are bounded, and a mistyped one is none', async () => {
  const app = await startTestApp({ databaseUrl: await freshDatabase() })
  const api = apiOf(app.url, null)
  const mistyped = `qi_${'a'.repeat(49)}`
  for (let n = 0; n < limits.keyAttempts + 5; n++) {
    expect((await api('POST', '/session', { token: mistyped })).status).toBe(401)
  }
  const { newToken } = await import('../sessions/token.ts')
  const statuses = []
  for (let n = 0; n < limits.keyAttempts + 1; n++) {
    statuses.push((await api('POST', n % 2 ? '/session' : '/invitation', { token: newToken('qi') })).status)
  }
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429])
})

test('a member who is demoted or removed is so within a second, with the session that is open', async () => {
  const { admin } = await team()
  const [boss, other] = [await joined(admin, 'admin'), await joined(admin, 'editor')]
  expect((await boss.page('GET', '/members')).status).toBe(200)
  expect((await admin('PATCH', `/members/${boss.id}`, { role: 'viewer' })).body).toMatchObject({ role: 'viewer' })
  await waitFor(async () => (await boss.page('GET', '/members')).status === 403, { deadlineMs: 5000 })
  expect((await boss.page('PATCH', `/members/${other.id}`, { role: 'viewer' })).status).toBe(403)
  expect((await boss.page('POST', '/links', { url })).status).toBe(403)
  expect((await boss.page('GET', '/links')).status).toBe(200)
  expect((await admin('DELETE', `/members/${other.id}`)).status).toBe(204)
  await ends(other.page)
})

test('members of a tenant that is deleted are gone, with their sessions', async () => {
  const { id, admin } = await team()
  const { page } = await joined(admin)
  expect((await app.api('DELETE', `/tenants/${id}`)).status).toBe(204)
  await ends(page)
})

test.each(['viewer', 'editor', 'admin'])('a session of a %s may do what a key of that role may', async (role) => {
  const { id: tenant, admin } = await team()
  const { page } = await joined(admin, role)
  const { key } = await created(admin, `/tenants/${tenant}/keys`, { name: role, role })
  const { code } = await created(apiOf(app.url, String((await created(app.api, `/tenants/${tenant}/keys`, { name: 'x' }))['key'])), '/links', { url }) // prettier-ignore
  for (const [method, path, body] of [
    ['GET', '/links'],
    ['PATCH', `/links/${String(code)}`, { title: 'x' }],
    ['PATCH', '/tags/none', { name: 'x' }],
    ['GET', '/members'],
    ['GET', '/audit'],
    ['GET', `/tenants/${tenant}/keys`],
    ['GET', '/tenants'],
    ['POST', '/sign-in-links', undefined],
  ] as const) {
    const [byKey, bySession] = [await apiOf(app.url, String(key))(method, path, body), await page(method, path, body)]
    expect([path, bySession.status]).toEqual([path, byKey.status])
  }
})

test('an admin lifts nobody above admin, and finds no member of another tenant', async () => {
  const [mine, theirs] = [await team(), await team()]
  const { id } = await invite(theirs.admin)
  for (const [method, path, body] of [
    ['GET', `/members/${id}`],
    ['PATCH', `/members/${id}`, { role: 'viewer' }],
    ['DELETE', `/members/${id}`],
    ['POST', `/members/${id}/invitation`],
  ] as const) {
    const answer = await mine.admin(method, path, body)
    expect([method, answer.status]).toEqual([method, 404])
  }
  expect((await mine.admin('GET', `/members?tenant=${theirs.id}`)).status).toBe(403)
  expect((await mine.admin('POST', '/members', { name: 'x', role: 'editor', tenant: theirs.id })).status).toBe(403)
  expect((await mine.admin('POST', '/members', { name: 'x', role: 'owner' })).status).toBe(400)
  expect((await theirs.admin('PATCH', `/members/${id}`, { role: 'owner' })).status).toBe(400)
  expect((await theirs.admin('GET', `/members/${id}`)).body).toMatchObject({ role: 'editor' })
  expect((await app.api('POST', '/members', { name: 'x', role: 'editor', tenant: 'nobody' })).status).toBe(404)
  const made = await app.api('POST', '/members', { name: 'x', role: 'admin', tenant: mine.id })
  expect([made.status, made.body['tenant'], made.headers.location]).toEqual([
    201,
    mine.id,
    `/api/v1/members/${String(made.body['id'])}`,
  ])
})

test('a session is of the member alone: it sees and ends no session of others', async () => {
  const { admin } = await team()
  const [one, other] = [await joined(admin), await joined(admin)]
  const { id } = (await other.page('GET', '/session')).body
  expect((await one.page('DELETE', `/sessions/${String(id)}`)).status).toBe(404)
  expect((await one.page('GET', '/sessions')).body['items']).toHaveLength(1)
  expect((await one.page('DELETE', '/sessions')).status).toBe(204)
  await ends(one.page)
  expect((await other.page('GET', '/session')).status).toBe(200)
})

test("the owner's link signs the owner in once, within minutes; a session makes none", async () => {
  const { body } = await app.api('POST', '/sign-in-links')
  const minutes = (Date.parse(String(body['endsAt'])) - Date.now()) / 60_000
  expect(minutes).toBeGreaterThan(limits.signInLinkMinutes - 1)
  expect(minutes).toBeLessThanOrEqual(limits.signInLinkMinutes + 0.1)
  const token = tokenIn(body['url'])
  const newer = tokenIn((await app.api('POST', '/sign-in-links')).body['url'])
  expect((await spend(token)).status).toBe(401)
  const answer = await spend(newer)
  expect(answer.body).toMatchObject({ kind: 'owner', role: 'owner', name: 'Owner', memberId: null })
  const page = pageWith(cookieOf(answer))
  expect((await page('GET', '/tenants')).status).toBe(200)
  expect((await page('POST', '/sign-in-links', undefined)).status).toBe(403)
})

test('signing in again ends the session that this browser had, and its token is another one', async () => {
  const { admin } = await team()
  const { id, token } = await invite(admin)
  const first = cookieOf(await spend(token))
  const next = tokenIn((await created(admin, `/members/${id}/invitation`, {}))['url'])
  const second = cookieOf(await spend(next, { ...ours, Cookie: first }))
  expect(second).not.toBe(first)
  await ends(pageWith(first))
  expect((await pageWith(second)('GET', '/session')).status).toBe(200)
})

test('where a cookie could be read on its way, no link is made', async () => {
  const plain = await startTestApp({ databaseUrl: await freshDatabase(), env: { PUBLIC_URL: 'http://go.example.org' } })
  for (const [path, body] of [
    ['/members', { name: 'Ada', role: 'editor' }],
    ['/sign-in-links', undefined],
  ] as const) {
    const { status, body: problem } = await plain.api('POST', path, body)
    expect([status, problem['detail']]).toEqual([403, expect.stringContaining('Signing in needs https')])
  }
  expect((await plain.api('GET', '/members')).body['items']).toEqual([])
})

test('an account may sign in only so often within a minute', async () => {
  const app = await startTestApp({ databaseUrl: await freshDatabase() })
  const statuses = new Set<number>()
  for (let n = 0; n < 2 * limits.signInsPerMinute + 1 && !statuses.has(429); n++) {
    statuses.add((await apiOf(app.url, null)('POST', '/session', { key: app.key })).status)
  }
  expect([...statuses]).toEqual([201, 429])
})

test('an invitation is worth as much as who has made it: none of an admin who was demoted or removed, or of a key that was revoked', async () => {
  const { id: tenant, admin } = await team()
  const [ada, bob] = [await joined(admin, 'admin'), await joined(admin, 'admin')]
  const { id: keyId, key } = await created(admin, `/tenants/${tenant}/keys`, { name: 'x', role: 'admin' })
  const [byAda, byBob] = [await invite(ada.page), await invite(bob.page)]
  const byKey = await invite(apiOf(app.url, String(key)))
  const [again, theirs] = [await invite(admin), await invite(admin)]
  // Another admin's invitation takes the place of the one before, and is that admin's.
  const taken = tokenIn((await bob.page('POST', `/members/${again.id}/invitation`)).body['url'])
  await admin('PATCH', `/members/${ada.id}`, { role: 'editor' })
  await admin('DELETE', `/members/${bob.id}`)
  await admin('DELETE', `/tenants/${tenant}/keys/${String(keyId)}`)
  for (const token of [byAda.token, byBob.token, byKey.token, taken]) {
    expect((await strangers('POST', '/invitation', { token }, ours)).status).toBe(401)
    expect((await spend(token)).status).toBe(401)
  }
  expect((await spend(theirs.token)).status).toBe(201)
})

test('who ends all sessions has no link open that would begin another one', async () => {
  const { admin } = await team()
  const { id, page } = await joined(admin)
  const { url: link } = await created(admin, `/members/${id}/invitation`, {})
  expect((await page('DELETE', '/sessions')).status).toBe(204)
  expect((await spend(tokenIn(link))).status).toBe(401)
})

test('a database that was put back has no session and no link of before', async () => {
  const databaseUrl = await freshDatabase()
  const back = await startTestApp({ databaseUrl, env: { PUBLIC_URL: 'https://go.example.org' } })
  const { url: link } = (await back.api('POST', '/sign-in-links')).body
  const api = apiOf(back.url, null)
  const Cookie = cookieOf(await api('POST', '/session', { key: back.key }, ours))
  expect((await api('GET', '/session', undefined, { Cookie })).status).toBe(200)
  // As `make restore` does, and a server that finds its database behind what it knows.
  await withSql(databaseUrl, (sql) => sql.query('update ql_meta set epoch = gen_random_uuid()'))
  await waitFor(async () => (await api('GET', '/session', undefined, { Cookie })).status === 401)
  expect((await api('POST', '/session', { token: tokenIn(link) }, ours)).status).toBe(401)
})

test('changes of members are bounded, for all that each leaves in the audit log', async () => {
  const { admin } = await team()
  const { id } = await invite(admin)
  const statuses = []
  // More than two minutes have room for: a new one may begin on the way.
  for (let n = 0; n <= 2 * limits.memberChangesPerMinute; n++)
    statuses.push((await admin('POST', `/members/${id}/invitation`)).status)
  expect([...new Set(statuses)]).toEqual([201, 429])
})
