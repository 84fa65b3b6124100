// What the API of links does when it does what it is asked; what it refuses is in refusals.test.ts.
// Long because each field and filter has its claim.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { waitFor } from '../testing/services.ts'
import { times, type Api } from '../testing/http.ts'
import { fresh, pages, problem, target, targets, type Item } from './quicklink.ts'

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
const itemsOf = async (api: Api, query = 'limit=100'): Promise<string[]> =>
  ((await api('GET', `/links?${query}`)).body['items'] as Item[]).map(({ code }) => code)

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()

  describe('POST /links', () => {
    it('201: the link with every field, where it is, and a code of seven Base62 characters', async () => {
      const { status, headers, body } = await ql.api('POST', '/links', { url: target })
      const code = String(body['code'])
      expect(status).toBe(201)
      expect([headers.location, headers['cache-control']]).toEqual([`/api/v1/links/${code}`, 'no-store'])
      expect(body).toEqual({
        code: expect.stringMatching(/^[0-9A-Za-z]{7}$/) as string,
        shortUrl: `${ql.publicUrl}/${code}`,
        url: target,
        permanent: false,
        enabled: true,
        ...{ domain: null, startsAt: null, expiresAt: null, expiredUrl: null, forwardQuery: false, monthlyHits: null },
        ...{ state: 'active', title: null, note: null, tags: [], rules: [], hasPassword: false },
        clicks: 0,
        tenant: 'owner',
        createdBy: 'Owner',
        revision: 0,
        version: expect.any(Number) as number,
        createdAt: time,
        updatedAt: time,
      })
      expect((await ql.api('GET', `/links/${code}`)).body).toEqual(body)
    })

    it('201: every field is kept, the URL as WHATWG serialises it, and time cut to the second that expiry is exact to', async () => {
      const { id, api } = await ql.tenant({ tier: 'unlimited' })
      const asked = { code: fresh('My_Slug'), permanent: true, enabled: false, monthlyHits: 10 }
      const url = 'https://bücher.example/käse?q=日本#é'
      const { body } = await api('POST', '/links', { ...asked, url, expiresAt: '2099-01-31T14:30:00.750+02:00' })
      expect(body).toMatchObject({ ...asked, expiresAt: '2099-01-31T12:30:00.000Z', tenant: id })
      expect(body['url']).toBe('https://xn--bcher-kva.example/k%C3%A4se?q=%E6%97%A5%E6%9C%AC#%C3%A9')
    })

    it('201: the last second that can be written is an expiry, and comes back as it was', async () => {
      const { body } = await ql.api('POST', '/links', { url: target, expiresAt: '9999-12-31T23:59:59.999Z' })
      const { code, expiresAt } = body
      expect(expiresAt).toBe('9999-12-31T23:59:59.000Z')
      const again = await ql.api('PATCH', `/links/${String(code)}`, { expiresAt })
      expect([again.status, again.body['expiresAt']]).toEqual([200, expiresAt])
    })

    it('no way leads into a header: whatever is accepted as a URL has no line break in it', async () => {
      for (const attempt of [
        '\r\nX: y',
        '%0d%0aX: y',
        '\\r\\nX: y',
        '\u560d\u560aX: y',
        '#\r\n',
        '?\n',
        '\u2028X: y',
      ]) {
        const answer = await ql.api('POST', '/links', { url: `https://example.com/${attempt}` })
        if (answer.status === 201) expect(answer.body['url']).toMatch(/^[\x21-\x7e]+$/)
        else expect(problem(answer)).toBe('400 invalid url')
      }
    })

    it('200 creates at once get 200 codes', async () => {
      // As a client that is told 503 with Retry-After: four connections may not be enough for all of them on a busy machine.
      const created = async (): Promise<unknown> => {
        for (;;) {
          const { status, body } = await ql.api('POST', '/links', { url: target })
          if (status !== 503) return body['code']
          await pause(100 + Math.random() * 200)
        }
      }
      expect(new Set(await times(200, created)).size).toBe(200)
    })

    it('of 20 who want one code at once, one gets it', async () => {
      const body = { url: target, code: fresh('wanted') }
      const answers = await times(20, () => ql.api('POST', '/links', body))
      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array<number>(19).fill(409)])
    })
  })

  describe('an Idempotency-Key', () => {
    const withKey = (api: Api, key: string, body: unknown): ReturnType<Api> =>
      api('POST', '/links', body, { 'Idempotency-Key': key })

    it('gives the same 201, to the byte, and makes no second link', async () => {
      const { api } = await ql.tenant({ tier: 'unlimited' })
      const first = await withKey(api, 'again', { url: target, expiresAt: '2099-01-01T00:00:00Z' })
      await api('PATCH', `/links/${String(first.body['code'])}`, { url: 'https://example.org/else' })
      const second = await withKey(api, 'again', `{ "expiresAt": "2099-01-01T00:00:00Z",  "url": "${target}" }`)
      expect([second.status, second.text, second.headers.location]).toEqual([201, first.text, first.headers.location])
      expect(await itemsOf(api)).toEqual([first.body['code']])
    })

    it('sent twenty times at once makes one link', async () => {
      const { api } = await ql.tenant()
      const answers = await times(20, () => withKey(api, 'at-once', { url: target }))
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201))
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      expect(await itemsOf(api)).toHaveLength(1)
    })

    it('with another body is 409; of another tenant, or after a request that failed, it is another one', async () => {
      const [mine, theirs] = [await ql.tenant(), await ql.tenant()]
      const first = await withKey(mine.api, 'shared', { url: target })
      expect(problem(await withKey(mine.api, 'shared', { url: target, permanent: true }))).toMatch(/^409 conflict/)
      const other = await withKey(theirs.api, 'shared', { url: target })
      expect([other.status, other.body['code'] === first.body['code']]).toEqual([201, false])
      const code = await ql.create({ code: fresh('occupied') })
      expect((await withKey(mine.api, 'failed', { url: target, code })).status).toBe(409)
      expect((await withKey(mine.api, 'failed', { url: target })).status).toBe(201)
    })

    it('of 255 characters is fine', async () => {
      expect((await withKey(ql.api, fresh('~'.repeat(200)).padEnd(255, '~'), { url: target })).status).toBe(201)
    })
  })

  describe('a link', () => {
    it('200: PATCH changes what it names, and nothing else; the owner may change every link', async () => {
      const { id, api } = await ql.tenant({ tier: 'unlimited' })
      const asked = { url: target, monthlyHits: 5, expiresAt: '2099-01-01T00:00:00Z' }
      const { body: before } = await api('POST', '/links', asked)
      const path = `/links/${String(before['code'])}`
      const { status, body } = await api('PATCH', path, { url: 'https://example.org/ö', expiresAt: null })
      const changed = { url: 'https://example.org/%C3%B6', expiresAt: null, version: expect.any(Number) as number }
      expect([status, body]).toEqual([200, { ...before, ...changed, updatedAt: time }])
      expect(body['version']).toBeGreaterThan(before['version'] as number)
      const disabled = await ql.api('PATCH', path, { enabled: false })
      expect(disabled).toMatchObject({ status: 200, body: { tenant: id, enabled: false } })
      for (const by of [ql.api, api]) expect((await by('GET', path)).body).toEqual(disabled.body)
    })

    it('200: it begins before it ends, by either change, and every field of both is kept and taken back', async () => {
      const asked = { startsAt: '2098-01-01T00:00:00.900Z', expiresAt: '2099-01-01T00:00:00Z', forwardQuery: true }
      const { body } = await ql.api('POST', '/links', { url: target, ...asked, expiredUrl: 'https://example.org/ö' })
      expect(body).toMatchObject({
        startsAt: '2098-01-01T00:00:00.000Z',
        expiresAt: '2099-01-01T00:00:00.000Z',
        expiredUrl: 'https://example.org/%C3%B6',
        forwardQuery: true,
      })
      const path = `/links/${String(body['code'])}`
      for (const change of [
        { startsAt: '2099-01-01T00:00:00Z' },
        { expiresAt: '2098-01-01T00:00:00Z' },
        { startsAt: '2100-01-01T00:00:01Z', expiresAt: '2100-01-01T00:00:01Z' },
      ])
        expect(problem(await ql.api('PATCH', path, change))).toBe('400 invalid startsAt')
      const later = { startsAt: '2100-01-01T00:00:00.000Z', expiresAt: '2101-01-01T00:00:00.000Z' }
      expect(await ql.api('PATCH', path, later)).toMatchObject({ status: 200, body: later })
      const none = { startsAt: null, expiredUrl: null, forwardQuery: false }
      expect(await ql.api('PATCH', path, none)).toMatchObject({ status: 200, body: none })
      expect((await ql.api('GET', path)).body).toMatchObject({ ...none, expiresAt: later.expiresAt })
    })

    it('200: PATCH is a merge patch, by either media type', async () => {
      const code = await ql.create()
      for (const [type, enabled] of [
        ['application/merge-patch+json', false],
        ['application/json', true],
      ] as const) {
        const answer = await ql.api('PATCH', `/links/${code}`, { enabled }, { 'Content-Type': type })
        expect(answer).toMatchObject({ status: 200, body: { enabled } })
      }
    })

    it('412: what has changed since it was read is neither changed nor deleted by whoever says what he has read', async () => {
      const made = await ql.api('POST', '/links', { url: target })
      const path = `/links/${String(made.body['code'])}`
      const read = await ql.api('GET', path)
      const tag = String(read.headers.etag)
      expect([made.headers.etag, tag]).toEqual([tag, `"${String(read.body['version'])}.0"`])
      const change = (by: string, url: string) => ql.api('PATCH', path, { url }, { 'If-Match': by })
      const mine = await change(tag, 'https://example.org/mine')
      expect([mine.status, mine.headers.etag === tag]).toEqual([200, false])
      expect(problem(await change(tag, 'https://example.org/theirs'))).toBe('412 precondition_failed If-Match')
      expect(problem(await ql.api('DELETE', path, undefined, { 'If-Match': tag }))).toBe(
        '412 precondition_failed If-Match',
      )
      expect(problem(await change(`W/${String(mine.headers.etag)}`, 'https://example.org/x'))).toMatch(/^412/)
      expect((await ql.api('GET', path)).body).toEqual(mine.body)
      // It is no token for a 304: clicks change without it.
      expect((await ql.api('GET', path, undefined, { 'If-None-Match': String(mine.headers.etag) })).status).toBe(200)
      expect((await change(`"0.0", ${String(mine.headers.etag)}`, 'https://example.org/again')).status).toBe(200)
      expect((await ql.api('DELETE', path, undefined, { 'If-Match': '*' })).status).toBe(204)
      expect(problem(await change('*', target))).toBe('404 not_found')
    })

    it('of 10 changes at once of what all have read, one is made', async () => {
      const made = await ql.api('POST', '/links', { url: target })
      const change = () =>
        ql.api(
          'PATCH',
          `/links/${String(made.body['code'])}`,
          { enabled: false },
          { 'If-Match': String(made.headers.etag) },
        )
      const answers = await times(10, change)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(412)])
    })

    it('204: DELETE, and then 404; its tenant may have the code again, at once and as another link, nobody else', async () => {
      const [mine, theirs] = [await ql.tenant(), await ql.tenant()]
      const code = fresh('deleted')
      const create = (api: Api, more = {}): ReturnType<Api> => api('POST', '/links', { url: target, code, ...more })
      const first = await create(mine.api, { permanent: true })
      const deleted = await mine.api('DELETE', `/links/${code}`)
      expect([deleted.status, deleted.text]).toEqual([204, ''])
      for (const asked of ['GET', 'DELETE', 'PATCH']) {
        const body = asked === 'PATCH' ? { enabled: true } : undefined
        expect(problem(await mine.api(asked, `/links/${code}`, body))).toBe('404 not_found')
      }
      expect(problem(await mine.api('GET', `/links/${code}/clicks`))).toBe('404 not_found')
      for (const api of [theirs.api, ql.api]) expect(problem(await create(api))).toBe('409 conflict code')
      const again = await create(mine.api)
      expect(again).toMatchObject({ status: 201, body: { permanent: false, clicks: 0 } })
      expect(again.body['version']).toBeGreaterThan(first.body['version'] as number)
    })

    it('200: has no clicks before the first one, and shows the owner what each tier holds of it', async () => {
      const code = await ql.create()
      const clicks = await ql.api('GET', `/links/${code}/clicks`)
      expect(clicks).toMatchObject({ status: 200, body: { total: 0, buckets: [] } })
      expect(await ql.api('GET', `/cache/${code}`)).toMatchObject({ status: 200, body: { code } })
    })
  })

  describe('GET /links', () => {
    it('pages newest first, each link once, whatever is created in between', async () => {
      const { api } = await ql.tenant()
      const make = async (): Promise<string> => String((await api('POST', '/links', { url: target })).body['code'])
      const codes: string[] = []
      for (let n = 0; n < 7; n++) codes.unshift(await make())
      const [gone] = codes.splice(3, 1)
      await api('DELETE', `/links/${gone}`)
      const seen: string[] = []
      for await (const page of pages(api, '/links?limit=2')) {
        expect(page.length).toBeLessThanOrEqual(2)
        seen.push(...page.map(({ code }) => code))
        await make()
      }
      expect(seen).toEqual(codes)
    })

    it('a cursor is 400 in any list but its own', async () => {
      const [mine, theirs] = [await ql.tenant(), await ql.tenant()]
      for (let n = 0; n < 3; n++) await mine.api('POST', '/links', { url: target })
      const cursor = String((await mine.api('GET', '/links?limit=1')).body['nextCursor'])
      expect((await mine.api('GET', `/links?cursor=${cursor}`)).status).toBe(200)
      // What another tenant, or the owner over all tenants, was told is no place in this list.
      for (const api of [theirs.api, ql.api]) {
        expect(problem(await api('GET', `/links?cursor=${cursor}`))).toBe('400 invalid cursor')
      }
      // The owner may leaf through the tenant's own list.
      expect(await itemsOf(ql.api, `tenant=${mine.id}&cursor=${cursor}`)).toHaveLength(2)
    })

    it('filters by text, without wildcards, by state and, for the owner, by tenant', async () => {
      const { id, api } = await ql.tenant()
      const [sure, off] = [fresh('Sure_Thing'), fresh('off')]
      await api('POST', '/links', { url: 'https://example.com/100%25_sure', code: sure })
      await api('POST', '/links', { url: 'https://example.com/other', code: off, enabled: false })
      // A server builds the index for parts of words beside its work.
      await waitFor(async () => (await itemsOf(api, 'q=e_T')).length === 1, { deadlineMs: 30_000 })
      for (const [query, ...found] of [
        ['q=sure', sure],
        ['q=100%2525_', sure],
        ['q=s_r'],
        ['q=%25', sure],
        ['q=%5C'],
        ['q=', off, sure],
        ['enabled=false', off],
        ['enabled=true', sure],
        [`tenant=${id}`, off, sure],
      ] as const) {
        expect([query, ...(await itemsOf(api, query))]).toEqual([query, ...found])
      }
      expect(await itemsOf(ql.api, `tenant=${id}`)).toEqual([off, sure])
      expect(await itemsOf(ql.api, 'tenant=nobody')).toEqual([])
    })
  })
})
