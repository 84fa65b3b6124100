import { hostname, networkInterfaces } from 'node:os'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { limits } from '../limits.ts'
import { parseDestination } from './destination.ts'

const longestHost = `${'a'.repeat(49)}.`.repeat(5) + 'abc'
const ownHosts = ['ql.example', 'localhost:8080']
const machineAddresses = Object.values(networkInterfaces())
  .flatMap((bound) => bound ?? [])
  .flatMap(({ address, family }) => (family === 'IPv6' ? [`[${address}]`] : [address, `[::ffff:${address}]`]))
const parse = (url: string): string => parseDestination(url, ownHosts)

test.each([
  ['an http URL', 'http://example.com/', 'http://example.com/'],
  ['a URL without a path', 'https://example.com', 'https://example.com/'],
  ['a URL in capitals', 'HTTPS://EXAMPLE.COM/Path', 'https://example.com/Path'],
  ['a Unicode host', 'https://bücher.example/', 'https://xn--bcher-kva.example/'],
  [
    'a Unicode path',
    'https://example.com/ä/日本?q=ü#é',
    'https://example.com/%C3%A4/%E6%97%A5%E6%9C%AC?q=%C3%BC#%C3%A9',
  ],
  ['a space in the path', 'https://example.com/a b', 'https://example.com/a%20b'],
  ['an IPv6 host', 'http://[2001:db8::1]:8080/', 'http://[2001:db8::1]:8080/'],
  ['escaped line breaks', 'https://example.com/%0d%0aSet-Cookie:a=b', 'https://example.com/%0d%0aSet-Cookie:a=b'],
  ['the longest host', `http://${longestHost}/`, `http://${longestHost}/`],
  ['an IPv6 host that carries a foreign IPv4 address', 'http://[64:ff9b::c000:201]/', 'http://[64:ff9b::c000:201]/'],
  ['a host that ends like ours', 'https://notql.example/', 'https://notql.example/'],
])('%s is stored as the WHATWG URL serialises it', (_what, url, stored) => {
  expect(parse(url)).toBe(stored)
  expect(parse(stored)).toBe(stored)
})

test.each([
  ['javascript:', 'javascript:alert(1)'],
  ['data:', 'data:text/html,hello'],
  ['ftp:', 'ftp://example.com/'],
  ['file:', 'file:///etc/passwd'],
  ['a relative URL', '/path'],
  ['a URL without a scheme', 'example.com/path'],
  ['a protocol-relative URL', '//example.com/'],
  ['a scheme without slashes', 'https:example.com'],
  ['backslashes', 'https:\\\\example.com\\'],
  ['nothing', ''],
  ['no host', 'https://'],
  ['credentials without a host', 'https://user:pw@'],
  ['credentials', 'https://user:pw@example.com/'],
  ['a user name', 'https://user@example.com/'],
  ['an impossible host', 'https://exa mple.com/'],
  ['an impossible port', 'https://example.com:99999/'],
  ['a line feed', 'https://example.com/\nSet-Cookie: a=b'],
  ['CR LF', 'https://example.com/\r\nSet-Cookie: a=b'],
  ['a tab in the scheme', 'ht\ttps://example.com/'],
  ['a NUL', 'https://example.com/\u0000'],
  ['a DEL', 'https://example.com/\u007f'],
  ['a C1 control', 'https://example.com/\u0085'],
  ['a line separator', 'https://example.com/\u2028'],
  ['a leading space', ' https://example.com/'],
  ['a trailing line feed', 'https://example.com/\n'],
  ['half a surrogate pair', 'https://example.com/\ud800'],
  ['9 kB', `https://example.com/${'a'.repeat(9000)}`],
  ['what becomes too long encoded', `https://example.com/${'ä'.repeat(3000)}`],
  ['our host', 'https://ql.example/abc1234'],
  ['our host over http', 'http://ql.example/'],
  ['our host in capitals, with a dot', 'https://QL.Example./'],
  ['our host with its default port', 'https://ql.example:443/'],
  ['our host under another name', 'http://127.0.0.1:8080/'],
  ['our host in numbers', 'http://2130706433:8080/'],
  ['our host in IPv6', 'http://[::1]:8080/'],
  ['our host at another port', 'https://ql.example:8443/'],
  ['our host in another alphabet', 'https://ｑｌ．ｅｘａｍｐｌｅ/'],
  ['our host percent-encoded, with dots', 'https://%71l%2Eexample.../'],
  ['another port of our machine', 'http://localhost:9000/'],
  ['IPv4-mapped loopback', 'http://[::ffff:127.0.0.1]:9000/'],
  ['IPv4-compatible loopback', 'http://[::127.0.0.1]/'],
  ['IPv4-translated loopback', 'http://[::ffff:0:127.0.0.1]/'],
  ['loopback through NAT64', 'http://[64:ff9b::127.1.2.3]/'],
  ['the unspecified address', 'http://0/'],
  ['the unspecified address in IPv6', 'http://[::]/'],
  ['the unspecified address, mapped', 'http://[::ffff:0:0]/'],
  ['loopback in octal, with a dot', 'http://0177.1./'],
  ['a name under localhost', 'http://a.localhost./'],
  ['a name that the hosts file gives to loopback', 'http://ip6-localhost/'],
  ["the machine's name", `http://${hostname()}:81/`],
  ["the machine's name in capitals", `http://${hostname().toUpperCase()}./`],
  ...machineAddresses.map((host) => [`the machine's address ${host}`, `https://${host}:81/`] as [string, string]),
  ['a host that is too long', `http://${longestHost}d/`],
])('%s is refused, naming the field', (_what, url) => {
  expect(() => parse(url)).toThrow(
    expect.objectContaining({
      code: 'invalid',
      extras: { members: { field: 'url' } },
      message: expect.stringMatching(/^url must .+\.$/),
    }),
  )
})

test('the longest URL is accepted, one more character is not', () => {
  const longest = 'https://example.com/'.padEnd(limits.urlLength, 'a')
  expect(parse(longest)).toBe(longest)
  expect(() => parse(`${longest}a`)).toThrow()
})

test('whatever is accepted can stand in a header, and stays as it is when parsed again', { timeout: 60_000 }, () => {
  const urls = fc.oneof(
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc.string({ unit: 'binary' }).map((text) => `https://example.com/${text}`),
    fc.string({ unit: 'binary' }).map((text) => `https://example.com/?${text}#${text}`),
  )
  fc.assert(
    fc.property(urls, (url) => {
      let stored: string
      try {
        stored = parse(url)
      } catch {
        return true
      }
      return /^https?:\/\/[\x21-\x7e]+$/.test(stored) && parse(stored) === stored
    }),
    { numRuns: 1000 },
  )
})

test.each([
  ['dots', '.'],
  ['letters', 'a'],
  ['letters of another alphabet', '漢'],
  ['percent-encoded letters', '%61'],
])('a host of 8,000 %s is refused before anybody reads it, behind any number of slashes', (_what, piece) => {
  const host = `${piece.repeat(8000 / piece.length)}a`
  const urls = ['http://', 'https:////'].map((scheme) => `${scheme}${host}/`)
  const canParse = vi.spyOn(URL, 'canParse')
  const beganUs = process.threadCpuUsage()
  for (const url of urls) expect(() => parse(url)).toThrow('url must have a host of at most 253 characters.')
  const { user, system } = process.threadCpuUsage(beganUs)
  expect(canParse).not.toHaveBeenCalled()
  expect((user + system) / 1000).toBeLessThan(50)
  canParse.mockRestore()
})

test('a Host header of 8,000 dots names nobody, and is not read', () => {
  const beganUs = process.threadCpuUsage()
  const header = `${'.'.repeat(8000)}a`
  for (let n = 0; n < 50; n++) expect(parseDestination('https://example.com/', [header])).toBe('https://example.com/')
  const { user, system } = process.threadCpuUsage(beganUs)
  expect((user + system) / 1000).toBeLessThan(50)
})
