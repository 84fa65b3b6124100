// Links with rules, and links with a password.
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { fresh, target, targets, type QuickLink } from './quicklink.ts'

/** A change is seen by every process this long after it was answered. */
const promiseMs = 1000
const browser = 'text/html,application/xhtml+xml,*/*;q=0.8'
const iphone = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Safari/604.1'
const password = 'correct horse'
const secretTarget = 'https://secret.example.org/where?it=leads'

let ql: QuickLink
const post = (code: string, said: string, headers: Record<string, string> = {}) =>
  ql.send('POST', `/${code}`, new URLSearchParams({ password: said }).toString(), {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...headers,
  })
const locked = (more: object = {}): Promise<string> => ql.create({ url: secretTarget, password, ...more })

describe.each(targets)('on %s', (_name, open) => {
  beforeAll(async () => {
    ql = await open()
  })

  describe('rules', () => {
    const de = 'https://de.example.org/'
    const app = 'https://apps.example.org/ios'
    const poster = 'https://example.org/poster'
    const rules = [
      { when: { os: 'ios', language: 'de' }, url: 'https://de.example.org/ios' },
      { when: { os: 'ios' }, url: app },
      { when: { language: 'de' }, url: de },
      { when: { query: { from: 'poster' } }, url: poster },
      { when: { device: 'desktop', before: '2001-01-01T00:00:00Z' }, url: 'https://example.org/never' },
    ]

    it('the first that fits says where a visitor is led, and url where all others are', async () => {
      const code = await ql.create({ rules })
      const led = async (headers: Record<string, string>, query = ''): Promise<unknown> => {
        const { status, headers: told } = await ql.get(`/${code}${query}`, headers)
        expect([status, told['cache-control']]).toEqual([302, 'no-store'])
        return told.location
      }
      // Held by tier 1 from the second time on.
      for (let n = 0; n < 2; n++) {
        expect(await led({})).toBe(target)
        expect(await led({ 'User-Agent': iphone })).toBe(app)
        expect(await led({ 'User-Agent': iphone, 'Accept-Language': 'de-CH,de;q=0.9' })).toBe(
          'https://de.example.org/ios',
        )
        expect(await led({ 'Accept-Language': 'de' })).toBe(de)
        expect(await led({ 'Accept-Language': 'en,de;q=0.9' })).toBe(target)
        expect(await led({}, '?x=1&from=poster')).toBe(poster)
        expect(await led({}, '?from=elsewhere')).toBe(target)
      }
      const head = await ql.get(`/${code}`, { 'User-Agent': iphone }, 'HEAD')
      expect([head.status, head.headers.location, head.text]).toEqual([302, app, ''])
    })

    it('are shown as they were given, and changed as a whole', async () => {
      const given = [{ when: { after: '2030-01-31T12:00:00.000Z', before: '2031-01-31T12:00:00.000Z' }, url: de }]
      const code = await ql.create({ rules: given })
      const { body } = await ql.api('GET', `/links/${code}`)
      expect(body).toMatchObject({ url: target, rules: given, hasPassword: false, permanent: false })
      const changed = await ql.api('PATCH', `/links/${code}`, { url: 'https://example.org/else' })
      expect(changed.body).toMatchObject({ url: 'https://example.org/else', rules: given })
      for (const none of [[], null]) {
        expect((await ql.api('PATCH', `/links/${code}`, { rules })).body['rules']).toEqual(rules.map(withMillis))
        const { body } = await ql.api('PATCH', `/links/${code}`, { rules: none })
        expect(body).toMatchObject({ url: 'https://example.org/else', rules: [] })
      }
      await pause(promiseMs)
      expect((await ql.get(`/${code}`, { 'User-Agent': iphone })).headers.location).toBe('https://example.org/else')
    })

    it('count clicks and hits as any link', async () => {
      const code = await ql.create({ rules, monthlyHits: 2 })
      const statuses = []
      for (const headers of [{ 'User-Agent': iphone }, {}, {}])
        statuses.push((await ql.get(`/${code}`, headers)).status)
      expect(statuses).toEqual([302, 302, 429])
      await expect
        .poll(async () => (await ql.api('GET', `/links/${code}/hits`)).body['used'], { timeout: 20_000 })
        .toBe(2)
    })

    it.each<[string, object, string]>([
      ['an unknown condition', [{ when: { country: 'DE' }, url: de }], 'country'],
      ['no condition', [{ when: {}, url: de }], 'rules.0.when'],
      ['an unknown system', [{ when: { os: 'beos' }, url: de }], 'rules.0.when.os'],
      ['no language', [{ when: { language: 'de,en' }, url: de }], 'rules.0.when.language'],
      ['a time that is none', [{ when: { after: 'tomorrow' }, url: de }], 'rules.0.when.after'],
      [
        'an end before the beginning',
        [{ when: { after: '2031-01-01T00:00:00Z', before: '2030-01-01T00:00:00Z' }, url: de }],
        'rules.0.when',
      ],
      ['no parameter', [{ when: { query: {} }, url: de }], 'rules.0.when.query'],
      ['a URL that is none', [{ when: { os: 'ios' }, url: 'javascript:alert(1)' }], 'rules.0.url'],
      [
        'a URL of QuickLink itself',
        [
          { when: { os: 'ios' }, url: de },
          { when: { os: 'ios' }, url: 'http://localhost/x' },
        ],
        'rules.1.url',
      ],
      ['too many', Array.from({ length: 11 }, () => ({ when: { os: 'ios' }, url: de })), 'rules'],
      [
        'too long URLs',
        Array.from({ length: 3 }, () => ({ when: { os: 'ios' }, url: de + 'x'.repeat(3000) })),
        'rules',
      ],
    ])('%s is refused by its name', async (_what, rules, field) => {
      const { status, body } = await ql.api('POST', '/links', { url: target, rules })
      expect([status, body['field']]).toEqual([400, field])
    })
  })

  describe('a password', () => {
    it('is asked for by a page: no script, nothing cached, no referrer, and no form-action', async () => {
      const code = await locked()
      const { status, headers, text } = await ql.get(`/${code}`, { Accept: browser })
      expect(status).toBe(200)
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        vary: 'Accept',
      })
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['content-security-policy']).not.toContain('form-action')
      expect(text).toContain('<form method="post">')
      expect(text).not.toMatch(/<script|action=|secret\.example/)
      const head = await ql.get(`/${code}`, { Accept: browser }, 'HEAD')
      expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', headers['content-length']])
    })

    it('is a problem for a program', async () => {
      const { status, headers, text } = await ql.get(`/${await locked()}`)
      expect([status, headers['content-type']]).toEqual([401, 'application/problem+json'])
      expect(JSON.parse(text)).toMatchObject({ status: 401, code: 'password_required' })
    })

    it('that is right leads on with a 303, whatever the client; one that is not, nowhere', async () => {
      const code = await locked()
      for (const headers of [{ Accept: browser }, {}]) {
        const right = await post(code, password, headers)
        expect([right.status, right.headers.location, right.text]).toEqual([303, secretTarget, ''])
        expect(right.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      }
      const page = await post(code, 'wrong horse', { Accept: browser })
      expect([page.status, page.headers.location]).toEqual([403, undefined])
      expect(page.text).toContain('That is not the password')
      const problem = await post(code, 'wrong horse')
      expect([problem.status, JSON.parse(problem.text)]).toMatchObject([401, { code: 'password_required' }])
      const none = await ql.send('POST', `/${code}`, '', {})
      expect(none.status).toBe(401)
    })

    it('is tried ten times by an address in a quarter of an hour, also at once; one that is right does not count', async () => {
      const code = await locked()
      for (let n = 0; n < 3; n++) expect((await post(code, password)).status).toBe(303)
      const tried = await Promise.all(Array.from({ length: 14 }, () => post(code, 'wrong horse')))
      expect(tried.filter(({ status }) => status === 401)).toHaveLength(10)
      const refused = tried.filter(({ status }) => status === 429)
      expect(refused).toHaveLength(4)
      expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(800)
      // Not even the right one, until then. Another link is another matter.
      expect((await post(code, password)).status).toBe(429)
      expect((await post(await locked(), password)).status).toBe(303)
    })

    it('and where it leads is in no answer of the API', async () => {
      const code = fresh('locked')
      const made = await ql.api('POST', '/links', { code, url: secretTarget, password })
      const answers = [
        made,
        await ql.api('GET', `/links/${code}`),
        await ql.api('GET', `/links?q=${code}`),
        await ql.api('PATCH', `/links/${code}`, { enabled: true }),
        await ql.api('PATCH', `/links/${code}`, { url: `${secretTarget}&now` }),
        await ql.api('GET', `/cache/${code}`),
        await ql.api('GET', `/links?q=secret.example`),
      ]
      expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200, 200])
      for (const { text } of answers) expect(text).not.toMatch(/secret\.example|horse|scrypt/)
      expect(made.body).toMatchObject({ url: null, hasPassword: true })
      expect((await post(code, password)).headers.location).toBe(`${secretTarget}&now`)
    })

    it('is given to a link, changed and taken off again', async () => {
      const code = await ql.create()
      expect((await ql.get(`/${code}`)).headers.location).toBe(target)
      expect((await ql.api('PATCH', `/links/${code}`, { password })).body).toMatchObject({
        url: null,
        hasPassword: true,
      })
      await pause(promiseMs)
      expect((await ql.get(`/${code}`)).status).toBe(401)
      expect((await post(code, password)).headers.location).toBe(target)
      await ql.api('PATCH', `/links/${code}`, { password: 'another horse' })
      expect((await post(code, password)).status).toBe(401)
      expect((await post(code, 'another horse')).headers.location).toBe(target)
      const { body } = await ql.api('PATCH', `/links/${code}`, { password: null })
      expect(body).toMatchObject({ url: target, hasPassword: false })
      await pause(promiseMs)
      expect((await ql.get(`/${code}`)).headers.location).toBe(target)
      expect((await post(code, 'another horse')).status).toBe(405)
    })

    it('takes a hit and a click when it was right, and not before', async () => {
      const code = await locked({ monthlyHits: 1 })
      await ql.get(`/${code}`)
      await post(code, 'wrong horse')
      expect((await post(code, password)).status).toBe(303)
      expect((await post(code, password)).status).toBe(429)
      // Another worker than the one that answers may have it for a second.
      const told = async (path: string, field: string) => (await ql.api('GET', `/links/${code}${path}`)).body[field]
      await expect.poll(() => told('/hits', 'used'), { timeout: 20_000 }).toBe(1)
      await expect.poll(() => told('', 'clicks'), { timeout: 20_000 }).toBe(1)
    })

    it('of a link that is disabled, or was deleted and made again, opens nothing', async () => {
      const code = fresh('again')
      await ql.api('POST', '/links', { code, url: secretTarget, password })
      await ql.api('PATCH', `/links/${code}`, { enabled: false })
      await pause(promiseMs)
      expect([(await ql.get(`/${code}`)).status, (await post(code, password)).status]).toEqual([404, 405])
      await ql.api('DELETE', `/links/${code}`)
      await ql.api('POST', '/links', { code, url: target, password: 'another horse' })
      await pause(promiseMs)
      expect((await post(code, password)).status).toBe(401)
      expect((await post(code, 'another horse')).headers.location).toBe(target)
    })

    it('has 8 characters at least, and its form so many bytes at most', async () => {
      const { status, body } = await ql.api('POST', '/links', { url: target, password: 'seven77' })
      expect([status, body['field']]).toEqual([400, 'password'])
      const large = await post(await locked(), 'x'.repeat(5000))
      expect(large.status).toBe(413)
    })

    it('keeps an Idempotency-Key to its request', async () => {
      const key = { 'Idempotency-Key': fresh('key') }
      const first = await ql.api('POST', '/links', { url: secretTarget, password }, key)
      const again = await ql.api('POST', '/links', { url: secretTarget, password }, key)
      expect([first.status, again.body]).toEqual([201, first.body])
      expect((await ql.api('POST', '/links', { url: secretTarget }, key)).status).toBe(409)
    })
  })

  it('rules and a password are not for one link, and neither is permanent', async () => {
    const rules = [{ when: { os: 'ios' }, url: target }]
    const refused: [object, string][] = [
      [{ rules, password }, 'rules'],
      [{ rules, permanent: true }, 'permanent'],
      [{ password, permanent: true }, 'permanent'],
    ]
    for (const [more, field] of refused) {
      const { status, body } = await ql.api('POST', '/links', { url: target, ...more })
      expect([status, body['field']]).toEqual([400, field])
    }
    const code = await locked()
    for (const [patch, field] of [
      [{ permanent: true }, 'permanent'],
      [{ rules }, 'rules'],
    ] as const) {
      const { status, body } = await ql.api('PATCH', `/links/${code}`, patch)
      expect([status, body['field']]).toEqual([400, field])
    }
    expect((await ql.api('PATCH', `/links/${code}`, { rules, password: null })).body).toMatchObject({
      url: secretTarget,
    })
  })

  it("a visitor's query is said to where they lead, where the link has it so", async () => {
    const rules = [{ when: { os: 'ios' }, url: 'https://example.org/ios?a=1' }]
    const code = await ql.create({ rules, forwardQuery: true })
    expect((await ql.get(`/${code}?b=2`, { 'User-Agent': iphone })).headers.location).toBe(
      'https://example.org/ios?a=1&b=2',
    )
    const closed = await locked({ forwardQuery: true })
    expect((await post(`${closed}?b=2`, password)).headers.location).toBe(`${secretTarget}&b=2`)
  })
})

const withMillis = (rule: { when: Record<string, unknown>; url: string }) => ({
  ...rule,
  when: Object.fromEntries(
    Object.entries(rule.when).map(([name, value]) => [name, name === 'before' ? '2001-01-01T00:00:00.000Z' : value]),
  ),
})
