// What people say of a link (title, note, tags), and how it is found by that.
import { beforeAll, describe, expect, it } from 'vitest'
import { times, type Api } from '../testing/http.ts'
import { fresh, pages, problem, target, targets, type Item } from './quicklink.ts'

const codes = async (api: Api, query: string): Promise<string[]> =>
  ((await api('GET', `/links?${query}`)).body['items'] as Item[]).map(({ code }) => code)
const tagsOf = async (api: Api): Promise<unknown> => (await api('GET', '/tags')).body['items']

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()
  const make = async (api: Api, more: object = {}): Promise<string> =>
    String((await api('POST', '/links', { url: target, ...more })).body['code'])

  describe('a link', () => {
    it('201: keeps title, note and tags, trimmed, each tag once whatever its case, and says which key made it', async () => {
      const { api } = await ql.tenant()
      const said = { title: ' Frühling 🌷 ', note: 'First line\n\tsecond line ', tags: [' Sale', 'SALE', 'a/b', 'ünï'] }
      const made = await api('POST', '/links', { url: target, ...said })
      expect([made.status, made.headers.etag]).toEqual([201, `"${String(made.body['version'])}.0"`])
      expect(made.body).toMatchObject({
        title: 'Frühling 🌷',
        note: 'First line\n\tsecond line',
        tags: ['a/b', 'Sale', 'ünï'],
        createdBy: 'test',
        revision: 0,
        state: 'active',
      })
      expect((await api('GET', `/links/${String(made.body['code'])}`)).body).toEqual(made.body)
      // The first spelling of a tag stays.
      expect((await api('POST', '/links', { url: target, tags: ['sALE', 'Ünï'] })).body['tags']).toEqual([
        'Sale',
        'ünï',
      ])
    })

    it('200: a change of them is a new revision and another ETag, and the version stays', async () => {
      const { api } = await ql.tenant()
      const { body: before, headers } = await api('POST', '/links', { url: target, title: 'One', tags: ['a', 'b'] })
      const path = `/links/${String(before['code'])}`
      const retitled = await api('PATCH', path, { title: 'Two', note: 'n' }, { 'If-Match': String(headers.etag) })
      const { updatedAt } = retitled.body
      expect(retitled).toMatchObject({ status: 200, headers: { etag: `"${String(before['version'])}.1"` } })
      expect(retitled.body).toEqual({ ...before, title: 'Two', note: 'n', revision: 1, updatedAt })
      expect(Date.parse(String(updatedAt))).toBeGreaterThanOrEqual(Date.parse(String(before['updatedAt'])))
      const lost = await api('PATCH', path, { title: 'Three' }, { 'If-Match': String(headers.etag) })
      expect(problem(lost)).toBe('412 precondition_failed If-Match')
      const lostToo = await api('DELETE', path, undefined, { 'If-Match': String(headers.etag) })
      expect(problem(lostToo)).toBe('412 precondition_failed If-Match')
      const both = await api('PATCH', path, { tags: ['b', 'c'], title: null, note: '', enabled: false })
      expect(both.body).toMatchObject({ tags: ['b', 'c'], title: null, note: null, revision: 2, state: 'disabled' })
      expect(both.body['version']).toBeGreaterThan(before['version'] as number)
      expect((await api('PATCH', path, { tags: [] })).body).toMatchObject({ tags: [], revision: 3 })
    })

    it('of 10 changes of its title at once by what all have read, one is made', async () => {
      const made = await ql.api('POST', '/links', { url: target })
      const path = `/links/${String(made.body['code'])}`
      const change = () => ql.api('PATCH', path, { title: 'mine' }, { 'If-Match': String(made.headers.etag) })
      const answers = await times(10, change)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(412)])
    })

    it('200: the owner tags the link of a tenant with the tags of that tenant', async () => {
      const { id, api } = await ql.tenant()
      const code = await make(api, { tags: ['Theirs'] })
      const { body } = await ql.api('PATCH', `/links/${code}`, { tags: ['theirs', 'more'] })
      expect(body['tags']).toEqual(['more', 'Theirs'])
      expect((await ql.api('GET', `/tags?tenant=${id}`)).body['items']).toEqual(await tagsOf(api))
    })
  })

  describe('tags', () => {
    it('200: are listed with their links, without those that are deleted', async () => {
      const { api } = await ql.tenant()
      expect(await tagsOf(api)).toEqual([])
      const [gone] = [await make(api, { tags: ['b', 'a'] }), await make(api, { tags: ['b'] })]
      await api('DELETE', `/links/${gone}`)
      expect(await tagsOf(api)).toEqual([
        { tag: 'a', links: 0 },
        { tag: 'b', links: 1 },
      ])
    })

    it('200: are listed a page at a time, and the next one is found when the last of the one before is gone', async () => {
      const { api } = await ql.tenant()
      await make(api, { tags: ['b', 'ä', 'a', 'c', 'D'] })
      const page = async (cursor = ''): Promise<[string[], string | null]> => {
        const { body } = await api('GET', `/tags?limit=2${cursor && `&cursor=${cursor}`}`)
        return [(body['items'] as { tag: string }[]).map(({ tag }) => tag), body['nextCursor'] as string | null]
      }
      const [first, afterB] = await page()
      await api('DELETE', '/tags/b')
      const [second, afterD] = await page(afterB ?? '')
      expect([first, second, await page(afterD ?? '')]).toEqual([
        ['a', 'b'],
        ['c', 'D'],
        [['ä'], null],
      ])
    })

    it('200: one is renamed on all its links; an existing name merges the two', async () => {
      const { api } = await ql.tenant()
      const [first, second, both] = [
        await make(api, { tags: ['old'] }),
        await make(api, { tags: ['other'] }),
        await make(api, { tags: ['old', 'other'] }),
      ]
      const rename = (tag: string, name: string) => api('PATCH', `/tags/${encodeURIComponent(tag)}`, { name })
      expect((await rename('OLD', 'New, or'.replace(',', ''))).body).toEqual({ tag: 'New or', links: 2 })
      expect((await rename('new or', 'NEW')).body).toEqual({ tag: 'NEW', links: 2 })
      const { body } = await api('GET', `/links/${first}`)
      expect([body['tags'], body['revision']]).toEqual([['NEW'], 0])
      expect((await rename('new', 'OTHER')).body).toEqual({ tag: 'other', links: 3 })
      expect(await tagsOf(api)).toEqual([{ tag: 'other', links: 3 }])
      expect(await codes(api, 'tag=Other')).toEqual([both, second, first])
      expect((await api('GET', `/links/${both}`)).body['tags']).toEqual(['other'])
    })

    it('204: one is taken off all its links', async () => {
      const { api } = await ql.tenant()
      const code = await make(api, { tags: ['a', 'b/c'] })
      expect((await api('DELETE', `/tags/${encodeURIComponent('B/C')}`)).status).toBe(204)
      expect((await api('GET', `/links/${code}`)).body['tags']).toEqual(['a'])
      expect(problem(await api('DELETE', `/tags/${encodeURIComponent('b/c')}`))).toBe('404 not_found')
    })

    it("404: another tenant's", async () => {
      const [mine, theirs] = [await ql.tenant(), await ql.tenant()]
      await make(mine.api, { tags: ['mine'] })
      expect(problem(await theirs.api('DELETE', '/tags/mine'))).toBe('404 not_found')
      expect(problem(await theirs.api('PATCH', '/tags/mine', { name: 'theirs' }))).toBe('404 not_found')
      expect(await codes(theirs.api, 'tag=mine')).toEqual([])
    })

    it('of 20 links that bring one new tag at once, each has it', async () => {
      const { api } = await ql.tenant()
      const answers = await times(20, () => api('POST', '/links', { url: target, tags: ['new', 'newer'] }))
      for (const { status, body } of answers) expect([status, body['tags']]).toEqual([201, ['new', 'newer']])
      expect(await tagsOf(api)).toEqual([
        { tag: 'new', links: 20 },
        { tag: 'newer', links: 20 },
      ])
    })
  })

  describe('GET /links', () => {
    let api: Api
    const [one, two, three] = [fresh('one'), fresh('two'), fresh('three')]
    const createdAt = new Map<string, string>()
    beforeAll(async () => {
      const tenant = await ql.tenant()
      api = tenant.api
      const admin = await ql.api('POST', `/tenants/${tenant.id}/keys`, { name: 'Their Laptop' })
      const laptop = ql.as(String(admin.body['key']))
      for (const [by, code, more] of [
        [api, one, { url: 'https://bücher.example/Käse', tags: ['x'], title: 'The Äpfel of One' }],
        [laptop, two, { enabled: false, tags: ['x', 'y'] }],
        [api, three, { title: '100%_sure' }],
      ] as const) {
        const { body } = await by('POST', '/links', { url: target, code, ...more })
        createdAt.set(code, String(body['createdAt']))
      }
      // Changed last is the first of them.
      await api('PATCH', `/links/${one}`, { note: 'changed' })
    })
    const at = (code: string): string => encodeURIComponent(createdAt.get(code) ?? '')

    it.each([
      ['sort=newest', () => [three, two, one]],
      ['sort=oldest', () => [one, two, three]],
      ['sort=updated', () => [one, three, two]],
      ['sort=updated&tag=X', () => [one, two]],
      ['sort=clicks&limit=100', () => [three, two, one]],
      ['tag=x', () => [two, one]],
      ['tag=X&sort=oldest', () => [one, two]],
      ['tag=nothing', () => []],
      ['tag=x&enabled=true', () => [one]],
      ['tag=x&createdBy=test', () => [one]],
      ['state=active', () => [three, one]],
      ['state=disabled', () => [two]],
      ['state=expired', () => []],
      ['state=scheduled', () => []],
      ['enabled=false', () => [two]],
      ['createdBy=Their%20Laptop', () => [two]],
      ['createdBy=test&sort=oldest', () => [one, three]],
      ['createdBy=test&state=active&sort=updated', () => [one, three]],
      [`url=${encodeURIComponent('https://bücher.example/Käse')}`, () => [one]],
      [`url=${encodeURIComponent(target)}&sort=oldest`, () => [two, three]],
      ['url=https://example.org/', () => []],
      ['q=%C3%84pfel%20OF', () => [one]],
      ['q=%25_s', () => [three]],
      ['q=xn--b', () => [one]],
      ['q=apf', () => []],
    ] as const)('answers %s', async (query, expected) => {
      // A server builds the indexes for parts of words beside its work.
      await expect.poll(() => codes(api, query), { timeout: 90_000 }).toEqual(expected())
    })

    it('knows what is to begin and what has ended', async () => {
      const { api } = await ql.tenant({ tier: 'unlimited' })
      const soonMs = Date.now() + 1500
      const [begins, ends, off] = [
        await make(api, { startsAt: '2099-01-01T00:00:00Z', expiresAt: '2099-01-02T00:00:00Z' }),
        await make(api, { expiresAt: new Date(soonMs + 1000).toISOString(), expiredUrl: target }),
        await make(api, { startsAt: '2099-01-01T00:00:00Z', enabled: false }),
      ]
      const stateOf = async (code: string): Promise<unknown> => (await api('GET', `/links/${code}`)).body['state']
      await expect.poll(() => stateOf(ends), { timeout: 10_000 }).toBe('expired')
      expect([await stateOf(begins), await stateOf(off)]).toEqual(['scheduled', 'disabled'])
      expect(await codes(api, 'state=expired')).toEqual([ends])
      expect(await codes(api, 'state=scheduled')).toEqual([begins])
      expect(await codes(api, 'state=disabled')).toEqual([off])
      expect(await codes(api, 'state=active')).toEqual([])
    })

    it('takes the time of creation from then on, and before', async () => {
      expect(await codes(api, `createdAfter=${at(two)}`)).toEqual([three, two])
      expect(await codes(api, `createdBefore=${at(two)}&sort=oldest`)).toEqual([one])
      expect(await codes(api, `createdAfter=${at(two)}&createdBefore=${at(three)}`)).toEqual([two])
      expect(await codes(api, `tag=x&createdAfter=${at(two)}`)).toEqual([two])
      expect(await codes(api, `sort=updated&createdBefore=${at(three)}`)).toEqual([one, two])
    })

    it.each(['newest', 'oldest', 'updated', 'clicks'])(
      'has each link once, sorted by %s, whatever the pages',
      async (sort) => {
        const { api } = await ql.tenant()
        for (let n = 0; n < 7; n++) await make(api, { tags: n % 2 ? ['odd'] : ['even'] })
        for (const filter of [
          '',
          '&tag=even',
          '&enabled=true',
          `&url=${encodeURIComponent(target)}`,
          '&createdBy=test&tag=odd',
        ]) {
          const whole = await codes(api, `sort=${sort}${filter}`)
          const seen: string[] = []
          for await (const page of pages(api, `/links?limit=2&sort=${sort}${filter}`))
            seen.push(...page.map(({ code }) => code))
          expect([filter, seen]).toEqual([filter, whole])
        }
      },
    )

    it('400: a cursor of another sort, or of other filters', async () => {
      const cursor = String((await api('GET', '/links?limit=1&tag=x')).body['nextCursor'])
      expect(await codes(api, `limit=2&tag=x&cursor=${cursor}`)).toEqual([one])
      for (const query of ['', '&tag=y', '&tag=x&sort=oldest', '&tag=x&q=o']) {
        expect(problem(await api('GET', `/links?limit=1${query}&cursor=${cursor}`))).toBe('400 invalid cursor')
      }
    })

    it("is everybody's for the owner, by the same filters", async () => {
      const word = fresh('shared').toLowerCase()
      const [first, second] = [await ql.tenant(), await ql.tenant()]
      const made = [
        await make(first.api, { tags: [word] }),
        await make(second.api, { tags: [word] }),
        await make(first.api),
      ]
      expect(await codes(ql.api, `tag=${word}`)).toEqual([made[1], made[0]])
      expect(await codes(ql.api, `tag=${word}&tenant=${first.id}`)).toEqual([made[0]])
      expect(await codes(ql.api, `sort=updated&limit=3`)).toEqual(made.toReversed())
    })
  })
})
