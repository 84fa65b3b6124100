// GET and HEAD /{code}, one block per status.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { quickLink, target } from './quicklink.ts'

/** A change is seen by every process this long after it was answered. */
const promiseMs = 1000

const ql = await quickLink()

/** Each connection may be another worker's: so often that all of them are asked. */
async function everywhere(code: string, status: number): Promise<void> {
  const answers = await Promise.all(Array.from({ length: 20 }, () => ql.get(`/${code}`)))
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([status]))
}

describe('302', () => {
  it('sends to the link, byte for byte, uncacheable, with no RateLimit fields', async () => {
    const { status, headers, text } = await ql.get(`/${await ql.create()}`)
    expect([status, headers.location, headers['cache-control'], text]).toEqual([302, target, 'no-store', ''])
    expect(Object.keys(headers).filter((name) => name.includes('ratelimit'))).toEqual([])
  })
  it('by a custom code of each length and letter', async () => {
    for (const code of ['abc', 'A-b_9', `c-${'x'.repeat(62)}`]) {
      await ql.create({ code })
      expect((await ql.get(`/${code}`)).status).toBe(302)
      await ql.api('DELETE', `/links/${code}`)
    }
  })
  it('ignores a query', async () => {
    const { status, headers } = await ql.get(`/${await ql.create()}?utm_source=x`)
    expect([status, headers.location]).toEqual([302, target])
  })
  it("says a query to a target that wants it, before the fragment; what both name is the visitor's", async () => {
    const code = await ql.create({ url: 'https://example.org/p?a=1&b=%20#part', forwardQuery: true })
    for (const [asked, told] of [
      ['', '?a=1&b=%20#part'],
      ['?', '?a=1&b=%20#part'],
      ['?c=3&a=2', '?b=%20&c=3&a=2#part'],
      ['?%0d%0aX:y=1"', '?a=1&b=%20&%0d%0aX:y=1%22#part'],
    ]) {
      const { status, headers } = await ql.get(`/${code}${asked}`)
      expect([status, headers.location, headers['cache-control']]).toEqual([
        302,
        `https://example.org/p${told}`,
        'no-store',
      ])
    }
    const long = await ql.get(`/${code}?${'x'.repeat(5000)}`)
    expect(long.status).toBe(400)
    expect(long.text).toContain('at most 4096 characters')
    await vi.waitFor(async () => expect((await ql.api('GET', `/links/${code}`)).body['clicks']).toBe(4), 10_000)
  })
  it('answers HEAD like GET', async () => {
    const code = await ql.create()
    const [head, get] = [await ql.get(`/${code}`, {}, 'HEAD'), await ql.get(`/${code}`)]
    const { date: _, ...headHeaders } = head.headers
    const { date: __, ...getHeaders } = get.headers
    expect([head.status, headHeaders]).toEqual([get.status, getHeaders])
  })
  it.each([
    ['https://bücher.example/straße?ü=ä#ö', 'https://xn--bcher-kva.example/stra%C3%9Fe?%C3%BC=%C3%A4#%C3%B6'],
    ['https://例え.jp/道', 'https://xn--r8jz45g.jp/%E9%81%93'],
    ['https://example.org/%0d%0aSet-Cookie:%20a=b', 'https://example.org/%0d%0aSet-Cookie:%20a=b'],
    ['https://example.org/"quotes" and spaces', 'https://example.org/%22quotes%22%20and%20spaces'],
  ])('%s comes back as the WHATWG URL serialises it', async (url, serialised) => {
    const { headers } = await ql.get(`/${await ql.create({ url })}`)
    expect(headers.location).toBe(serialised)
    expect(headers['set-cookie']).toBeUndefined()
  })
})

describe('a link with a beginning, and one with an expiredUrl', () => {
  const over = 'https://example.org/over'
  /** Whole seconds, as ends are. */
  const inSeconds = (seconds: number): string => new Date(Math.floor(Date.now() / 1000 + seconds) * 1000).toISOString()

  it('404 until it begins, then it redirects by itself, wherever it was cached', async () => {
    const startsAt = inSeconds(4)
    const code = await ql.create({ startsAt })
    while (Date.now() < Date.parse(startsAt) - 1000) await everywhere(code, 404)
    // The clock is Postgres', which is this machine's.
    await pause(Date.parse(startsAt) + 500 - Date.now())
    await everywhere(code, 302)
  })

  it('is sent there from its end on, uncacheable, without a click', async () => {
    const expiresAt = inSeconds(4)
    const code = await ql.create({ permanent: true, expiresAt, expiredUrl: over })
    await everywhere(code, 301)
    await pause(Date.parse(expiresAt) + 500 - Date.now())
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await ql.get(`/${code}?a=1`, {}, method)
      expect([status, headers.location, headers['cache-control']]).toEqual([302, over, 'no-store'])
    }
    await vi.waitFor(async () => expect((await ql.api('GET', `/links/${code}`)).body['clicks']).toBe(20), 10_000)
  })

  it("is sent there when the month's hits are used up, and no sooner", async () => {
    const code = await ql.create({ monthlyHits: 2, expiredUrl: over })
    const told = []
    for (let n = 0; n < 4; n++) told.push((await ql.get(`/${code}`)).headers.location)
    expect(told).toEqual([target, target, over, over])
    // The other worker writes what it has counted once a second.
    const hits = async () => (await ql.api('GET', `/links/${code}/hits`)).body
    await vi.waitFor(async () => expect(await hits()).toMatchObject({ used: 2, remaining: 0 }), 10_000)
  })

  it('is 404 all the same when it is disabled or deleted', async () => {
    const code = await ql.create({ monthlyHits: 1, expiredUrl: over })
    await ql.get(`/${code}`)
    await everywhere(code, 302)
    await ql.api('PATCH', `/links/${code}`, { enabled: false })
    await pause(promiseMs)
    await everywhere(code, 404)
  })
})

describe('301', () => {
  it('for a permanent link, cacheable by the visitor for 90 s', async () => {
    const { status, headers } = await ql.get(`/${await ql.create({ permanent: true })}`)
    expect([status, headers.location, headers['cache-control']]).toEqual([301, target, 'private, max-age=90'])
  })
})

describe('200', () => {
  it.each([
    ['/', 'text/html'],
    ['/?from=here', 'text/html'],
    ['/robots.txt', 'text/plain'],
    ['/favicon.ico', 'image/'],
  ])('for %s, which is no link and costs no look-up', async (path, type) => {
    const { status, headers } = await ql.get(path)
    expect([status, headers['content-type']]).toEqual([200, expect.stringContaining(type)])
  })
})

describe('404', () => {
  it.each([
    ...['/nothing1', '/ab', '/with.dot', '/with%20space', '/a/b', `/${'x'.repeat(65)}`, '/robots'],
    ...['/%00', '/%00%00%00', '/abc%00', '/abc1234?%00'],
  ])('%s', async (path) => {
    expect((await ql.get(path)).status).toBe(404)
  })
  it('for a disabled, a deleted and an expired link, and never again its target', async () => {
    const [disabled, deleted] = [await ql.create(), await ql.create()]
    const endsMs = Date.now() + 3000
    const expiring = await ql.create({ expiresAt: new Date(endsMs).toISOString() })
    for (const code of [expiring, disabled, deleted]) await everywhere(code, 302)
    await ql.api('PATCH', `/links/${disabled}`, { enabled: false })
    await ql.api('DELETE', `/links/${deleted}`)
    await pause(Math.max(promiseMs, endsMs - Date.now()))
    for (const code of [disabled, deleted, expiring]) await everywhere(code, 404)
  })
  it('comes back to life when it is enabled', async () => {
    const code = await ql.create({ enabled: false })
    await everywhere(code, 404)
    await ql.api('PATCH', `/links/${code}`, { enabled: true })
    await pause(promiseMs)
    await everywhere(code, 302)
  })
  it('is a page for a browser, and a problem for a program', async () => {
    const page = await ql.get('/nothing2', { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
    expect(page.headers['content-type']).toContain('text/html')
    const problem = await ql.get('/nothing2')
    expect(problem.headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(problem.text)).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('405', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s', async (method) => {
    const { status, headers } = await ql.get('/abc1234', {}, method)
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD'])
  })
})

describe('503', () => {
  // What brings it about takes servers that fail: see server/app.integration.test.ts.
  it('is never the answer while everything is up', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => ql.get(`/absent-${n}`)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
  })
})
