// Signing in by an identity provider, as browsers do it: a real provider, a real server, and everything that can be wrong between.
// Long because one provider serves all of it.
import { PassThrough } from 'node:stream'
import { afterAll, expect, test } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { waitFor } from '../../embedded/wait.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, newTenant, type Answer, type Api } from '../../testing/http.ts'
import { browser, startIdentityProvider, type Person } from '../../testing/identity-provider.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'

const publicUrl = 'https://go.example.org'
const start = `${publicUrl}/api/v1/sign-in/oidc`
const logTo = new PassThrough()
let logged = ''
logTo.on('data', (chunk: Buffer) => (logged += chunk.toString()))
const log = (): string => logged

const databaseUrl = await freshDatabase()
const idp = await startIdentityProvider(`${start}/callback`)
const app = await startTestApp({
  databaseUrl,
  logTo,
  env: {
    PUBLIC_URL: publicUrl,
    LOG_LEVEL: 'info',
    OIDC_ISSUER: idp.issuer,
    OIDC_CLIENT_ID: 'quicklink',
    OIDC_CLIENT_SECRET: idp.clientSecret,
    OIDC_ROLES: 'bosses=owner:owner, acme admins=acme:admin,staff=acme:editor,a=b=acme:viewer,lost=nowhere:editor',
  },
})
await newTenant(app, 'acme')
afterAll(() => idp.close())

let n = 0
/** Somebody whom the provider knows, in a browser of his own. */
function person(of: Person = {}) {
  const sub = `person-${n++}`
  idp.people.set(sub, { name: 'Ada', groups: ['staff'], by: 'id_token', ...of })
  return { sub, ...browser(publicUrl, app.url, sub) }
}
type Somebody = ReturnType<typeof person>

interface Way {
  readonly returnTo?: string
  readonly there?: (url: URL) => void
  readonly back?: (url: URL) => void
}
/** All the way; the answer to the browser that has come back. */
async function signIn(one: Somebody, { returnTo, there, back }: Way = {}): Promise<Answer> {
  const query = returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`
  const begun = await one.go(start + query)
  if (begun.status !== 302) return begun
  const url = new URL(String(begun.headers.location))
  there?.(url)
  const home = new URL(await one.throughProvider(url.href))
  back?.(home)
  return one.go(home.href)
}
const pageOf =
  (one: Somebody): Api =>
  (method, path, body, headers = {}) =>
    apiOf(app.url, null)(method, path, body, { 'Sec-Fetch-Site': 'same-origin', Cookie: one.cookies(), ...headers })
const whoIs = async (one: Somebody) => (await pageOf(one)('GET', '/session')).body
const isIn = async (one: Somebody) => (await pageOf(one)('GET', '/session')).status === 200
const refused = (answer: Answer, status: number, words: string): void => {
  expect([answer.status, answer.headers['content-type'], answer.text.includes(words) ? words : answer.text]).toEqual([
    status,
    'text/html; charset=utf-8',
    words,
  ])
  expect(answer.text).toContain('href="/console/sign-in"')
}

test.each(['no', 'with an error'] as const)(
  'a provider that answers %s at the start is said in page and log; a key signs in; and when it is back, so does it',
  async (how) => {
    const before = log().length
    // Nothing has been asked of it yet by this server.
    const late = await startTestApp({ databaseUrl, key: app.key, logTo, env: { PUBLIC_URL: publicUrl, LOG_LEVEL: 'warn', OIDC_ISSUER: idp.issuer, OIDC_CLIENT_ID: 'quicklink', OIDC_CLIENT_SECRET: idp.clientSecret, OIDC_ROLES: 'staff=acme:editor' } }) // prettier-ignore
    const one = browser(publicUrl, late.url, person().sub)
    idp.answer(how)
    refused(await one.go(start), 503, `The identity provider at ${idp.issuer} cannot sign anybody in`)
    expect((await apiOf(late.url, null)('POST', '/session', { key: late.key })).status).toBe(201)
    idp.answer('yes')
    await waitFor(() => log().slice(before).includes('nobody can sign in by the identity provider'))
    const home = await one.throughProvider(String((await one.go(start)).headers.location))
    expect((await one.go(home)).status).toBe(302)
  },
)

test('a provider that is away when a browser comes back is said so, and the next try works', async () => {
  const one = person()
  const home = await one.throughProvider(String((await one.go(start)).headers.location))
  idp.answer('no')
  const answer = await one.go(home).finally(() => idp.answer('yes'))
  refused(answer, 503, 'cannot sign anybody in')
  expect((await signIn(one)).status).toBe(302)
})

test('what there is to sign in by is told to everybody', async () => {
  const { body } = await apiOf(app.url, null)('GET', '/sign-in')
  expect(body).toEqual({ key: true, oidc: { issuer: idp.issuer, start: '/api/v1/sign-in/oidc' }, safe: true })
})

test.each(['id_token', 'userinfo'] as const)(
  'groups in the %s make a member with their role, in a session of a day at most',
  async (by) => {
    const one = person({ by, groups: ['others', 'staff'] })
    const answer = await signIn(one)
    expect([answer.status, answer.headers.location, answer.headers['cache-control']]).toEqual([
      302,
      '/console',
      'no-store',
    ])
    expect(await whoIs(one)).toMatchObject({ tenant: 'acme', role: 'editor', kind: 'member', name: 'Ada' })
    const [{ hours } = { hours: '' }] = (await withSql(databaseUrl, (sql) =>
      sql.query(
        `select extract(epoch from s.ends_at - s.created_at) / 3600 as hours from sessions s join members m on m.id = s.member_id
         where m.subject = $1`,
        [one.sub],
      ),
    )) as unknown as { hours: string }[]
    expect(Number(hours)).toBeCloseTo(limits.sessionOidcHours, 1)
    // Nothing of the way is left in the browser but the session.
    expect(one.cookies()).toMatch(/^__Host-quicklink=qs_[\w-]+$/)
  },
)

test('the first entry of OIDC_ROLES that fits decides, a group may be a single text with an = in it, and owner is owner', async () => {
  const [both, single, boss] = [person({ groups: ['staff', 'acme admins'] }), person({ groups: 'a=b' }), person({ groups: ['bosses'] })] // prettier-ignore
  for (const one of [both, single, boss]) expect((await signIn(one)).status).toBe(302)
  expect([(await whoIs(both))['role'], (await whoIs(single))['role']]).toEqual(['admin', 'viewer'])
  expect(await whoIs(boss)).toMatchObject({ tenant: 'owner', role: 'owner', kind: 'owner' })
  expect((await pageOf(boss)('GET', '/tenants')).status).toBe(200)
})

test('who has no group is not let in, and the page names the claim', async () => {
  const [none, other] = [person({ groups: undefined }), person({ groups: ['kitchen', 'x'.repeat(500)] })]
  refused(await signIn(none), 403, 'the claim groups is missing')
  refused(await signIn(other), 403, 'its claim groups has none of the groups that are let in here')
  for (const one of [none, other]) expect(await isIn(one)).toBe(false)
  refused(await signIn(person({ groups: [{ staff: true }, 7, null] })), 403, 'none of the groups')
  refused(await signIn(person({ groups: ['lost'] })), 403, 'the tenant nowhere, which is not there')
  await waitFor(() => log().includes('somebody was not let in by the identity provider'))
})

test('who has lost the group is refused the next time, and the sessions that are open end', async () => {
  const one = person({ groups: ['acme admins'] })
  expect((await signIn(one)).status).toBe(302)
  const elsewhere = { ...one, ...browser(publicUrl, app.url, one.sub) }
  idp.people.set(one.sub, { groups: ['kitchen'], by: 'id_token' })
  refused(await signIn(elsewhere), 403, 'none of the groups')
  await waitFor(async () => !(await isIn(one)), { deadlineMs: 5000 })
  const { items } = (await app.api('GET', '/audit?tenant=acme')).body as { items: object[] }
  expect(items[0]).toMatchObject({ action: 'signIn', target: { kind: 'member' }, by: { name: 'Ada', kind: 'member' }, changes: { role: { before: 'admin' } } }) // prettier-ignore
})

test('another group is another role at the next sign-in, under the same number and not under a name', async () => {
  const one = person({ name: 'Ada' })
  await signIn(one)
  const { memberId } = await whoIs(one)
  idp.people.set(one.sub, { name: 'Ada Lovelace\n', groups: ['acme admins'], by: 'userinfo' })
  await signIn(one)
  await waitFor(async () => (await whoIs(one))['role'] === 'admin', { deadlineMs: 5000 })
  expect(await whoIs(one)).toMatchObject({ memberId, name: 'Ada Lovelace' })
  const namesake = person({ name: 'Ada Lovelace' })
  await signIn(namesake)
  expect((await whoIs(namesake))['memberId']).not.toBe(memberId)
})

test.each([
  ['another state', { back: (url: URL) => url.searchParams.set('state', 'x'.repeat(43)) }],
  ['no state', { back: (url: URL) => url.searchParams.delete('state') }],
  ['another nonce', { there: (url: URL) => url.searchParams.set('nonce', 'x'.repeat(43)) }],
  ['another issuer', { back: (url: URL) => url.searchParams.set('iss', 'https://evil.example') }],
  ['another code', { back: (url: URL) => url.searchParams.set('code', 'x'.repeat(43)) }],
  ['two codes', { back: (url: URL) => url.searchParams.append('code', 'x') }],
  ['another PKCE challenge', { there: (url: URL) => url.searchParams.set('code_challenge', 'x'.repeat(43)) }],
] satisfies [string, Way][])('%s signs nobody in', async (_what, way) => {
  const one = person()
  const answer = await signIn(one, way)
  expect([answer.status, answer.text.includes('begin again') ? 'begin again' : answer.text]).toEqual([
    403,
    'begin again',
  ])
  expect(one.cookies()).toBe('')
})

test('an answer signs in the browser that has asked for it, once, and no other one', async () => {
  const [mine, theirs] = [person(), person()]
  const home = await mine.throughProvider(String((await mine.go(start)).headers.location))
  refused(await theirs.go(home), 403, 'begin again')
  await theirs.go(start)
  refused(await theirs.go(home), 403, 'begin again')
  expect((await mine.go(home)).status).toBe(302)
  refused(await mine.go(home), 403, 'begin again')
  expect(await isIn(mine)).toBe(true)
})

test('two browsers at once are two people', async () => {
  const two = [person({ name: 'Ada' }), person({ name: 'Bob', groups: ['acme admins'] })] as const
  const answers = await Promise.all(two.map((one) => signIn(one)))
  expect(answers.map(({ status }) => status)).toEqual([302, 302])
  expect((await Promise.all(two.map(whoIs))).map(({ name, role }) => [name, role])).toEqual([
    ['Ada', 'editor'],
    ['Bob', 'admin'],
  ])
})

test('keys that the provider has changed are fetched anew', async () => {
  expect((await signIn(person())).status).toBe(302)
  idp.rotateKeys()
  expect((await signIn(person())).status).toBe(302)
})

test('who says no at the provider reads what it has said', async () => {
  idp.people.set('nobody', {})
  refused(await signIn({ ...browser(publicUrl, app.url, 'nobody'), sub: 'nobody' }), 403, 'and says: access_denied')
})

test.each([
  ['/console/links/spring?domain=go.example.com', '/console/links/spring?domain=go.example.com'],
  ['//evil.example', '/console'],
  ['/spring', '/console'],
  ['/console\r\nSet-Cookie: a=b', '/console'],
])('returnTo=%j ends at %s', async (returnTo, end) => {
  const answer = await signIn(person(), { returnTo })
  expect([answer.headers.location, answer.headers['set-cookie']?.length]).toEqual([end, 2])
})

test('a session that somebody has planted is gone after a sign-in, and neither codes nor tokens nor the secret are in the log', async () => {
  const one = person()
  await signIn(one)
  const planted = one.cookies()
  const codes: string[] = []
  await signIn(one, { back: (url) => codes.push(url.searchParams.get('code') ?? '') })
  expect(one.cookies()).not.toBe(planted)
  await waitFor(
    async () => (await apiOf(app.url, null)('GET', '/session', undefined, { Cookie: planted })).status === 401,
    { deadlineMs: 5000 },
  )
  expect(codes[0]).toHaveLength(43)
  for (const secret of [idp.clientSecret, ...codes, one.cookies().split('=')[1] ?? ''])
    expect(log()).not.toContain(secret)
})

test('a member of the provider is changed there and not here, and one who is removed here comes back as somebody new', async () => {
  const one = person()
  await signIn(one)
  const { memberId } = await whoIs(one)
  expect((await app.api('PATCH', `/members/${String(memberId)}`, { role: 'viewer' })).status).toBe(409)
  expect((await app.api('POST', `/members/${String(memberId)}/invitation`)).status).toBe(409)
  expect((await app.api('GET', `/members/${String(memberId)}`)).body).toMatchObject({ by: 'oidc', state: 'joined' })
  expect((await app.api('DELETE', `/members/${String(memberId)}`)).status).toBe(204)
  await waitFor(async () => !(await isIn(one)), { deadlineMs: 5000 })
  await signIn(one)
  expect((await whoIs(one))['memberId']).not.toBe(memberId)
})

test('a page of others that begins a sign-in leads to the page with the button, and ends no session', async () => {
  const one = person()
  await signIn(one)
  const before = one.cookies()
  for (const site of ['cross-site', 'same-site']) {
    const answer = await apiOf(app.url, null)('GET', '/sign-in/oidc?returnTo=/console/stats', undefined, { Cookie: before, 'Sec-Fetch-Site': site }) // prettier-ignore
    expect([answer.status, answer.headers.location, answer.headers['set-cookie']]).toEqual([302, '/console/sign-in', undefined]) // prettier-ignore
  }
  expect(await isIn(one)).toBe(true)
  for (const site of ['same-origin', 'none']) {
    const answer = await apiOf(app.url, null)('GET', '/sign-in/oidc', undefined, { 'Sec-Fetch-Site': site })
    expect(answer.headers.location).toContain(idp.issuer)
  }
})

test('guesses at the way back are bounded by address; a provider that says no, or nothing, is none', async () => {
  const many = await startTestApp({ databaseUrl, key: app.key, env: { PUBLIC_URL: publicUrl, OIDC_ISSUER: idp.issuer, OIDC_CLIENT_ID: 'quicklink', OIDC_CLIENT_SECRET: idp.clientSecret, OIDC_ROLES: 'staff=acme:editor' } }) // prettier-ignore
  const one = browser(publicUrl, many.url, person().sub)
  const comeBack = async (query: string, meanwhile: 'yes' | 'no'): Promise<number> => {
    const state = new URL(String((await one.go(start)).headers.location)).searchParams.get('state') ?? ''
    idp.answer(meanwhile)
    return (
      await one
        .go(`${start}/callback?${query}&state=${state}&iss=${encodeURIComponent(idp.issuer)}`)
        .finally(() => idp.answer('yes'))
    ).status
  }
  const statusesOf = async (query: string, tries: number, meanwhile: 'yes' | 'no' = 'yes'): Promise<number[]> => {
    const statuses = new Set<number>()
    for (let tried = 0; tried <= tries; tried++) statuses.add(await comeBack(query, meanwhile))
    return [...statuses]
  }
  expect(await statusesOf('error=access_denied', limits.keyAttempts)).toEqual([403])
  expect(await statusesOf('code=any', limits.keyAttempts, 'no')).toEqual([503])
  // More than two minutes have room for: a new one may begin on the way.
  expect(await statusesOf('code=guess', 2 * limits.keyAttempts)).toEqual([403, 429])
})
