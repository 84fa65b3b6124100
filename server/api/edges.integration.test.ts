// Where the API begins and ends, before Postgres has been reached and after. What it refuses behind that is in contract/.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startTestApp, type Answer } from '../../testing/app.ts'
import { freshDatabase } from '../../testing/services.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
const starting = await startTestApp({ databaseUrl, booted: false, key: app.key })

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
