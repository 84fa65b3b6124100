// What is exported and imported again is what it was: of all but passwords.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newTenant } from '../../testing/http.ts'
import { search, searches } from '../../testing/search.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, waitFor } from '../../testing/services.ts'

type Shown = Record<string, unknown>
const differs = ['version', 'revision', 'updatedAt', 'tenant', 'shortUrl']
const same = (link: Shown): Shown =>
  Object.fromEntries(Object.entries(link).filter(([name]) => !differs.includes(name)))

it('an export, imported when its links are gone, gives the same export', searches, async () => {
  const app = await startTestApp({ databaseUrl: await freshDatabase() })
  let n = 0
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((text) => text.trim() !== '' && text.isWellFormed())
  const awkward = fc.oneof(text, fc.constantFrom('=1+1', "'quoted", '-x', '@y', '+z', 'a "b", c', 'ä;ö', "''"))
  const plain = awkward.filter((text) => !/[\p{Cc}\u2028\u2029]/u.test(text))
  const link = fc.record({
    url: fc.webUrl({ withQueryParameters: true, withFragments: true }),
    title: fc.option(plain),
    note: fc.option(fc.oneof(plain, fc.constant('two\nlines\tand "more", =1'))),
    tags: fc.uniqueArray(
      plain.map((tag) => tag.replace(/[,|]/g, '').trim()).filter((tag) => tag !== ''),
      { maxLength: 3, selector: (tag) => tag.normalize('NFC').toLowerCase() },
    ),
    permanent: fc.boolean(),
    enabled: fc.boolean(),
    forwardQuery: fc.boolean(),
    startsAt: fc.option(fc.constant('2031-02-03T04:05:06Z')),
    expiresAt: fc.option(fc.constant('2040-02-03T04:05:06Z')),
    expiredUrl: fc.option(fc.constant('https://example.org/over')),
    monthlyHits: fc.option(fc.integer({ min: 1, max: 1e6 })),
  })
  await search(
    'an export imported',
    fc.asyncProperty(
      fc.array(link, { minLength: 1, maxLength: 6 }),
      fc.constantFrom('csv', 'ndjson'),
      async (links, format) => {
        const from = await newTenant(app, `from${++n}`, { tier: 'unlimited' })
        for (const [i, body] of links.entries()) {
          const answer = await from.api('POST', '/links', {
            ...body,
            code: i % 2 === 0 ? `-${n}-${i}` : undefined,
            ...(i === 1 ? { permanent: false, rules: [{ when: { os: 'ios' }, url: 'https://example.org/ios' }] } : {}),
          })
          expect([answer.status, answer.text]).toEqual([201, expect.any(String)])
        }
        const read = async (key: string, format: string): Promise<string> => {
          let text = ''
          // One export of a tenant at a time.
          await waitFor(async () => {
            const answer = await fetch(`${app.url}/api/v1/links/export?format=${format}`, {
              headers: { Authorization: `Bearer ${key}` },
            })
            text = await answer.text()
            return answer.status === 200
          })
          return text
        }
        const file = await read(from.key, format)
        const before = (await read(from.key, 'ndjson'))
          .trim()
          .split('\n')
          .map((line) => same(JSON.parse(line) as Shown))
        for (const { code } of before) expect((await from.api('DELETE', `/links/${String(code)}`)).status).toBe(204)
        // Only its own tenant may have the code again at once.
        const { body } = await from.api('POST', '/imports', file, {
          'Content-Type': format === 'csv' ? 'text/csv' : 'application/x-ndjson',
        })
        await waitFor(async () => (await from.api('GET', `/imports/${String(body['id'])}`)).body['state'] === 'done', {
          deadlineMs: 30_000,
        })
        const after = (await read(from.key, 'ndjson'))
          .trim()
          .split('\n')
          .map((line) => same(JSON.parse(line) as Shown))
        expect(after).toEqual(before)
      },
    ),
    12,
  )
})
