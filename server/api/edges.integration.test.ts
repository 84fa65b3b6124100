// What lies at the edge of the API's paths, names and times: an answer that holds, never a 500, never a promise to come.
import { once } from 'node:events'
import { connect } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { startTestApp, type Answer, type TestApp } from '../../testing/app.ts'
import { freshDatabase } from '../../testing/services.ts'

let starting: TestApp
let app: TestApp
beforeAll(async () => {
  const databaseUrl = await freshDatabase()
  app = await startTestApp({ databaseUrl })
  starting = await startTestApp({ databaseUrl, booted: false, key: app.key })
  await app.api('POST', '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
})

const told = ({ status, text }: Answer): unknown[] => [status, (JSON.parse(text) as { code: string }).code]

test.each(['/api', '/api/', '/api?x', '/api/v2/links', '/api/v1x', '/api/V1/links', '/api//v1/links', '/api/%00'])(
  '%s is 404 for every method, also before Postgres has been reached',
  async (path) => {
    for (const { get } of [starting, app]) {
      for (const method of ['GET', 'POST', 'DELETE'])
        expect(told(await get(path, {}, method))).toEqual([404, 'not_found'])
    }
  },
)

test('/api/v1 is 503 until Postgres has been reached, and there from then on', async () => {
  for (const path of ['/api/v1', '/api/v1/', '/api/v1/links', '/api/v1?x']) {
    expect(told(await starting.get(path))).toEqual([503, 'unavailable'])
    expect(told(await app.get(path))).toEqual([401, 'unauthorized'])
  }
})

test.each(['/API/v1/links', '/Api/v1/links', '/%61pi/v1/links', '//api/v1/links'])(
  '%s is not the API, and no link either',
  async (path) => {
    const key = { Authorization: `Bearer ${app.key}` }
    for (const { get } of [starting, app]) expect(told(await get(path, key))).toEqual([404, 'not_found'])
  },
)

test.each([
  ['GET', '/links/%00'],
  ['PATCH', '/links/a%00b', { enabled: true }],
  ['DELETE', '/links/%00'],
  ['GET', '/links/%00/hits'],
  ['GET', '/links/%00/clicks'],
  ['GET', '/cache/%00'],
  ['GET', '/tenants/%00'],
  ['PATCH', '/tenants/%00', { name: 'x' }],
  ['DELETE', '/tenants/a%00'],
  ['GET', '/tenants/%00/keys'],
  ['POST', '/tenants/%00/keys', { name: 'x' }],
  ['DELETE', '/tenants/acme/keys/%00'],
  ['DELETE', '/tenants/%00/keys/x'],
  ['GET', '/tenants/%00/limits'],
  ['POST', '/tenants/%00/quota/sync'],
  ['GET', '/%00'],
])('a NUL in a path names nothing: %s %s is 404', async (method, path, body?: unknown) => {
  expect(told(await app.api(method, path, body))).toEqual([404, 'not_found'])
})

test.each([
  '/links?q=%00',
  '/links?q=a?%00',
  '/links?cursor=%00',
  '/links?tenant=%00',
  '/links?enabled=%00',
  '/links?%00=1',
  '/tenants?cursor=%00',
  `/tenants?cursor=${Buffer.from('tenant:a\0').toString('base64url')}`,
  `/links?cursor=${Buffer.from('id:1\0').toString('base64url')}`,
  '/links/abc/clicks?from=%00',
])('a NUL in a query is 400: GET %s', async (path) => {
  expect(told(await app.api('GET', path))).toEqual([400, 'invalid'])
})

test('a NUL in a redirect is an absent code', async () => {
  for (const path of ['/%00', '/abc%00', '/abc1234?%00']) expect((await app.get(path)).status).toBe(404)
})

const beyond = [
  '9999-12-31T23:59:59-00:01',
  '9999-12-31T12:00:00-23:59',
  '0000-01-01T00:00:00+23:59',
  '0000-12-31T00:00:00Z',
]

test.each([...beyond, '10000-01-01T00:00:00Z', '+010000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z'])(
  'an expiry that could not be read back is 400, of a link and of a key: %s',
  async (expiresAt) => {
    const code = await app.create('https://example.com/')
    for (const answer of [
      await app.api('POST', '/links', { url: 'https://example.com/', expiresAt }),
      await app.api('PATCH', `/links/${code}`, { expiresAt }),
      await app.api('POST', '/tenants/acme/keys', { name: 'x', expiresAt }),
    ]) {
      expect([answer.status, answer.body['field']]).toEqual([400, 'expiresAt'])
    }
  },
)

test.each(beyond)('a range of clicks that begins or ends out of time is 400: %s', async (at) => {
  const code = await app.create('https://example.com/')
  for (const end of ['from', 'to']) {
    expect(told(await app.api('GET', `/links/${code}/clicks?${end}=${encodeURIComponent(at)}`))).toEqual([
      400,
      'invalid',
    ])
  }
})

test('the last second that can be written is an expiry, and comes back as it was', async () => {
  const answer = await app.api('POST', '/links', { url: 'https://example.com/', expiresAt: '9999-12-31T23:59:59.999Z' })
  expect(answer.body['expiresAt']).toBe('9999-12-31T23:59:59.000Z')
  const again = await app.api('PATCH', `/links/${String(answer.body['code'])}`, { expiresAt: answer.body['expiresAt'] })
  expect([again.status, again.body['expiresAt']]).toEqual([200, answer.body['expiresAt']])
})

test('a create without a Host header, as HTTP/1.0 may be, is a create', async () => {
  const body = JSON.stringify({ url: 'https://example.com/' })
  const head = `POST /api/v1/links HTTP/1.0\r\nAuthorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const socket = connect({ host: '127.0.0.1', port: app.app.port })
  let answer = ''
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text))
  socket.write(head + body)
  await once(socket, 'end')
  expect(answer).toMatch(/^HTTP\/1\.1 201 /)
})
