// Files whose senders are slow, endless, wrong or many: what they are told, and that nobody else notices.
import { once } from 'node:events'
import { request as openRequest, type ClientRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { newTenant, type Api, type ApiAnswer } from '../../testing/http.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, handInPsql, waitFor } from '../../testing/services.ts'

let names = 0
const fresh = (word: string): string => `${word}${++names}`

const databaseUrl = await freshDatabase()
const tiers = { standard: { links: 10, lifeDays: 30, monthlyHits: 5, createsPerHour: 1 } }
const app = await startTestApp({
  databaseUrl,
  env: { IMPORT_MAX_MB: '1', TIERS: JSON.stringify(tiers) },
})
const sql = handInPsql(databaseUrl)

const csv = { 'Content-Type': 'text/csv' }
const send = (file: string | Buffer, api: Api = app.api, headers: Record<string, string> = csv): Promise<ApiAnswer> =>
  api('POST', '/imports', file, headers)
const problem = ({ status, body }: Pick<ApiAnswer, 'status' | 'body'>): string =>
  `${status} ${String(body['code'])}: ${String(body['detail'])}`

async function done(answer: ApiAnswer, api: Api = app.api): Promise<Record<string, unknown>> {
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)])
  const at = `/imports/${String(answer.body['id'])}`
  await waitFor(async () => ['done', 'failed'].includes(String((await api('GET', at)).body['state'])), { deadlineMs: 60_000 }) // prettier-ignore
  return (await api('GET', at)).body
}

/** A request whose body is sent bit by bit. */
function dripping(key = app.key): {
  request: ClientRequest
  answer: Promise<{ status: number; body: ApiAnswer['body'] }>
} {
  const request = openRequest(`${app.url}/api/v1/imports`, { method: 'POST', headers: { ...csv, Authorization: `Bearer ${key}` } }) // prettier-ignore
  const answer = once(request, 'response').then(async (heard) => {
    const response = heard[0] as IncomingMessage
    return { status: response.statusCode ?? 0, body: JSON.parse(await text(response)) as ApiAnswer['body'] }
  })
  answer.catch(() => undefined)
  return { request, answer }
}

it('a file that comes a byte at a time is taken, and redirects go on beside it', async () => {
  const code = await app.create('https://example.org/beside')
  // The first one waits for a connection to Postgres.
  await waitFor(async () => (await app.get(`/${code}`)).status === 302)
  const own = fresh('drip')
  const { request, answer } = dripping()
  for (const byte of `code,url\n${own},https://example.org/ä\n`) {
    request.write(byte)
    expect((await app.get(`/${code}`)).status).toBe(302)
  }
  request.end()
  const { status, body } = await answer
  expect(status).toBe(202)
  await done({ status, body, text: '' } as ApiAnswer)
  expect((await app.get(`/${own}`)).headers.location).toBe('https://example.org/%C3%A4')
})

it('while a file is coming its tenant sends no other; others do, and who breaks off leaves nothing', async () => {
  const [one, other] = [await newTenant(app, fresh('tenant')), await newTenant(app, fresh('tenant'))]
  const { request } = dripping(one.key)
  request.on('error', () => undefined).write('code,url\n')
  await waitFor(async () => (await send('url\nhttps://example.org/\n', one.api)).status === 429)
  expect(problem(await send('url\nhttps://example.org/\n', one.api))).toMatch(
    /^429 rate_limited: Another file of this tenant/,
  )
  expect((await send('url\nhttps://example.org/\n', other.api)).status).toBe(202)
  request.destroy()
  await waitFor(async () => (await sql.query(`select from imports where tenant = $1`, [one.id])).length === 0)
  await waitFor(async () => (await send('url\nhttps://example.org/\n', one.api)).status === 202)
})

it.each([
  ['that is larger than IMPORT_MAX_MB', `url\n${'x'.repeat(1_100_000)}`, csv, /^413 too_large: A file must not be larger than 1 MB/],
  ['of latin1 bytes', Buffer.from('code,url,title\na,https://example.org/,Grün\n', 'latin1'), csv, /^400 invalid: body must be UTF-8 text/],
  ['of UTF-16', Buffer.from('\ufeffcode,url\na,https://example.org/\n', 'utf16le'), csv, /^400 invalid: body must be UTF-8 text/],
  ['that breaks off within a character', Buffer.from([...Buffer.from('url\nhttps://example.org/'), 0xc3]), csv, /^400 invalid: body must be UTF-8/],
  ['of a picture', Buffer.from([0x89, 0x50, 0x4e, 0x47]), { 'Content-Type': 'image/png' }, /^415 unsupported_format: The body must be a file/],
  ['that is packed', 'x', { ...csv, 'Content-Encoding': 'gzip' }, /^415 unsupported_format: The body must come without/],
  ['of nothing', '', csv, /^4(00|15) /],
  ['of a header alone', 'code,url\n', csv, /^400 invalid: body has no links/],
  ['of something else', 'name,age\nx,1\n', csv, /^415 unsupported_format: This is none of the files/],
  ['with one endless field', `code,url\na,"${'x'.repeat(900_000)}`, csv, /^400 invalid: body has a row of more than 131072 characters/],
  ['with 100,000 columns', `url${',c'.repeat(100_000)}\nhttps://example.org/\n`, csv, /^400 invalid: body /],
])('a file %s is refused with a sentence, and nothing of it is kept', async (_, file, headers, sentence) => {
  expect(problem(await send(file, app.api, headers))).toMatch(sentence)
  expect(await sql.query(`select from imports where state = 'receiving'`)).toEqual([])
}) // prettier-ignore

it('a NUL, half a character, and what is longer than it may be are refused row by row, and are in the list', async () => {
  const good = fresh('good')
  const rows = [
    JSON.stringify({ code: good, url: 'https://example.org/' }),
    '{"code":"nul1","url":"https://example.org/","title":"a\\u0000b"}',
    '{"code":"half1","url":"https://example.org/","note":"\\ud800"}',
    JSON.stringify({ code: 'long1', url: `https://example.org/${'x'.repeat(9000)}` }),
    JSON.stringify({ code: 'deep1', url: 'https://example.org/', tags: [['x']] }),
    JSON.stringify({ code: 'tags1', url: 'https://example.org/', tags: Array.from({ length: 21 }, String) }),
    '{"code":"type1","url":{"a":1}}',
    '{"__proto__":{"url":"https://example.org/"},"code":"proto"}',
  ]
  const answer = await done(await send(rows.join('\n')))
  expect(answer).toMatchObject({ state: 'done', created: 1, refused: 7 })
  const list = (await app.api('GET', `/imports/${String(answer['id'])}/refused`)).text.split('\r\n')
  expect(list.slice(1).map((line) => line.split(',')[0])).toEqual(['2', '3', '4', '5', '6', '7', '8', ''])
})

it('a quota that ends in the middle refuses the rest, and the terms of the tier hold', async () => {
  const { id, api } = await newTenant(app, fresh('tenant'))
  await api('POST', '/links', { url: 'https://example.org/' })
  const file = `code,url,expiresAt,monthlyHits\n${Array.from({ length: 12 }, (_, n) => `${id}-${n},https://example.org/,,`).join('\n')}\n`
  const answer = await done(await send(`${file}${id}-late,https://example.org/,2990-01-01T00:00:00Z,\n${id}-much,https://example.org/,,1000000\n${id}-over,https://example.org/,2001-01-01T00:00:00Z,\n`, api), api) // prettier-ignore
  expect(answer).toMatchObject({ state: 'done', created: 9, refused: 6 })
  const list = (await api('GET', `/imports/${String(answer['id'])}/refused`)).text
  expect(list).toMatch(/This tenant has all of its 10 links/)
  expect(list).toMatch(/expiresAt must be at most 30 days ahead/)
  expect(list).toMatch(/monthlyHits must be at most 5/)
  const { body } = await api('GET', `/links/${id}-0`)
  expect(body).toMatchObject({ monthlyHits: 5, tenant: id })
  expect(Date.parse(String(body['expiresAt'])) - Date.now()).toBeLessThan(31 * 86_400_000)
  expect((await api('GET', '/limits')).body).toMatchObject({ links: { used: 10, limit: 10 } })
})

it('nobody sees, reads or ends the import of another tenant', async () => {
  const [one, other] = [await newTenant(app, fresh('tenant')), await newTenant(app, fresh('tenant'))]
  const { id } = await done(await send('url\nhttps://example.org/\n', one.api), one.api)
  const at = `/imports/${String(id)}`
  for (const path of [at, `${at}/refused`]) expect((await other.api('GET', path)).status).toBe(404)
  expect((await other.api('DELETE', at)).status).toBe(404)
  expect((await other.api('GET', '/imports')).body['items']).toEqual([])
  expect(problem(await other.api('GET', `/imports?tenant=${one.id}`))).toMatch(/^403 forbidden/)
  expect(problem(await other.api('POST', `/imports?tenant=${one.id}`, 'url\nhttps://example.org/\n', csv))).toMatch(/^403 forbidden/) // prettier-ignore
  expect((await app.api('GET', `/imports?tenant=${one.id}&limit=1`)).body['items']).toHaveLength(1)
  expect((await one.api('DELETE', at)).status).toBe(204)
  expect((await one.api('GET', at)).status).toBe(404)
})

it('the owner imports for a tenant, whose links they are, at a domain where it may make some', async () => {
  const { id, api } = await newTenant(app, fresh('tenant'))
  const own = await app.api('POST', `/imports?tenant=${id}`, `code,url\n${id}-for,https://example.org/\n`, csv)
  await done(own)
  expect((await api('GET', `/links/${id}-for`)).body).toMatchObject({ tenant: id })
  expect((await app.api('POST', '/imports?tenant=nobody', 'url\nhttps://example.org/\n', csv)).status).toBe(404)
  await app.api('POST', '/domains', { host: 'go.example.com' })
  const file = `code,domain,shortUrl,url\n${id}-at,go.example.com,,https://example.org/\n${id}-none,other.example.com,,https://example.org/\n`
  const answer = await done(await send(file, api), api)
  const list = (await api('GET', `/imports/${String(answer['id'])}/refused`)).text
  expect(list).toMatch(/This tenant may not make links at go\.example\.com/)
  expect(list).toMatch(/There is no domain other\.example\.com/)
  await app.api('PATCH', '/domains/go.example.com', { tenants: [id] })
  expect(await done(await send(file, api), api)).toMatchObject({ created: 1, refused: 1 })
  expect((await api('GET', `/links/${id}-at?domain=go.example.com`)).status).toBe(200)
  expect(await done(await api('POST', '/imports?domain=go.example.com', `url\nhttps://example.org/\n`, csv), api)).toMatchObject({ created: 1, domain: 'go.example.com' }) // prettier-ignore
})

it('a link that had a password keeps that of the same link here, or arrives disabled and is listed', async () => {
  const [kept, lost, told] = [fresh('pw'), fresh('pw'), fresh('pw')]
  await app.create('https://example.org/secret', { code: kept, password: 'correct horse' })
  const file = `code,url,hasPassword,title\n${kept},,true,Kept\n${lost},,true,\n${told},https://example.org/told,true,\n`
  const answer = await done(await app.api('POST', '/imports?onConflict=replace', file, csv))
  expect(answer).toMatchObject({ created: 2, replaced: 1, warned: 2 })
  expect((answer['warnings'] as { code: string }[]).map(({ code }) => code)).toEqual([lost, told])
  const opened = async () => {
    const body = new URLSearchParams({ password: 'correct horse' })
    const { status, headers } = await fetch(`${app.url}/${kept}`, { method: 'POST', redirect: 'manual', body })
    return [status, headers.get('location')]
  }
  expect(await opened()).toEqual([303, 'https://example.org/secret'])
  // A file of another shortener, which says nothing of passwords.
  await done(await app.api('POST', '/imports?onConflict=replace', `code,url\n${kept},https://example.org/new\n`, csv))
  expect((await app.get(`/${kept}`)).headers.location).toBeUndefined()
  expect(await opened()).toEqual([303, 'https://example.org/new'])
  for (const code of [lost, told]) {
    expect((await app.api('GET', `/links/${code}`)).body).toMatchObject({
      enabled: false,
      hasPassword: true,
      url: null,
    })
  }
  await app.api('PATCH', `/links/${told}`, { enabled: true, password: null })
  expect((await app.get(`/${told}`)).headers.location).toBe('https://example.org/told')
})
