// /api/v1/links, one block per status.
import { beforeAll, describe, expect, it } from 'vitest'
import { quickLink, target, type QuickLink } from './quicklink.ts'

let ql: QuickLink
beforeAll(async () => {
  ql = await quickLink()
})

const problem = (status: number, code: string) => ({ status, body: { status, code } })

describe('201', () => {
  it('the link, with every field, and where it is', async () => {
    const { status, headers, body } = await ql.api('POST', '/links', { url: target })
    expect(status).toBe(201)
    expect(headers.location).toBe(`/api/v1/links/${String(body['code'])}`)
    expect(body).toEqual({
      code: expect.stringMatching(/^[0-9A-Za-z]{7}$/) as string,
      shortUrl: expect.stringMatching(new RegExp(`^https?://.+/${String(body['code'])}$`)) as string,
      url: target,
      permanent: false,
      enabled: true,
      expiresAt: null,
      monthlyHits: null,
      clicks: 0,
      tenant: 'owner',
      version: expect.any(Number) as number,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      updatedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    })
  })
  it('once, for the same Idempotency-Key', async () => {
    const again = () => ql.api('POST', '/links', { url: target }, { 'Idempotency-Key': 'contract-1' })
    const [first, second] = [await again(), await again()]
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.text).toBe(first.text)
  })
})

describe('200', () => {
  it('reads, lists and changes', async () => {
    const code = await ql.create({ code: 'contract-200' })
    expect(await ql.api('GET', `/links/${code}`)).toMatchObject({ status: 200, body: { code, url: target } })
    const changed = await ql.api('PATCH', `/links/${code}`, { url: 'https://example.org/else' })
    expect(changed).toMatchObject({ status: 200, body: { url: 'https://example.org/else' } })
    const page = await ql.api('GET', '/links?limit=1&q=contract-200')
    expect(page).toMatchObject({ status: 200, body: { items: [{ code }], nextCursor: null } })
    const clicks = await ql.api('GET', `/links/${code}/clicks`)
    expect(clicks).toMatchObject({ status: 200, body: { total: 0, buckets: [] } })
    const first = await ql.api('GET', '/links?limit=1')
    expect(first.body['nextCursor']).toMatch(/^[0-9A-Za-z_-]+$/)
    const next = await ql.api('GET', `/links?limit=1&cursor=${String(first.body['nextCursor'])}`)
    expect(next).toMatchObject({ status: 200, body: { items: [{ url: expect.any(String) as string }] } })
    expect(await ql.api('GET', `/cache/${code}`)).toMatchObject({ status: 200, body: { code } })
  })
})

describe('GET /limits', () => {
  it('says what of each limit is used; the owner has none', async () => {
    const none = { limit: null, used: null, remaining: null, resetsAt: null }
    expect(await ql.api('GET', '/limits')).toMatchObject({
      status: 200,
      body: {
        tier: 'unlimited',
        creates: none,
        changes: none,
        aggregate: { limit: null, near: null },
        links: { limit: null },
      },
    })
  })
})

describe('204', () => {
  it('deletes, and lets the same tenant have the code again, at once and as another link', async () => {
    const code = await ql.create({ code: 'contract-204' })
    expect((await ql.api('DELETE', `/links/${code}`)).status).toBe(204)
    expect((await ql.api('GET', `/links/${code}`)).status).toBe(404)
    expect(await ql.create({ code, url: 'https://example.org/again' })).toBe(code)
  })
})

describe('400', () => {
  it.each<[string, unknown, string]>([
    ['no url', {}, 'url'],
    ['a number', { url: 5 }, 'url'],
    ['javascript:', { url: 'javascript:alert(1)' }, 'url'],
    ['data:', { url: 'data:text/html,x' }, 'url'],
    ['relative', { url: '/somewhere' }, 'url'],
    ['credentials', { url: 'https://user:secret@example.org/' }, 'url'],
    ['9 kB', { url: `https://example.org/${'x'.repeat(9000)}` }, 'url'],
    ['a newline', { url: 'https://example.org/\r\nSet-Cookie: a=b' }, 'url'],
    ['a control character', { url: 'https://example.org/\u0000' }, 'url'],
    ['an unknown field', { url: target, color: 'red' }, 'color'],
    ['a short code', { url: target, code: 'ab' }, 'code'],
    ['a reserved code', { url: target, code: 'metrics' }, 'code'],
    ['the past', { url: target, expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    ['no hits', { url: target, monthlyHits: 0 }, 'monthlyHits'],
  ])('%s', async (_, body, field) => {
    const answer = await ql.api('POST', '/links', body)
    expect(answer).toMatchObject({ ...problem(400, 'invalid'), body: { field } })
    expect(answer.headers['content-type']).toBe('application/problem+json')
  })
  it('no JSON', async () => {
    const answer = await ql.raw('POST', '/links', '{"url":', { 'Content-Type': 'application/json' })
    expect(answer).toMatchObject(problem(400, 'invalid'))
  })
})

describe('401', () => {
  it.each([undefined, 'Bearer wrong', 'Basic b3duZXI6', 'Bearer '])('%s', async (authorization) => {
    const answer = await ql.api('GET', '/links', undefined, { Authorization: authorization ?? '' })
    expect(answer).toMatchObject(problem(401, 'unauthorized'))
    expect(answer.headers['www-authenticate']).toContain('Bearer')
  })
})

describe('404', () => {
  it.each(['/links/nothing1', '/links/nothing1/clicks', '/nowhere'])('%s', async (path) => {
    expect(await ql.api('GET', path)).toMatchObject(problem(404, 'not_found'))
  })
})

describe('405', () => {
  it('says what is allowed', async () => {
    const { status, headers } = await ql.api('PUT', '/links', { url: target })
    expect([status, headers.allow]).toEqual([405, expect.stringContaining('POST')])
  })
})

describe('409', () => {
  it('for a code that is taken', async () => {
    const code = await ql.create({ code: 'contract-409' })
    expect(await ql.api('POST', '/links', { url: target, code })).toMatchObject(problem(409, 'conflict'))
  })
  it('for an Idempotency-Key with another body', async () => {
    const key = { 'Idempotency-Key': 'contract-409' }
    await ql.api('POST', '/links', { url: target }, key)
    const answer = await ql.api('POST', '/links', { url: 'https://example.org/else' }, key)
    expect(answer).toMatchObject(problem(409, 'conflict'))
  })
})

describe('413', () => {
  it('for a megabyte', async () => {
    const answer = await ql.api('POST', '/links', { url: `https://example.org/${'x'.repeat(1024 * 1024)}` })
    expect(answer).toMatchObject(problem(413, 'too_large'))
  })
})
