// All that the API refuses, and what it says: a status, a code for programs, and the field that has to be changed.
import { describe, expect, it } from 'vitest'
import { limits } from '../server/limits.ts'
import type { Api } from '../testing/http.ts'
import { fresh, problem, target, targets } from './quicklink.ts'

const long = (length: number): string => 'x'.repeat(length)
/** What could be written with an offset, and not read back. */
const beyond = ['9999-12-31T23:59:59-00:01', '9999-12-31T12:00:00-23:59', '0000-01-01T00:00:00+23:59']
/** A link may have begun then, and not end. */
const past = '2001-01-01T00:00:00Z'
const times = [
  ...['tomorrow', '2099-01-01', '2099-01-01T00:00:00', '2099-02-30T00:00:00Z', past, 4_000_000_000],
  ...['0000-12-31T00:00:00Z', '10000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', ...beyond],
]

const wrongUrls = ['', 5, '/relative', 'javascript:alert(1)', 'http://localhost/x', 'https://a.b/\r\nSet-Cookie: a=b']

/** What is asked, what would be a body, and what must not stand in it. */
const wrongFields: [string, object, Record<string, readonly unknown[]>][] = [
  [
    'POST /links',
    { url: target, expiresAt: '2199-01-01T00:00:00Z' },
    {
      url: [
        ...[undefined, null, 5, '/relative', 'javascript:alert(1)', 'data:text/html,x', `https://a.b/${long(9000)}`],
        ...['https://user:pw@', 'https://user:secret@example.org/', 'https://a.b/\0', 'https://a.b/\u0001'],
        ...['https://a.b/\n', 'https://a.b/\r\nSet-Cookie: a=b'],
      ],
      code: [
        '',
        'a',
        'ab',
        'console',
        'Session',
        long(65),
        'with space',
        'ümlaut',
        '../../etc',
        'Admin',
        'metrics',
        7,
        null,
      ],
      permanent: ['true', null],
      enabled: [1],
      expiresAt: times,
      startsAt: [...times.filter((time) => time !== past), '2200-01-01T00:00:00Z'],
      expiredUrl: wrongUrls,
      forwardQuery: ['true', 1, null],
      monthlyHits: [0, 1.5, '10', 2 ** 31],
      title: [long(201), 5, 'a\nb'],
      note: [long(2001), 5, 'a\0'],
      tags: ['a', Array.from({ length: 21 }, (_, n) => `t${n}`)],
      colour: ['red'],
      tenant: ['acme'],
    },
  ],
  [
    'PATCH /links/{code}',
    {},
    {
      code: ['another'],
      url: ['javascript:alert(1)', null],
      enabled: ['yes'],
      monthlyHits: [-1],
      title: [long(201)],
      tags: [null],
      expiresAt: times,
      startsAt: times.filter((time) => time !== past),
      expiredUrl: wrongUrls,
      forwardQuery: [null],
    },
  ],
  [
    'POST /tenants',
    { id: 'x', name: 'x', tier: 'plus' },
    { id: [undefined, 'a/b'], name: [undefined, ''], tier: ['gold'], linkQuota: [-1, '5'], colour: ['red'] },
  ],
  [
    'POST /tenants/owner/keys',
    { name: 'x' },
    { name: [undefined, 'a\n', 'a\ud800', '😀'.repeat(201)], expiresAt: times, role: ['boss', null] },
  ],
]
const bodies = wrongFields.flatMap(([asked, valid, fields]) =>
  Object.entries(fields).flatMap(([field, values]) =>
    values.map((value) => [asked, field, { ...valid, [field]: value }] as const),
  ),
)

const queries = (
  [
    ['/links', 'limit', ['0', '101', '1.5', '5&limit=6']],
    ['/links', 'cursor', ['abc', 'aWQ6LTE', '%00', Buffer.from('id:1\0').toString('base64url')]],
    ['/links', 'enabled', ['maybe', '%00']],
    ['/links', 'q', [long(201), '%00', 'a?%00', '%F0%9F%98%80'.repeat(201), 'a&q=b']],
    ['/links', 'tenant', ['%00']],
    ['/links', 'page', ['2']],
    ['/links', 'sort', ['colour', 'newest&sort=oldest']],
    ['/links', 'state', ['gone', '']],
    ['/links', 'tag', ['', 'a,b', long(51)]],
    ['/links', 'createdBy', ['', long(201)]],
    ['/links', 'createdAfter', ['yesterday', '0000-12-31T00:00:00Z', ...beyond.map(encodeURIComponent)]],
    ['/links', 'url', ['/relative', 'ftp://example.org/', 'https://example.org/&url=https://example.org/']],
    ['/tags', 'q', ['a']],
    ['/tags', 'limit', ['0', '101']],
    ['/tags', 'cursor', ['', 'abc', '%00', Buffer.from('tag:a\0').toString('base64url')]],
    ['/limits', 'verbose', ['1']],
    ['/links/{code}', 'fields', ['url']],
    ['/links', '\0', ['1']],
    ['/tenants', 'cursor', ['%00', Buffer.from('tenant:a\0').toString('base64url')]],
    ['/links/{code}/clicks', 'by', ['week']],
    ['/links/{code}/clicks', 'to', ['2026-13-01T00:00:00Z', '0000-12-31T00:00:00Z', ...beyond.map(encodeURIComponent)]],
    ['/links/{code}/clicks', 'from', ['yesterday', '%00', '0000-12-31T00:00:00Z', ...beyond.map(encodeURIComponent)]],
    ['/links/{code}/clicks', 'from', ['2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z']],
    // Too long for its buckets.
    ['/links/{code}/clicks', 'from', ['2020-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&by=hour']],
    ['/links/{code}/clicks', 'from', ['0001-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&by=day']],
  ] as const
).flatMap(([path, field, values]) => values.map((value) => [`${path}?${encodeURIComponent(field)}=${value}`, field]))

/** A method, and paths that lead to nothing by it; those with a NUL, because nothing has a name with one. */
const nowhere = [
  `GET /links/nothing1 /links/nothing1/clicks /links/admin /links/a%20b /links/%ff /links/${long(65)} /nowhere /LINKS`,
  'GET /%00 /links/%00 /links/%00/hits /links/%00/clicks /cache/%00 /tenants/%00 /tenants/%00/keys /tenants/%00/limits',
  'PATCH /tags/nothing /tags/%00 /tags/a,b /domains/%00',
  'DELETE /tags/nothing /tags/%00 /tags/%ff /domains/%00 /domains/nothing',
  'GET /domains/%00 /domains/nothing /tenants/nobody /tenants/nobody/keys /tenants/nobody/limits',
  'PATCH /links/nothing1 /links/a%00b /tenants/%00 /tenants/nobody',
  'DELETE /links/nothing1 /links/%00 /tenants/a%00 /tenants/nobody /tenants/%00/keys/x',
  'DELETE /tenants/owner/keys/%00 /tenants/owner/keys/nothing',
  'POST /tenants/%00/keys /tenants/nobody/keys /tenants/%00/quota/sync /tenants/nobody/quota/sync',
].flatMap((line) => {
  const [method = '', ...paths] = line.split(' ')
  return paths.map((path) => [method, path] as const)
})

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()
  const code = await ql.create()
  const [acme, other] = [await ql.tenant(), await ql.tenant()]

  const ask = (asked: string, body?: unknown, api = ql.api): ReturnType<Api> => {
    const [method = '', path = ''] = asked.replace('{code}', code).split(' ')
    return api(method, path, body)
  }

  it.each(bodies)('400: %s, naming %s: %j', async (asked, field, body) => {
    expect(problem(await ask(asked, body))).toBe(`400 invalid ${field}`)
  })

  it.each(['', ' ', '.', ' .. ', 'a,b', 'a|b', 'a\n', long(51), 5])('400: a tag like %j, naming which', async (tag) => {
    expect(problem(await ql.api('POST', '/links', { url: target, tags: ['fine', tag] }))).toBe('400 invalid tags.1')
    expect(problem(await ql.api('PATCH', '/tags/fine', { name: tag }))).toBe('400 invalid name')
  })

  it.each(['PATCH /links/{code}', 'PATCH /tenants/owner'])('400: %s that changes nothing', async (asked) => {
    expect(problem(await ask(asked, {}))).toBe('400 invalid body')
  })

  it.each(queries)('400: GET %s, naming %j', async (path, field) => {
    expect(problem(await ask(`GET ${path}`))).toBe(`400 invalid ${field}`)
  })

  it.each([
    'POST /links',
    'PATCH /links/{code}',
    'DELETE /links/{code}',
    'POST /quota/sync',
    'POST /tenants/owner/keys',
  ])('400: %s with a query parameter that it does not have, and nothing is done', async (asked) => {
    const body = asked.startsWith('PATCH') ? { enabled: false } : { url: target, name: 'x' }
    expect(problem(await ask(`${asked}?dry=true`, asked.startsWith('DELETE') ? undefined : body))).toMatch(
      /^400 invalid/,
    )
    expect((await ql.api('GET', `/links/${code}`)).body).toMatchObject({ enabled: true })
  })

  it.each(['4711', '"1.0', 'x'])('400: an If-Match of the form %j', async (tag) => {
    const answer = await ql.api('PATCH', `/links/${code}`, { enabled: true }, { 'If-Match': tag })
    expect(problem(answer)).toBe('400 invalid If-Match')
  })

  it('400: a link to QuickLink itself, by the host of its links and by the one that it was asked at', async () => {
    for (const itself of [ql.publicUrl, ql.url]) {
      expect(problem(await ql.api('POST', '/links', { url: `${itself}/abc1234` }))).toBe('400 invalid url')
    }
  })

  const json = { 'Content-Type': 'application/json' }
  it.each([
    ['cut off', '{"url": "https://exam', json, 'body'],
    ['a list', '[1]', json, 'body'],
    ['a string', '"https://example.com"', json, 'body'],
    ['empty', '', json, 'body'],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0xfe]), json, 'body'],
    ['text', `{"url":"${target}"}`, { 'Content-Type': 'text/plain' }, 'body'],
    ['a form', `{"url":"${target}"}`, { 'Content-Type': 'application/x-www-form-urlencoded' }, 'body'],
    ['compressed', `{"url":"${target}"}`, { ...json, 'Content-Encoding': 'gzip' }, 'body'],
    ['with a __proto__, a field like any other', `{"url":"${target}","__proto__":{}}`, json, '__proto__'],
  ])('400: a body that is %s', async (_, body, headers, field) => {
    expect(problem(await ql.api('POST', '/links', body, headers))).toBe(`400 invalid ${field}`)
  })

  it.each(['', long(256), 'with space', 'tab\t.', 'ümlaut'])('400: an Idempotency-Key of the form %j', async (key) => {
    const answer = await ql.api('POST', '/links', { url: target }, { 'Idempotency-Key': key })
    expect(problem(answer)).toBe('400 invalid Idempotency-Key')
  })

  it('401: without a key, with a wrong one, by another scheme; the body is not even read', async () => {
    const authorizations = [undefined, '', 'Bearer ', 'Bearer wrong', `Bearer ${ql.key}x`, `Basic ${ql.key}`]
    for (const Authorization of authorizations) {
      const answer = await ql.as(null)('POST', '/links', '{', Authorization === undefined ? {} : { Authorization })
      expect([Authorization, problem(answer)]).toEqual([Authorization, '401 unauthorized'])
      expect(answer.headers['www-authenticate']).toBe('Bearer')
    }
  })

  it.each([
    ...['POST /tenants', 'GET /tenants', 'GET /tenants/{id}', 'PATCH /tenants/{id}', 'DELETE /tenants/{id}'],
    ...['GET /tenants/{id}/limits', 'POST /tenants/{id}/keys', 'GET /tenants/{id}/keys', 'DELETE /tenants/{id}/keys/x'],
    ...['POST /tenants/{id}/quota/sync', 'POST /quota/sync', 'GET /cache/abc', 'POST /cache/invalidate', 'GET /system'],
    ...['GET /links?tenant=owner', 'GET /tags?tenant=owner', 'DELETE /tags/x?tenant=owner'],
  ])('403: %s is for the owner', async (asked) => {
    expect(problem(await ask(asked.replace('{id}', acme.id), undefined, acme.api))).toBe('403 forbidden')
  })

  it.each(nowhere)('404: %s %s', async (method, path) => {
    const body = path.startsWith('/links') ? { enabled: true } : { name: 'x' }
    const answer = await ql.api(method, path, method === 'POST' || method === 'PATCH' ? body : undefined)
    expect(problem(answer)).toBe('404 not_found')
  })

  it("404: another tenant's link, whatever is asked of it", async () => {
    const theirs = `/links/${String((await acme.api('POST', '/links', { url: target })).body['code'])}`
    for (const asked of [`GET ${theirs}`, `GET ${theirs}/clicks`, `DELETE ${theirs}`]) {
      expect(problem(await ask(asked, undefined, other.api))).toBe('404 not_found')
    }
    expect(problem(await other.api('PATCH', theirs, { enabled: false }))).toBe('404 not_found')
    expect((await acme.api('GET', theirs)).body).toMatchObject({ enabled: true })
  })

  it.each([
    ['DELETE', '/links', 'GET, HEAD, POST'],
    ['PUT', '/links/abc', 'GET, HEAD, PATCH, DELETE'],
    ['OPTIONS', '/links/abc', 'GET, HEAD, PATCH, DELETE'],
    ['POST', '/links/abc/clicks', 'GET, HEAD'],
    ['PUT', '/tenants/owner', 'GET, HEAD, PATCH, DELETE'],
  ])('405: %s %s says what is allowed', async (method, path, allow) => {
    const answer = await ql.api(method, path)
    expect([problem(answer), answer.headers.allow]).toEqual(['405 method_not_allowed', allow])
  })

  it('409: a code that exists, whoever has it; one of other letters is another', async () => {
    const code = fresh('Taken')
    const by = (api: Api, code: string): ReturnType<Api> => api('POST', '/links', { url: target, code })
    expect((await by(acme.api, code)).status).toBe(201)
    for (const api of [acme.api, other.api, ql.api]) expect(problem(await by(api, code))).toBe('409 conflict code')
    expect((await by(other.api, code.toLowerCase())).status).toBe(201)
  })

  it("409: what would touch the owner's own, and an id that is taken", async () => {
    expect(problem(await ask('POST /tenants', { id: 'owner', name: 'x', tier: 'plus' }))).toBe('409 conflict id')
    expect(problem(await ask('PATCH /tenants/owner', { tier: 'standard' }))).toBe('409 conflict tier')
    expect(problem(await ask('DELETE /tenants/owner'))).toBe('409 conflict')
    expect(problem(await ask('DELETE /tenants/owner/keys/owner'))).toBe('409 conflict')
  })

  it('413: a body of a megabyte, announced or not, and one byte more than fits', async () => {
    const exact = JSON.stringify({ url: target }).padEnd(limits.bodyBytes, ' ')
    expect((await ql.api('POST', '/links', exact)).status).toBe(201)
    const chunked = { 'Transfer-Encoding': 'chunked' }
    for (const [body, headers] of [[`${exact} `], [long(1_000_000)], [long(1_000_000), chunked]] as const) {
      expect(problem(await ql.api('POST', '/links', body, headers))).toBe('413 too_large')
    }
  })
})
