// Many links in one request: each with its own result, as if it had been asked for alone.
import { describe, expect, it } from 'vitest'
import { times, type Api, type ApiAnswer } from '../testing/http.ts'
import { aSecond, fresh, problem, target, targets } from './quicklink.ts'

interface Result {
  readonly status: number
  readonly code?: string
  readonly link?: Readonly<Record<string, unknown>>
  readonly problem?: Readonly<Record<string, unknown>>
}
const resultsOf = ({ status, body, text }: ApiAnswer): Result[] => {
  if (status !== 200) throw new Error(text)
  return body['results'] as Result[]
}
const said = (results: readonly Result[]): string[] =>
  results.map(({ status, problem }) => [status, problem?.['code'], problem?.['field']].filter(Boolean).join(' '))

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()
  const free = await ql.tenant({ tier: 'unlimited' })
  const make = async (links: readonly unknown[], api: Api = free.api, headers = {}): Promise<Result[]> =>
    resultsOf(await api('POST', '/links/bulk', { links }, headers))
  const leadsTo = async (code: string): Promise<unknown> => (await ql.get(`/${code}`)).headers.location
  const statusOf = async (code: string): Promise<number> => (await ql.get(`/${code}`)).status

  describe('POST /links/bulk', () => {
    it('200: makes what can be made, and says of each of the others why not, in the order given', async () => {
      const [z, a, theirs] = [fresh('z'), fresh('a'), fresh('theirs')]
      await ql.create({ code: theirs })
      const results = await make([
        { url: target, code: z, title: 'Z', tags: ['bulk', 'two'] },
        { url: target },
        { url: 'ftp://example.org/' },
        { url: target, code: z },
        { url: target, code: theirs },
        { url: target, code: 'api' },
        { url: target, code: a, rules: [{ when: { os: 'ios' }, url: 'https://example.org/ios' }] },
        { url: target, unknown: 1 },
        { url: target, domain: 'none.example' },
        'nonsense',
        { url: target, expiresAt: '2001-01-01T00:00:00Z' },
      ])
      expect(said(results)).toEqual([
        '201',
        '201',
        '400 invalid url',
        '409 conflict code',
        '409 conflict code',
        '400 invalid code',
        '201',
        '400 invalid unknown',
        '404 not_found domain',
        '400 invalid link',
        '400 invalid expiresAt',
      ])
      expect(results[0]?.link).toEqual((await free.api('GET', `/links/${z}`)).body)
      expect(results[0]?.link).toMatchObject({ title: 'Z', tags: ['bulk', 'two'], createdBy: 'test' })
      expect(await leadsTo(z)).toBe(target)
      expect(await leadsTo(String(results[1]?.link?.['code']))).toBe(target)
      expect(await statusOf(a)).toBe(302)
    })

    it('200: a code that was asked for a moment ago, and was absent, is there', async () => {
      const codes = [fresh('soon'), fresh('soon')]
      for (const code of codes) expect(await statusOf(code)).toBe(404)
      await make(codes.map((code) => ({ url: target, code })))
      // As after a create of one.
      await expect.poll(() => Promise.all(codes.map(statusOf)), aSecond).toEqual([302, 302])
    })

    it('400: of none, of 1,001, and of what is no list; nothing is made', async () => {
      const none = async (body: object): Promise<string> => problem(await free.api('POST', '/links/bulk', body))
      expect(await none({ links: [] })).toBe('400 invalid links')
      expect(await none({ links: Array(1001).fill({ url: target }) })).toBe('400 invalid links')
      expect(await none({})).toBe('400 invalid links')
      expect(await none({ links: [{ url: target }], more: 1 })).toBe('400 invalid more')
      const large = { links: Array(300).fill({ url: `https://example.org/${'x'.repeat(8000)}` }) }
      expect(await none(large)).toBe('413 too_large')
    })

    it('200: takes creates of the hour and places of the tenant as single creates would, and says where the room ends', async () => {
      const few = await ql.tenant({ linkQuota: 3 })
      const results = await make(Array(10).fill({ url: target }), few.api)
      expect(said(results)).toEqual([...Array<string>(3).fill('201'), ...Array<string>(7).fill('403 quota_exceeded')])
      expect(results[3]?.problem).toMatchObject({ used: 3, limit: 3 })
      expect((await few.api('GET', '/limits')).body).toMatchObject({ links: { used: 3 }, creates: { used: 3 } })
      const [first] = results
      await few.api('DELETE', `/links/${String(first?.link?.['code'])}`)
      expect(said(await make([{ url: target }, { url: target }], few.api))).toEqual(['201', '403 quota_exceeded'])
      const standard = await ql.tenant()
      const all = await make(Array(60).fill({ url: target }), standard.api)
      expect(said(all)).toEqual([...Array<string>(50).fill('201'), ...Array<string>(10).fill('429 rate_limited')])
      expect(all[59]?.problem).toMatchObject({ limit: 50, used: 50 })
    })

    it('200: the same Idempotency-Key is the same answer, and makes nothing twice; with another body it is 409', async () => {
      const key = { 'Idempotency-Key': fresh('key') }
      const links = [{ url: target, code: fresh('once') }, { url: target }, { url: 'nonsense' }]
      const [first, second] = await times(2, () => make(links, free.api, key))
      expect(second).toEqual(first)
      expect(said(first ?? [])).toEqual(['201', '201', '400 invalid url'])
      const other = await free.api('POST', '/links/bulk', { links: [...links, { url: target }] }, key)
      expect(problem(other)).toBe('409 conflict Idempotency-Key')
      // What has made nothing is tried anew.
      const none = { 'Idempotency-Key': fresh('key') }
      const code = fresh('later')
      await ql.create({ code })
      expect(said(await make([{ url: target, code }], free.api, none))).toEqual(['409 conflict code'])
    })

    it('200: a code that its tenant has deleted is its own again', async () => {
      const code = fresh('again')
      await make([{ url: target, code }])
      await free.api('DELETE', `/links/${code}`)
      expect(said(await make([{ url: 'https://example.org/new', code }]))).toEqual(['201'])
      await expect.poll(() => leadsTo(code), aSecond).toBe('https://example.org/new')
    })
  })

  describe('PATCH and DELETE /links/bulk', () => {
    const some = async (n: number, more: object = {}): Promise<string[]> =>
      (await make(Array(n).fill({ url: target, ...more }))).map(({ link }) => String(link?.['code']))

    it("200: changes those that there are, each by its own terms; of another tenant's it is told that there is none", async () => {
      const [plain, guided] = [
        fresh('plain'),
        fresh('guided'),
        await make([{ url: target, code: 'x', tags: [] }]),
      ] as unknown as [string, string]
      await make([
        { url: target, code: plain, tags: ['a', 'B'] },
        { url: target, code: guided, rules: [{ when: { os: 'ios' }, url: 'https://example.org/ios' }] },
      ])
      const theirs = await ql.create()
      const change = { url: 'https://example.org/new', addTags: ['c'], removeTags: ['b', 'none'] }
      const codes = [guided, theirs, plain, 'no-such-link', '!', plain]
      const results = resultsOf(await free.api('PATCH', '/links/bulk', { codes, change }))
      expect(said(results)).toEqual(['200', '404 not_found', '200', '404 not_found', '404 not_found', '200'])
      expect(results[0]?.link).toMatchObject({ url: change.url, tags: ['c'], rules: [{ when: { os: 'ios' } }] })
      expect(results[2]?.link).toMatchObject({ url: change.url, tags: ['a', 'c'], revision: 1 })
      await expect.poll(() => leadsTo(plain), aSecond).toBe(change.url)
      const permanent = resultsOf(
        await free.api('PATCH', '/links/bulk', { codes: [guided, plain], change: { permanent: true } }),
      )
      expect(said(permanent)).toEqual(['400 invalid permanent', '200'])
    })

    it('200: disables and deletes, and everybody sees it; one request is one change of the hour', async () => {
      const standard = await ql.tenant()
      const made = await make(Array(5).fill({ url: target }), standard.api)
      const codes = made.map(({ link }) => String(link?.['code']))
      // Each of them is asked of Postgres, which may be busy.
      for (const code of codes) await expect.poll(() => statusOf(code), aSecond).toBe(302)
      await standard.api('PATCH', '/links/bulk', { codes, change: { enabled: false } })
      await expect.poll(() => Promise.all(codes.map(statusOf)), aSecond).toEqual(Array(5).fill(404))
      const gone = await standard.api('DELETE', '/links/bulk', { codes: [...codes, 'no-such-link'] })
      expect(said(resultsOf(gone))).toEqual([...Array<string>(5).fill('204'), '404 not_found'])
      expect(resultsOf(gone)[0]?.code).toBe(codes[0])
      const { body } = await standard.api('GET', '/limits')
      expect(body).toMatchObject({ changes: { used: 2 }, links: { used: 0 } })
    })

    it('200: by a filter, page after page, and nothing that fits no more', async () => {
      const tag = fresh('tag')
      const codes = await some(4, { tags: [tag] })
      await some(1)
      const changed = await free.api('PATCH', '/links/bulk', { filter: { tag }, change: { note: 'seen' } })
      expect(changed.body['nextCursor']).toBeNull()
      expect(resultsOf(changed).map(({ link }) => link?.['code']).sort()).toEqual([...codes].sort()) // prettier-ignore
      expect(said(resultsOf(await free.api('DELETE', '/links/bulk', { filter: { tag } })))).toEqual(
        Array(4).fill('204'),
      )
      expect(resultsOf(await free.api('DELETE', '/links/bulk', { filter: { tag } }))).toEqual([])
      const refused = async (body: object): Promise<string> => problem(await free.api('DELETE', '/links/bulk', body))
      expect(await refused({ filter: {} })).toBe('400 invalid filter')
      expect(await refused({})).toBe('400 invalid body')
      expect(await refused({ codes, filter: { tag } })).toBe('400 invalid body')
      expect(await refused({ codes, cursor: 'x' })).toBe('400 invalid cursor')
      expect(await refused({ filter: { tenant: 'owner' } })).toBe('403 forbidden')
    })

    it('of two over the same links in opposite order, ten times, none is refused', async () => {
      const codes = await some(30)
      const both = await times(10, async () => {
        const answers = await Promise.all(
          [codes, [...codes].reverse()].map((codes, n) =>
            // As two tenants' requests are: one of the owner, one of the tenant.
            (n === 0 ? ql.api : free.api)('PATCH', '/links/bulk', { codes, change: { title: `By ${n}` } }),
          ),
        )
        return answers.map(({ status }) => status)
      })
      expect(both.flat().filter((status) => ![200, 429, 503].includes(status))).toEqual([])
      expect(both.flat()).toContain(200)
    })
  })
})
