// The API of links, status by status.
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../config.ts'
import { expectProblem, ownerKey, publicUrl, startApi, type Api } from './api.stub.ts'

let api: Api
let acme: string
let other: string

beforeAll(async () => {
  api = await startApi()
  acme = await api.addTenant('acme')
  other = await api.addTenant('other')
})
afterAll(() => api.close())

const target = 'https://example.com/some/page'

describe('POST /links', () => {
  test('201: the link, where it is, and a code of seven Base62 characters', async () => {
    const answer = await api.create({ url: target })
    const { code } = answer.body
    expect(answer.status).toBe(201)
    expect(code).toMatch(/^[0-9A-Za-z]{7}$/)
    expect(answer.headers.get('location')).toBe(`/api/v1/links/${code}`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toEqual({
      code,
      shortUrl: `${publicUrl}/${code}`,
      url: target,
      permanent: false,
      enabled: true,
      expiresAt: null,
      monthlyHits: null,
      clicks: 0,
      tenant: 'owner',
      version: expect.any(Number),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.any(String),
    })
    expect((await api.call('GET', `/links/${code}`)).body).toEqual(answer.body)
    expect(api.announced.at(-1)).toEqual({
      code,
      id: expect.any(Number),
      url: target,
      permanent: false,
      expiresAtS: null,
      monthlyHits: null,
      version: answer.body.version,
    })
  })

  test('201: every field is kept, and time is cut to the second that expiry is exact to', async () => {
    const body = { url: target, code: 'My-Slug_1', permanent: true, enabled: false, expiresAt: '2099-01-31T14:30:00.750+02:00', monthlyHits: 10 } // prettier-ignore
    const answer = await api.create(body, { key: acme })
    expect(answer.body).toMatchObject({ ...body, expiresAt: '2099-01-31T12:30:00.000Z', tenant: 'acme' })
    expect(api.announced.at(-1)).toEqual({ absent: true, version: answer.body.version })
    const enabled = await api.call('PATCH', '/links/My-Slug_1', { key: acme, body: { enabled: true } })
    expect(api.announced.at(-1)).toMatchObject({
      expiresAtS: Date.UTC(2099, 0, 31, 12, 30) / 1000,
      version: enabled.body.version,
    })
  })

  test('201: Unicode comes back as the WHATWG URL serialises it, to the byte', async () => {
    const answer = await api.create({ url: 'https://bücher.example/käse?q=日本#é' })
    const stored = 'https://xn--bcher-kva.example/k%C3%A4se?q=%E6%97%A5%E6%9C%AC#%C3%A9'
    expect(answer.body.url).toBe(stored)
    expect(await api.db.query('select url from links where code = $1', [answer.body.code])).toEqual([{ url: stored }])
  })

  test.each([
    ['javascript:', 'javascript:alert(1)'],
    ['data:', 'data:text/html,x'],
    ['relative', '/relative'],
    ['credentials only', 'https://user:pw@'],
    ['credentials', 'https://user:pw@example.com'],
    ['9 kB', `https://example.com/${'a'.repeat(9000)}`],
    ['a control character', 'https://example.com/\u0001'],
    ['a line break', 'https://example.com/\n'],
    ['a header', 'https://example.com/\r\nSet-Cookie: stolen=1'],
    ['our public host', `${publicUrl}/abc1234`],
    ['a number', 42],
    ['null', null],
    ['nothing', undefined],
  ])('400 naming url: %s', async (_what, url) => {
    expectProblem(await api.create({ url }), 400, 'invalid', 'url')
  })

  test('400 naming url: the host that the request came to', async () => {
    expectProblem(await api.create({ url: `http://${api.host}/abc1234` }), 400, 'invalid', 'url')
  })

  test.each([
    ['code', 'ab'],
    ['code', 'a'.repeat(65)],
    ['code', 'with space'],
    ['code', 'ümlaut'],
    ['code', '../../etc'],
    ['code', 'Admin'],
    ['code', 7],
    ['code', null],
    ['permanent', 'true'],
    ['permanent', null],
    ['enabled', 1],
    ['expiresAt', 'tomorrow'],
    ['expiresAt', '2099-01-01'],
    ['expiresAt', '2099-01-01T00:00:00'],
    ['expiresAt', '2099-02-30T00:00:00Z'],
    ['expiresAt', '2001-01-01T00:00:00Z'],
    ['expiresAt', 4_000_000_000],
    ['monthlyHits', 0],
    ['monthlyHits', 1.5],
    ['monthlyHits', '10'],
    ['monthlyHits', 2 ** 31],
    ['colour', 'red'],
    ['tenant', 'acme'],
  ])('400 naming %s: %j', async (field, value) => {
    expectProblem(await api.create({ url: target, [field]: value }), 400, 'invalid', field)
  })

  test.each([
    ['cut off', '{"url": "https://exam'],
    ['no object', '[1]'],
    ['a string', '"https://example.com"'],
    ['empty', ''],
    ['no UTF-8 JSON', Buffer.from([0x7b, 0xff, 0xfe])],
  ])('400 naming body: %s', async (_what, raw) => {
    expectProblem(await api.call('POST', '/links', { raw }), 400, 'invalid', 'body')
  })

  test('400 naming __proto__: it is a field like any other', async () => {
    const answer = await api.call('POST', '/links', { raw: `{"url":"${target}","__proto__":{"enabled":false}}` })
    expectProblem(answer, 400, 'invalid')
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded'])('400 naming body: %s is not JSON', async (type) => {
    const answer = await api.create({ url: target }, { headers: { 'Content-Type': type } })
    expectProblem(answer, 400, 'invalid', 'body')
  })

  test('400 naming body: compressed', async () => {
    expectProblem(
      await api.create({ url: target }, { headers: { 'Content-Encoding': 'gzip' } }),
      400,
      'invalid',
      'body',
    )
  })

  test('401: no key, a wrong key, another scheme; the body is not even read', async () => {
    for (const key of [null, 'wrong', `${ownerKey}x`]) {
      const answer = await api.create({ url: target }, { key })
      expectProblem(answer, 401, 'unauthorized')
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
    const basic = { key: null, headers: { Authorization: `Basic ${ownerKey}` } }
    expectProblem(await api.create({ url: target }, basic), 401, 'unauthorized')
    expectProblem(await api.call('POST', '/links', { key: null, raw: '{' }), 401, 'unauthorized')
  })

  test('409: a code that exists, whoever has it', async () => {
    await api.create({ url: target, code: 'taken-1' }, { key: acme })
    for (const key of [acme, other, ownerKey]) {
      expectProblem(await api.create({ url: target, code: 'taken-1' }, { key }), 409, 'conflict', 'code')
    }
    expect((await api.create({ url: target, code: 'Taken-1' }, { key: other })).status).toBe(201)
  })

  test('413: a body of 1 MB, and one byte more than fits', async () => {
    const big = { url: target, filler: 'x'.repeat(1_000_000) }
    expectProblem(await api.create(big), 413, 'too_large')
    const chunked = await sendChunked(api, JSON.stringify(big))
    expect(chunked).toBe(413)
    const exact = JSON.stringify({ url: target }).padEnd(limits.bodyBytes, ' ')
    expect((await api.call('POST', '/links', { raw: exact })).status).toBe(201)
    expectProblem(await api.call('POST', '/links', { raw: `${exact} ` }), 413, 'too_large')
  })

  test('a generated code never collides with a custom one: it takes the next counter', async () => {
    const [{ counter: last } = { counter: 0 }] = await api.db.query<{ counter: number }>(
      'select max(counter) as counter from links',
    )
    const { body: probe } = await api.create({ url: target })
    // The codes that come next become custom ones of another tenant.
    await api.db.query(`update links set counter = null, salt_generation = null, tenant = 'other' where code = $1`, [
      probe.code,
    ])
    await api.db.query(`select setval('link_counter_seq', $1, true)`, [last])
    const { body: minted, status } = await api.create({ url: target })
    expect(status).toBe(201)
    expect(minted.code).not.toBe(probe.code)
    const rows = await api.db.query('select counter, salt_generation from links where code = $1', [minted.code])
    expect(rows).toEqual([{ counter: last + 2, salt_generation: 1 }])
  })
})

/** Without a Content-Length, so that only reading tells how much it is. */
const sendChunked = (to: Api, text: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const [hostname, port] = to.host.split(':')
    const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
    const request = httpRequest({ hostname, port, path: '/api/v1/links', method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('error', reject)
    for (let at = 0; at < text.length; at += 50_000) request.write(text.slice(at, at + 50_000))
    request.end()
  })

describe('a deleted code', () => {
  test('may be created again by its tenant, as another link; for others it is 409', async () => {
    await api.create({ url: target, code: 'again-1', permanent: true }, { key: acme })
    const [first] = await api.db.query<{ id: number; version: number }>(
      `select id, version from links where code = 'again-1'`,
    )
    await api.db.query(`insert into clicks values ($1, date_trunc('hour', now()), 5)`, [first?.id])
    expect((await api.call('GET', '/links/again-1', { key: acme })).body.clicks).toBe(5)
    expect((await api.call('DELETE', '/links/again-1', { key: acme })).status).toBe(204)
    expectProblem(await api.create({ url: target, code: 'again-1' }, { key: other }), 409, 'conflict', 'code')
    expectProblem(await api.create({ url: target, code: 'again-1' }), 409, 'conflict', 'code')

    const again = await api.create({ url: 'https://example.org/', code: 'again-1' }, { key: acme })
    expect(again.status).toBe(201)
    expect(again.body).toMatchObject({ url: 'https://example.org/', permanent: false, clicks: 0 })
    const [second] = await api.db.query<{ id: number; version: number }>(
      `select id, version from links where code = 'again-1'`,
    )
    expect(second?.id).toBeGreaterThan(first?.id ?? Infinity)
    expect(second?.version).toBeGreaterThan(first?.version ?? Infinity)
    const outbox = await api.db.query<{ version: number }>(
      `select version from outbox where code = 'again-1' order by version`,
    )
    expect(outbox.map((row) => row.version)).toContain(second?.version)
    expect(api.announced.at(-1)).toMatchObject({ id: second?.id, version: second?.version })
  })

  test('that has expired may be created again by its tenant only', async () => {
    await api.create({ url: target, code: 'expired-1' }, { key: acme })
    await api.db.query(`update links set expires_at = now() - interval '1 minute' where code = 'expired-1'`)
    expect((await api.call('GET', '/links/expired-1', { key: acme })).status).toBe(200)
    expectProblem(await api.create({ url: target, code: 'expired-1' }, { key: other }), 409, 'conflict')
    const again = await api.create({ url: target, code: 'expired-1' }, { key: acme })
    expect(again.body).toMatchObject({ expiresAt: null })
  })
})

test('500 says nothing of its reason, which is in the log', async () => {
  await api.create({ url: target, code: 'broken-1' })
  await api.db.query('alter table click_totals rename to totals_gone')
  try {
    const answer = await api.call('GET', '/links/broken-1')
    expectProblem(answer, 500, 'internal')
    expect(answer.text).not.toMatch(/clicks|relation|42P01/)
    expect(api.logged.at(-1)?.details).toMatchObject({ path: '/api/v1/links/broken-1', err: { code: '42P01' } })
  } finally {
    await api.db.query('alter table totals_gone rename to click_totals')
  }
})

test('no way leads into a header: whatever the API accepts as a URL has no line break in it', async () => {
  const attempts = ['\r\nX: y', '%0d%0aX: y', '\\r\\nX: y', '\u560d\u560aX: y', '#\r\n', '?\n', '\u2028X: y']
  for (const attempt of attempts) {
    const answer = await api.create({ url: `https://example.com/${attempt}` })
    if (answer.status === 201) expect(answer.body.url).toMatch(/^[\x21-\x7e]+$/)
    else expectProblem(answer, 400, 'invalid', 'url')
  }
})
