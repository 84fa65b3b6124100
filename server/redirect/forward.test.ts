import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { search, searches } from '../../testing/search.ts'
import { limits } from '../limits.ts'
import { withQuery } from './forward.ts'

const target = 'https://example.org/p/a?a=1&b=%20&a=2&flag#part?x=y'

describe("a visitor's query", () => {
  it.each([
    ['', target],
    ['&&', target],
    ['c=3', 'https://example.org/p/a?a=1&b=%20&a=2&flag&c=3#part?x=y'],
    ['a=9', 'https://example.org/p/a?b=%20&flag&a=9#part?x=y'],
    ['%61=9&b=+', 'https://example.org/p/a?flag&%61=9&b=+#part?x=y'],
    ['flag=1&flag=2', 'https://example.org/p/a?a=1&b=%20&a=2&flag=1&flag=2#part?x=y'],
    ['A=9', 'https://example.org/p/a?a=1&b=%20&a=2&flag&A=9#part?x=y'],
    ['?a=9', 'https://example.org/p/a?a=1&b=%20&a=2&flag&?a=9#part?x=y'],
    ['#x', 'https://example.org/p/a?a=1&b=%20&a=2&flag&%23x#part?x=y'],
    ['%0d%0aX:y', 'https://example.org/p/a?a=1&b=%20&a=2&flag&%0d%0aX:y#part?x=y'],
    ['@evil.example/', 'https://example.org/p/a?a=1&b=%20&a=2&flag&@evil.example/#part?x=y'],
    ['\xc3\xa9=\xff"', 'https://example.org/p/a?a=1&b=%20&a=2&flag&%C3%A9=%EF%BF%BD%22#part?x=y'],
  ])("%j stands behind the target's, whose own names it replaces", (query, url) => {
    expect(withQuery(target, query)).toBe(url)
  })

  it('makes a query where there was none', () => {
    expect(withQuery('https://example.org/', 'x=1')).toBe('https://example.org/?x=1')
    expect(withQuery('https://example.org/?#f', 'x')).toBe('https://example.org/?x#f')
  })

  it('is refused where it is too long, and left out where a hand has put in no URL', () => {
    expect(withQuery(target, 'x'.repeat(limits.forwardedQuery))).toHaveLength(target.length + limits.forwardedQuery + 1)
    expect(withQuery(target, 'x'.repeat(limits.forwardedQuery + 1))).toBeUndefined()
    expect(withQuery('https://exa mple.org', 'x')).toBe('https://exa mple.org')
  })

  const bytes = fc
    .array(fc.oneof(fc.constantFrom('&', '=', '?', '#', '%', '+', '/', '@', 'a', '1'), fc.integer({ min: 0, max: 255 }).map((n) => String.fromCharCode(n))))
    .map((characters) => characters.join('')) // prettier-ignore
  const stored = fc
    .tuple(fc.constantFrom('https://example.org', 'http://u.example:8080'), fc.webPath(), bytes, bytes)
    .map(([origin, path, query, hash]) => `${origin}${path}?${query}#${hash}`)
    .filter((text) => URL.canParse(text))
    .map((text) => new URL(text).href)

  it('changes nothing of a URL but its query, and is said as it came', searches, () =>
    search(
      'a forwarded query',
      fc.asyncProperty(stored, bytes, (target, query) => {
        const url = withQuery(target, query) ?? ''
        expect(url).toMatch(/^[\x21-\x7e]+$/)
        expect(url.length).toBeLessThanOrEqual(limits.urlLength + 9 * limits.forwardedQuery)
        const [before, after] = [new URL(target), new URL(url)]
        expect(after.href).toBe(url)
        expect([after.origin, after.pathname, after.hash]).toEqual([before.origin, before.pathname, before.hash])
        // As any server would read it.
        const alone = new URL('https://a')
        alone.search = `?${Buffer.from(query, 'latin1').toString()}`
        const said = [...alone.searchParams]
        const names = new Set(said.map(([name]) => name))
        const own = [...before.searchParams].filter(([name]) => !names.has(name))
        expect([...after.searchParams]).toEqual([...own, ...said])
        return Promise.resolve()
      }),
      2000,
    ),
  )
})
