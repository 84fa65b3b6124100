// What is told about a link beside where it leads: its QR code, and a page that shows the address.
import { describe, expect, it } from 'vitest'
import { aSecond, quickLink, target } from './quicklink.ts'

const ql = await quickLink()

describe.each([
  ['svg', 'image/svg+xml', /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="300" height="300" /],
  ['png', 'image/png', /^.PNG\r\n/s],
])('GET /{code}.%s', (form, type, beginning) => {
  it('is a picture that a cache may keep, and nothing in it runs', async () => {
    const { status, headers, text } = await ql.get(`/${await ql.create()}.${form}`)
    expect([status, headers['content-type']]).toEqual([200, type])
    expect(text).toMatch(beginning)
    expect(headers).toMatchObject({
      'cache-control': 'public, max-age=3600',
      'content-security-policy': "default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
  })
  it('answers HEAD like GET, without the picture', async () => {
    const path = `/${await ql.create()}.${form}?size=100`
    const [head, get] = [await ql.get(path, {}, 'HEAD'), await ql.get(path)]
    expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', get.headers['content-length']])
  })
  it('takes size, margin, level and two colours, and says what is wrong with them', async () => {
    const code = await ql.create()
    const plain = await ql.get(`/${code}.${form}?size=500&margin=0&level=H`)
    const colored = await ql.get(`/${code}.${form}?size=500&margin=0&level=H&color=7a1010&background=fff4d6`)
    expect([plain.status, colored.status, plain.text === colored.text]).toEqual([200, 200, false])
    for (const [query, detail] of [
      ['size=9999', 'size must be a whole number from 50 to 2000.'],
      ['color=%22red', 'color must be six hexadecimal digits, without a #, such as 000000.'],
      [
        'color=ffffff&background=000000',
        'color must be darker than background, by a contrast of at least 4: cameras do not read it otherwise.',
      ],
    ]) {
      const { status, text } = await ql.get(`/${code}.${form}?${query}`)
      expect([status, JSON.parse(text)]).toMatchObject([400, { detail }])
    }
  })
  it('is 404 where the link is absent, disabled, deleted or over, and 405 for other methods', async () => {
    const code = await ql.create()
    expect((await ql.get(`/never-made.${form}`)).status).toBe(404)
    expect((await ql.get(`/a/b.${form}`)).status).toBe(404)
    expect((await ql.get(`/.${form}`)).status).toBe(404)
    await ql.api('PATCH', `/links/${code}`, { enabled: false })
    await expect.poll(async () => (await ql.get(`/${code}.${form}`)).status, aSecond).toBe(404)
    expect((await ql.get(`/${code}.${form}`, {}, 'POST')).status).toBe(405)
  })
})

describe('GET /{code}+', () => {
  it('is 404 until the tenant allows it, then shows where the link leads, and nothing in it runs', async () => {
    const tenant = await ql.tenant()
    const { body } = await tenant.api('POST', '/links', { url: `${target}&b=<i>'` })
    const path = `/${String(body['code'])}+`
    expect((await ql.get(path)).status).toBe(404)
    expect((await ql.api('PATCH', `/tenants/${tenant.id}`, { preview: true })).body['preview']).toBe(true)
    const { status, headers, text } = await ql.get(path)
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain('href="https://example.org/somewhere?a=1&#38;b=%3Ci%3E%27"')
    expect(text).not.toContain('<script')
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; /,
    )
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    await ql.api('PATCH', `/tenants/${tenant.id}`, { preview: false })
    expect((await ql.get(path)).status).toBe(404)
  })
  it('never shows where a link leads that is disabled, has not begun or is over', async () => {
    const tenant = await ql.tenant({ preview: true })
    const make = async (more: object): Promise<string> =>
      String((await tenant.api('POST', '/links', { url: target, ...more })).body['code'])
    const disabled = await make({ enabled: false })
    const early = await make({ startsAt: new Date(Date.now() + 3_600_000).toISOString() })
    const over = await make({})
    expect((await ql.get(`/${over}+`)).status).toBe(200)
    for (const aside of [`${disabled}+`, `${early}+`, `${early}.svg`]) {
      expect([aside, (await ql.get(`/${aside}`)).status]).toEqual([aside, 404])
    }
    await tenant.api('PATCH', `/links/${over}`, { expiresAt: new Date(Date.now() + 2000).toISOString() })
    await expect.poll(async () => (await ql.get(`/${over}+`)).status, { timeout: 20_000 }).toBe(404)
  })
})

it('neither is a click or a hit', async () => {
  const tenant = await ql.tenant({ preview: true })
  const { body } = await tenant.api('POST', '/links', { url: target, monthlyHits: 1 })
  const code = String(body['code'])
  for (const aside of ['.svg', '.png', '+']) expect((await ql.get(`/${code}${aside}`)).status).toBe(200)
  expect((await ql.get(`/${code}`)).status).toBe(302)
  expect((await ql.get(`/${code}`)).status).toBe(429)
  // The one click is seen; none that came before it is missing then.
  const clicks = async (): Promise<unknown> => (await tenant.api('GET', `/links/${code}/clicks?by=day`)).body['total']
  await expect.poll(clicks, { timeout: 20_000 }).toBe(1)
})
