// Whoever changes something is in the audit log, with what changed.
// Long because it knows how to do each operation that changes something.
import { expect, test } from 'vitest'
import { openSql, withSql } from '../../embedded/sql.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, created, newTenant, type Api, type ApiAnswer } from '../../testing/http.ts'
import { operations } from '../../testing/operations.ts'
import { freshDatabase } from '../../testing/services.ts'
import { limits } from '../limits.ts'
import { upkeep } from '../links/upkeep.ts'

const publicUrl = 'https://go.example.org'
const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl, env: { PUBLIC_URL: publicUrl } })

interface Entry {
  readonly id: string
  readonly at: string
  readonly action: string
  readonly tenant: string
  readonly target: { kind: string; id: string; domain: string | null }
  readonly by: { kind: string; id: string; name: string; tenant: string; sessionId: string | null }
  readonly address: string | null
  readonly changes: Record<string, { before?: unknown; after?: unknown }> | null
}
const log = async (api: Api, query = ''): Promise<Entry[]> =>
  (await api('GET', `/audit${query}`)).body['items'] as Entry[]

let tenants = 0
const tenant = () => newTenant(app, `team${tenants++}`)
async function admin(id: string): Promise<Api> {
  const made = await created(app.api, `/tenants/${id}/keys`, { name: 'boss', role: 'admin' })
  return apiOf(app.url, String(made['key']))
}
const url = 'https://example.org/'
let codes = 0
const link = async (api: Api, more = {}) =>
  String((await created(api, '/links', { url, code: `link${codes++}`, ...more }))['code'])
const domain = async (): Promise<string> => {
  const host = `d${codes++}.example`
  await created(app.api, '/domains', { host })
  return host
}
const signedIn = async (key: string): Promise<{ api: Api; id: string }> => {
  const answer = await apiOf(app.url, null)('POST', '/session', { key }, { 'Sec-Fetch-Site': 'same-origin' })
  const Cookie = String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
  const api: Api = (method, path, body) =>
    apiOf(app.url, null)(method, path, body, { Cookie, 'Sec-Fetch-Site': 'same-origin' })
  return { api, id: String(answer.body['id']) }
}

const imported = (): Promise<ApiAnswer> =>
  app.api('POST', '/imports', 'url\nhttps://example.org/\n', { 'Content-Type': 'text/csv' })

/** Does it, and says what must be in the log: `kind target`. */
type Does = () => Promise<readonly [ApiAnswer, string]>

/** Each operation that changes something. */
const does: Readonly<Record<string, Does>> = {
  createLink: async () => [await app.api('POST', '/links', { url, code: 'made' }), 'link made'],
  changeLink: async () => {
    const code = await link(app.api)
    return [await app.api('PATCH', `/links/${code}`, { title: 'x' }), `link ${code}`]
  },
  deleteLink: async () => {
    const code = await link(app.api)
    return [await app.api('DELETE', `/links/${code}`), `link ${code}`]
  },
  createLinks: async () => [
    await app.api('POST', '/links/bulk', { links: [{ url, code: 'bulk-made' }] }),
    'link bulk-made',
  ],
  changeLinks: async () => {
    const code = await link(app.api)
    return [await app.api('PATCH', '/links/bulk', { codes: [code], change: { title: 'x' } }), `link ${code}`]
  },
  deleteLinks: async () => {
    const code = await link(app.api)
    return [await app.api('DELETE', '/links/bulk', { codes: [code] }), `link ${code}`]
  },
  renameTag: async () => {
    await link(app.api, { tags: ['Spring'] })
    return [await app.api('PATCH', '/tags/spring', { name: 'Summer' }), 'tag Spring']
  },
  deleteTag: async () => {
    await link(app.api, { tags: ['Autumn'] })
    return [await app.api('DELETE', '/tags/autumn'), 'tag Autumn']
  },
  createTenant: async () => [await app.api('POST', '/tenants', { id: 'a', name: 'A', tier: 'plus' }), 'tenant a'],
  changeTenant: async () => {
    const { id } = await tenant()
    return [await app.api('PATCH', `/tenants/${id}`, { tier: 'plus' }), `tenant ${id}`]
  },
  deleteTenant: async () => {
    const { id } = await tenant()
    return [await app.api('DELETE', `/tenants/${id}`), `tenant ${id}`]
  },
  createKey: async () => {
    const answer = await app.api('POST', '/tenants/owner/keys', { name: 'x' })
    return [answer, `key ${String(answer.body['id'])}`]
  },
  revokeKey: async () => {
    const { id } = await created(app.api, '/tenants/owner/keys', { name: 'x' })
    return [await app.api('DELETE', `/tenants/owner/keys/${String(id)}`), `key ${String(id)}`]
  },
  createDomain: async () => [await app.api('POST', '/domains', { host: 'a.example' }), 'domain a.example'],
  changeDomain: async () => {
    const host = await domain()
    return [await app.api('PATCH', `/domains/${host}`, { rootUrl: url }), `domain ${host}`]
  },
  createImport: async () => {
    const answer = await imported()
    return [answer, `import ${String(answer.body['id'])}`]
  },
  deleteImport: async () => {
    const id = String((await imported()).body['id'])
    return [await app.api('DELETE', `/imports/${id}`), `import ${id}`]
  },
  deleteDomain: async () => {
    const host = await domain()
    return [await app.api('DELETE', `/domains/${host}`), `domain ${host}`]
  },
  createMember: async () => {
    const answer = await app.api('POST', '/members', { name: 'Ada', role: 'editor' })
    return [answer, `member ${String(answer.body['id'])}`]
  },
  changeMember: async () => {
    const { id } = await created(app.api, '/members', { name: 'Ada', role: 'editor' })
    return [await app.api('PATCH', `/members/${String(id)}`, { role: 'viewer' }), `member ${String(id)}`]
  },
  inviteMember: async () => {
    const { id } = await created(app.api, '/members', { name: 'Ada', role: 'editor' })
    return [await app.api('POST', `/members/${String(id)}/invitation`), `member ${String(id)}`]
  },
  deleteMember: async () => {
    const { id } = await created(app.api, '/members', { name: 'Ada', role: 'editor' })
    return [await app.api('DELETE', `/members/${String(id)}`), `member ${String(id)}`]
  },
  createSignInLink: async () => [await app.api('POST', '/sign-in-links'), 'key owner'],
  signIn: async () => {
    const answer = await apiOf(app.url, null)('POST', '/session', { key: app.key })
    return [answer, `session ${String(answer.body['id'])}`]
  },
  signOut: async () => {
    const { api, id } = await signedIn(app.key)
    return [await api('DELETE', '/session'), `session ${id}`]
  },
  endSession: async () => {
    const { id } = await signedIn(app.key)
    return [await app.api('DELETE', `/sessions/${id}`), `session ${id}`]
  },
  endSessions: async () => {
    const { id, key } = await created(app.api, '/tenants/owner/keys', { name: 'x' })
    const { api } = await signedIn(String(key))
    return [await api('DELETE', '/sessions'), `key ${String(id)}`]
  },
}

/** They make copies and counts true again; nothing that anybody has said changes. */
const changesNothing = ['syncQuota', 'syncQuotas', 'invalidateCache', 'readInvitation']

const declared = new Set(operations.map(({ id }) => id))

test('every operation that changes something is known here', () => {
  const changing = operations.filter(({ method, id }) => method !== 'get' && !changesNothing.includes(id))
  expect(changing.map(({ id }) => id).filter((id) => does[id] === undefined)).toEqual([])
})

test.each(Object.entries(does).filter(([id]) => declared.has(id)))(
  '%s leaves one entry: who, what, to which, from where',
  async (action, doIt) => {
    const [answer, what] = await doIt()
    expect([answer.status, answer.text]).toEqual([answer.status < 300 ? answer.status : 200, answer.text])
    const [last, ...before] = await log(app.api)
    expect(last).toMatchObject({ action, address: '127.0.0.1', by: { kind: 'owner', tenant: 'owner' } })
    expect(`${last?.target.kind} ${last?.target.id}`).toBe(what)
    const same = before.filter((entry) => entry.action === action && entry.target.id === last?.target.id)
    expect(same).toEqual([])
  },
)

test('what was refused, or found nothing, leaves no entry', async () => {
  const { id, api } = await tenant()
  const other = await link(app.api)
  const code = await link(api, { password: 'correct horse' })
  const before = await log(app.api)
  for (const [method, path, body, headers] of [
    ['POST', '/links', { url, code }],
    ['PATCH', `/links/${other}`, { enabled: false }],
    ['DELETE', `/links/${other}`],
    ['PATCH', `/links/${code}`, { enabled: false }, { 'If-Match': '"1.9"' }],
    ['PATCH', `/links/${code}`, { permanent: true }],
    ['PATCH', '/tags/none', { name: 'other' }],
    ['DELETE', '/tags/none'],
    ['POST', `/tenants/${id}/keys`, { name: 'x' }],
  ] as const) {
    expect([path, (await api(method, path, body, headers)).status]).toEqual([path, expect.any(Number)])
  }
  for (const path of [`/tenants/${id}`, '/tenants/nobody', '/domains/none.example', '/sessions/none']) {
    expect((await app.api('DELETE', path)).status).toBeGreaterThan(403)
  }
  expect(await log(app.api)).toEqual(before)
})

test('a request that is repeated by its Idempotency-Key is one entry', async () => {
  const headers = { 'Idempotency-Key': 'twice' }
  const answers = await Promise.all([1, 2].map(() => app.api('POST', '/links', { url, code: 'once' }, headers)))
  expect(answers.map(({ status }) => status)).toEqual([201, 201])
  expect(await log(app.api, '?code=once')).toHaveLength(1)
})

test('of a change it says what each field was and is, and of a password only that there is another one', async () => {
  const { id, api } = await tenant()
  const boss = await admin(id)
  const code = await link(api, { title: 'Before', tags: ['a'] })
  await api('PATCH', `/links/${code}`, { title: 'After', tags: ['a', 'b'], enabled: true })
  await api('PATCH', `/links/${code}`, { password: 'correct horse' })
  await api('PATCH', `/links/${code}`, { password: 'battery staple', url: 'https://example.org/secret' })
  await api('DELETE', `/links/${code}`)
  const entries = await log(boss, `?code=${code}`)
  expect(entries.map(({ action, changes }) => [action, changes])).toEqual([
    ['deleteLink', {}],
    ['changeLink', { password: {} }],
    ['changeLink', { hasPassword: { before: false, after: true }, password: {} }],
    ['changeLink', { title: { before: 'Before', after: 'After' }, tags: { before: ['a'], after: ['a', 'b'] } }],
    ['createLink', expect.objectContaining({ title: { after: 'Before' }, tags: { after: ['a'] } })],
  ])
  // Nor where it led before.
  expect(JSON.stringify(entries)).not.toContain(url)
  const open = await link(api)
  expect((await log(boss, `?code=${open}`))[0]?.changes).toMatchObject({ url: { after: url } })
  const rows = await withSql(databaseUrl, (sql) => sql.query('select a::text as row from audit a'))
  const all = JSON.stringify(rows)
  for (const secret of ['correct horse', 'battery staple', '/secret', 'scrypt', app.key, 'ql_', 'qs_', 'token']) {
    expect([secret, all.includes(secret)]).toEqual([secret, false])
  }
})

test("an admin sees its own tenant's log, also what the owner did there, but not from where; nobody less sees it", async () => {
  const [mine, theirs] = [await tenant(), await tenant()]
  const boss = await admin(mine.id)
  const code = await link(mine.api)
  await app.api('PATCH', `/links/${code}`, { enabled: false })
  const foreign = await link(theirs.api)
  const entries = await log(boss)
  expect(new Set(entries.map(({ tenant }) => tenant))).toEqual(new Set([mine.id]))
  expect(entries.map(({ action, by, address }) => [action, by.name, address]).slice(0, 2)).toEqual([
    ['changeLink', 'Owner', null],
    ['createLink', 'test', '127.0.0.1'],
  ])
  expect(await log(boss, `?code=${foreign}`)).toEqual([])
  expect((await boss('GET', `/audit?tenant=${theirs.id}`)).status).toBe(403)
  expect((await mine.api('GET', '/audit')).status).toBe(403)
  expect((await log(app.api, `?tenant=${theirs.id}`)).map(({ target }) => target.id)).toContain(foreign)
})

test("an admin of the owner's tenant sees nothing of domains there", async () => {
  const host = await domain()
  expect((await log(app.api, '?tenant=owner')).map(({ target }) => target.id)).toContain(host)
  const entries = await log(await admin('owner'))
  expect(entries.length).toBeGreaterThan(0)
  expect(entries.filter(({ target }) => target.kind === 'domain')).toEqual([])
})

test('who gets the id of a tenant that is gone does not see what was done in it', async () => {
  const { id, api } = await tenant()
  await api('DELETE', `/links/${await link(api)}`)
  await withSql(databaseUrl, (sql) => sql.query('delete from links where tenant = $1', [id]))
  expect((await app.api('DELETE', `/tenants/${id}`)).status).toBe(204)
  await newTenant(app, id)
  const entries = await log(await admin(id))
  expect(entries.map(({ action }) => action)).toEqual(['createKey', 'createKey', 'createTenant'])
})

test('it comes in pages with sealed cursors, or whole as lines', async () => {
  const { id, api } = await tenant()
  const boss = await admin(id)
  for (let n = 0; n < 5; n++) await link(api)
  const whole = await log(boss)
  const paged: Entry[] = []
  let last: unknown
  for (let cursor: unknown; cursor !== null;) {
    const query = typeof cursor === 'string' ? `&cursor=${cursor}` : ''
    const { body } = await boss('GET', `/audit?limit=3${query}`)
    paged.push(...(body['items'] as Entry[]))
    cursor = body['nextCursor']
    last = cursor ?? last
  }
  expect(paged).toEqual(whole)
  expect((await app.api('GET', `/audit?limit=3&cursor=${String(last)}`)).status).toBe(400)
  const lines = await boss('GET', '/audit', undefined, { Accept: 'application/x-ndjson' })
  expect(lines.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
  expect(
    lines.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry),
  ).toEqual(whole)
})

test('the lines of a log of some thousand entries are all of them, each once', async () => {
  const { id } = await tenant()
  const n = 3 * limits.auditPage + 1
  await withSql(databaseUrl, (sql) =>
    sql.query(
      `insert into audit (tenant, action, kind, target, by_kind, by_id, by_name, by_tenant)
       select $1, 'createLink', 'link', 'many' || n, 'key', 'k', 'k', $1 from generate_series(1, $2::int) n`,
      [id, n],
    ),
  )
  const { text } = await app.api('GET', `/audit?tenant=${id}`, undefined, { Accept: 'application/x-ndjson' })
  const targets = text.trim().split('\n').map((line) => (JSON.parse(line) as Entry).target.id) // prettier-ignore
  expect(targets.filter((target) => target.startsWith('many'))).toHaveLength(n)
  expect(new Set(targets).size).toBe(targets.length)
})

test('a link of a further domain is found by its code and domain', async () => {
  const host = await domain()
  const code = await link(app.api, { domain: host })
  await link(app.api, { code })
  const entries = await log(app.api, `?code=${code}&domain=${host}`)
  expect(entries.map(({ target }) => target)).toEqual([{ kind: 'link', id: code, domain: host }])
  expect(await log(app.api, `?code=${code}`)).toHaveLength(1)
})

test('upkeep removes the address first, and the entry much later', async () => {
  const codes = [await link(app.api), await link(app.api)]
  const age = (code: string | undefined, days: number) =>
    withSql(databaseUrl, (sql) =>
      sql.query(`update audit set at = now() - make_interval(days => $2) where target = $1`, [code, days]),
    )
  await age(codes[0], limits.auditAddressDays + 1)
  await age(codes[1], limits.auditDays + 1)
  const db = openSql(databaseUrl, { maxConnections: 2, queryMs: 2000 })
  expect(await upkeep(db, () => undefined).finally(() => db.close())).toMatchObject({ audit: 1, auditAddresses: 1 })
  expect((await log(app.api, `?code=${codes[0]}`))[0]?.address).toBeNull()
  expect(await log(app.api, `?code=${codes[1]}`)).toEqual([])
})
