import { describe, expect, it } from 'vitest'
import { domainHost, hostSaid } from './host.ts'

describe('a domain', () => {
  it.each([
    ['go.example.org', 'go.example.org'],
    ['GO.Example.ORG.', 'go.example.org'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['a_b.example', 'a_b.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('%s is %s', (given, host) => {
    expect(domainHost(given)).toBe(host)
    expect(hostSaid(`${host.toUpperCase()}.:8080`)).toBe(host)
  })

  it.each([
    '', '.', 'localhost', 'go', 'go.example.org:443', 'http://go.example.org', 'go.example.org/x', 'u@go.example.org', '192.0.2.1', '0x7f.1', '127.1',
    '[::1]', '::1', 'a..example', '.example.org', '-a.example', 'a b.example', 'go.example.org..', 'a%2e.example', 'a?b.example', '*.example.org',
    `${'a'.repeat(64)}.example`, `${'a.'.repeat(127)}example`, 'ａ。'.repeat(400), '\u0000.example',
  ])('%s is none', (given) => expect(domainHost(given)).toBeUndefined()) // prettier-ignore
})

it.each([
  ['go.example.org:x:y', 'go.example.org'],
  [':80', ''],
  ['', ''],
  ['[::1]:80', '['],
  ['a'.repeat(261), ''],
])('a Host field %s names %s', (said, host) => expect(hostSaid(said)).toBe(host))
