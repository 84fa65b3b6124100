// A link that is there already, in place of another one to the same URL.
import { describe, expect, it } from 'vitest'
import { fresh, problem, targets } from './quicklink.ts'

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()

  describe('POST /links?onExisting=return', () => {
    const at = (n: number) => `https://example.org/existing/${n}/${Math.random()}`

    it('200: the plain link of this tenant to the same URL, as it is, and none more', async () => {
      const { api } = await ql.tenant()
      const url = at(1)
      const first = await api('POST', '/links?onExisting=return', { url, title: 'First' })
      expect(first.status).toBe(201)
      const again = await api('POST', '/links?onExisting=return', { url, title: 'Again' })
      expect([again.status, again.body]).toEqual([200, first.body])
      expect([again.headers.location, again.headers.etag]).toEqual([first.headers.location, first.headers.etag])
      expect((await api('GET', '/limits')).body).toMatchObject({ creates: { used: 1 }, links: { used: 1 } })
      expect((await api('POST', '/links', { url })).status).toBe(201)
    })

    it.each([
      ['begins later', { startsAt: new Date(Date.now() + 3_600_000).toISOString() }],
      ['has an end of its own', { expiresAt: new Date(Date.now() + 86_400_000).toISOString() }],
      ['leads on after its end', { expiredUrl: 'https://example.org/over' }],
      ['passes queries on', { forwardQuery: true }],
      ['is permanent', { permanent: true }],
      ['has fewer hits', { monthlyHits: 5 }],
      ['is disabled', { enabled: false }],
    ])('201: a link that %s is not meant', async (_what, more) => {
      const { api } = await ql.tenant()
      const url = at(2)
      expect((await api('POST', '/links', { url, ...more })).status).toBe(201)
      expect((await api('POST', '/links?onExisting=return', { url })).status).toBe(201)
    })

    it('201: a link that ends is not meant where links have no end', async () => {
      const url = at(4)
      const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
      expect((await ql.api('POST', '/links', { url, expiresAt })).status).toBe(201)
      expect((await ql.api('POST', '/links?onExisting=return', { url })).status).toBe(201)
      expect((await ql.api('POST', '/links?onExisting=return', { url })).status).toBe(200)
    })

    it("201: another tenant's link is not meant, nor one that was deleted", async () => {
      const { api } = await ql.tenant()
      const other = await ql.tenant()
      const url = at(3)
      await other.api('POST', '/links', { url })
      const mine = await api('POST', '/links?onExisting=return', { url })
      expect(mine.status).toBe(201)
      await api('DELETE', `/links/${String(mine.body['code'])}`)
      expect((await api('POST', '/links?onExisting=return', { url })).status).toBe(201)
      expect(problem(await api('POST', '/links?onExisting=keep', { url }))).toBe('400 invalid onExisting')
      for (const [field, value] of Object.entries({ code: fresh('own'), enabled: false, expiresAt: null })) {
        expect(problem(await api('POST', '/links?onExisting=return', { url, [field]: value }))).toBe(
          `400 invalid ${field}`,
        )
      }
    })
  })
})
