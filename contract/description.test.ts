// What the API says of itself, to whoever asks.
import { describe, expect, it } from 'vitest'
import { describe as description } from '../server/api/openapi.ts'
import { operations } from '../testing/operations.ts'
import { targets } from './quicklink.ts'

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()

  it('describes every operation in openapi.json, without a key', async () => {
    const answer = await ql.get('/api/v1/openapi.json')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(JSON.parse(answer.text)).toEqual(JSON.parse(JSON.stringify(description(operations))))
    expect((await ql.get('/api/v1/openapi.json', {}, 'HEAD')).text).toBe('')
    const posted = await ql.get('/api/v1/openapi.json', {}, 'POST')
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it.each(['/api/docs', '/api/v1/docs'])(
    'is to be read at %s, a page that runs no script and asks no other host',
    async (path) => {
      const { status, headers, text } = await ql.get(path)
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/)
      expect(text).not.toMatch(/<script|<link|<img|<iframe|@import|url\(| style="| on\w+="/)
      for (const { id, path } of operations) {
        expect(text).toContain(`id="${id}"`)
        expect(text).toContain(`/api/v1${path}`)
      }
      const anchors = Array.from(text.matchAll(/href="#([^"]+)"/g), ([, anchor]) => anchor)
      expect(anchors.filter((anchor) => !text.includes(`id="${anchor}"`))).toEqual([])
      expect((await ql.get(path, {}, 'POST')).status).toBe(405)
    },
  )
})
