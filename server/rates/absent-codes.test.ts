import { expect, test, vi } from 'vitest'
import { loadConfig } from '../config.ts'
import { createAbsentCodes, type AbsentCodes } from './absent-codes.ts'
import { plainAddress, subscriberOf } from './addresses.ts'
import { clientAddress, isPrivate } from './client-address.ts'
import { AbsenceChannel, createAbsenceDesk, type AbsenceReport } from './shared-absences.ts'

const configOf = (env: Record<string, string>) => loadConfig({ DATABASE_URL: 'postgres://localhost/quicklink', ...env })

function setUp(env: Record<string, string> = {}, addresses = 10_000, channel = new AbsenceChannel(() => undefined)) {
  const clock = { nowMs: Date.parse('2026-03-01T12:00:20Z') }
  const seen = { blocked: 0, unheeded: [] as string[] }
  const onBlocked = (): void => void seen.blocked++
  const onUnheeded = (peer: string): void => void seen.unheeded.push(peer)
  const deps = { channel, nowMs: () => clock.nowMs, onBlocked, onUnheeded }
  const codes = createAbsentCodes(configOf(env), deps, addresses)
  return { codes, clock, seen }
}
const ask = (codes: AbsentCodes, times: number, peer: string, forwarded?: string) => {
  let last
  for (let n = 0; n < times; n++) last = codes.onNotFound(peer, forwarded)
  return last
}

test('the 121st absent code of a minute is blocked until the minute ends, and the next minute begins anew', () => {
  const { codes, clock, seen } = setUp()
  expect(ask(codes, 120, '192.0.2.1')).toEqual({ blocked: false, retryAfterS: 0 })
  expect(ask(codes, 1, '192.0.2.1')).toEqual({ blocked: true, retryAfterS: 40 })
  clock.nowMs += 39_500
  expect(ask(codes, 1, '192.0.2.1')).toEqual({ blocked: true, retryAfterS: 1 })
  expect(ask(codes, 1, '192.0.2.2')).toMatchObject({ blocked: false })
  clock.nowMs += 600
  expect(ask(codes, 120, '192.0.2.1')).toMatchObject({ blocked: false })
  expect(seen.blocked).toBe(2)
})

test('an IPv6 subscriber is its /64, and IPv4 stays IPv4 on a dual-stack listener', () => {
  const { codes } = setUp({ NOT_FOUND_PER_MINUTE: '2' })
  ask(codes, 1, '2001:db8:0:1::1')
  ask(codes, 1, '2001:db8:0:1:ffff:ffff:ffff:ffff')
  expect(ask(codes, 1, '2001:0db8::1:0:0:0:9')).toMatchObject({ blocked: true })
  expect(ask(codes, 1, '2001:db8:0:2::1')).toMatchObject({ blocked: false })
  ask(codes, 2, '::ffff:192.0.2.1')
  expect(ask(codes, 1, '192.0.2.1')).toMatchObject({ blocked: true })
})

test.each([
  ['::1', '0:0:0:0'],
  ['2001:db8::', '2001:db8:0:0'],
  ['2001:0db8:0000:0001:0000:0000:0000:0001', '2001:db8:0:1'],
  ['FE80::1', 'fe80:0:0:0'],
  ['192.0.2.1', '192.0.2.1'],
  ['', ''],
])('%s belongs to %s', (address, subscriber) => expect(subscriberOf(address)).toBe(subscriber))

test('loopback is never held to it by default, and a list may name others', () => {
  const { codes } = setUp({ NOT_FOUND_PER_MINUTE: '1' })
  for (const peer of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1']) {
    expect(ask(codes, 5, peer)).toMatchObject({ blocked: false })
  }
  const listed = setUp({ NOT_FOUND_PER_MINUTE: '1', SCAN_ALLOWLIST: '192.0.2.7, 10.0.0.0/8,2001:db8::/32' }).codes
  for (const peer of ['192.0.2.7', '10.255.0.1', '2001:db8:ffff::1']) {
    expect(ask(listed, 5, peer)).toMatchObject({ blocked: false })
  }
  for (const peer of ['192.0.2.8', '11.0.0.1', '127.0.0.1', '2001:db9::1']) {
    expect(ask(listed, 5, peer)).toMatchObject({ blocked: true })
  }
})

test.each([
  ['off', '192.0.2.1', '203.0.113.9', '192.0.2.1'],
  ['1', '192.0.2.1', '203.0.113.9', '203.0.113.9'],
  ['1', '192.0.2.1', 'spoofed, 198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['2', '192.0.2.1', '198.51.100.1, 203.0.113.9', '198.51.100.1'],
  ['2', '192.0.2.1', '203.0.113.9', '203.0.113.9'],
  ['1', '192.0.2.1', undefined, '192.0.2.1'],
  ['1', '192.0.2.1', 'not an address', '192.0.2.1'],
  ['192.0.2.0/24', '192.0.2.1', '198.51.100.1, 192.0.2.9', '198.51.100.1'],
  ['192.0.2.0/24', '198.51.100.7', '203.0.113.9', '198.51.100.7'],
  ['loopback', '::ffff:127.0.0.1', '[2001:db8::1]', '2001:db8::1'],
  ['1', '192.0.2.1', '203.0.113.9:51234', '203.0.113.9'],
  ['1', '192.0.2.1', '[2001:db8::1]:51234', '2001:db8::1'],
  ['1', '192.0.2.1', '[::ffff:203.0.113.9]:51234', '203.0.113.9'],
  ['2', '192.0.2.1', '198.51.100.1:1, 203.0.113.9:2', '198.51.100.1'],
  ['192.0.2.0/24', '192.0.2.1', '198.51.100.1:1, 192.0.2.9:2', '198.51.100.1'],
  ['1', '192.0.2.1', '203.0.113.9:nothing', '192.0.2.1'],
  ['1', '192.0.2.1', '', '192.0.2.1'],
  ['1', '192.0.2.1', `${'198.51.100.1,'.repeat(5000)} 203.0.113.9`, '203.0.113.9'],
  ['99', '192.0.2.1', `203.0.113.9,${'x'.repeat(5000)}`, '192.0.2.1'],
])('TRUST_PROXY=%s: a connection from %s that says %j is %s', (trustProxy, peer, said, client) => {
  expect(clientAddress(peer, said, configOf({ TRUST_PROXY: trustProxy }).trustProxy)).toBe(client)
})

test('a hundred thousand addresses are no more memory than was allowed', () => {
  const { codes } = setUp({ NOT_FOUND_PER_MINUTE: '1' }, 100)
  for (let n = 0; n < 100_000; n++) ask(codes, 1, `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`)
  // The oldest was forgotten: it begins anew. The newest was not.
  expect(ask(codes, 1, '10.0.0.0')).toMatchObject({ blocked: false })
  expect(ask(codes, 1, '10.1.134.159')).toMatchObject({ blocked: true })
})

test.each(['everybody', '10.0.0.0/33', '1.2.3.4/x', '', '1.2.3', 'fe80::/129', '1.2.3.4/8/8'])(
  'the list %j is refused with a sentence',
  (list) => {
    if (list !== '')
      expect(() => configOf({ SCAN_ALLOWLIST: list })).toThrow(/^SCAN_ALLOWLIST must be a list like [^\n]+\.$/)
    if (list !== '')
      expect(() => configOf({ TRUST_PROXY: list })).toThrow(/^TRUST_PROXY must be off, a number of hops, or /)
  },
)

test('zones and brackets are no part of an address', () => {
  expect([plainAddress('fe80::1%eth0'), plainAddress('[::1]'), plainAddress('::ffff:999.1.1.1')]).toEqual([
    'fe80::1',
    '::1',
    '::ffff:999.1.1.1',
  ])
})

/** Workers and their primary process. Messages are copied, and wait until they are delivered. */
function workers(count: number, env: Record<string, string> = {}) {
  const desk = createAbsenceDesk(10_000)
  const onTheirWay: { channel: AbsenceChannel; report: AbsenceReport }[] = []
  const codes = Array.from({ length: count }, () => {
    const channel = new AbsenceChannel((report) => void onTheirWay.push({ channel, report: structuredClone(report) }))
    return setUp(env, 10_000, channel).codes
  })
  const deliver = (): number => {
    const all = onTheirWay.splice(0)
    for (const { channel, report } of all) channel.heard(structuredClone(desk(report)))
    return all.length
  }
  return { codes, deliver }
}
const allowedOf = (codes: AbsentCodes, times: number, peer: string): number =>
  Array.from({ length: times }, () => codes.onNotFound(peer, undefined)).filter(({ blocked }) => !blocked).length

test('all workers count together: an address gets the limit, and at most a batch more per worker', () => {
  const { codes, deliver } = workers(4)
  let allowed = 0
  // A scanner whose connections are spread over the workers.
  for (let round = 0; round < 200; round++) {
    for (const worker of codes) allowed += allowedOf(worker, 1, '192.0.2.1')
    deliver()
  }
  expect(allowed).toBeGreaterThanOrEqual(120)
  expect(allowed).toBeLessThanOrEqual(120 + 4 * 10)
  for (const worker of codes) expect(allowedOf(worker, 120, '192.0.2.2')).toBeLessThanOrEqual(120)
})

test('a scan costs a message per batch, and none once it is over', () => {
  const { codes, deliver } = workers(1)
  allowedOf(codes[0]!, 10_000, '192.0.2.1')
  expect(deliver()).toBeLessThanOrEqual(12)
  allowedOf(codes[0]!, 10_000, '192.0.2.1')
  expect(deliver()).toBe(0)
})

test('what another worker allowed is heard after absencesEveryMs, however little it was', () => {
  vi.useFakeTimers()
  try {
    const { codes, deliver } = workers(2, { NOT_FOUND_PER_MINUTE: '6' })
    const [one, other] = codes as [AbsentCodes, AbsentCodes]
    expect([allowedOf(one, 4, '192.0.2.1'), allowedOf(other, 3, '192.0.2.1')]).toEqual([4, 3])
    vi.advanceTimersByTime(100)
    deliver()
    expect([allowedOf(one, 9, '192.0.2.1'), allowedOf(other, 9, '192.0.2.1')]).toEqual([2, 0])
  } finally {
    vi.useRealTimers()
  }
})

test('who forwards and is not named is noticed, and counted as itself', () => {
  const { codes, seen } = setUp({ NOT_FOUND_PER_MINUTE: '1', TRUST_PROXY: '10.0.0.0/8' })
  ask(codes, 1, '10.0.0.1', '203.0.113.9')
  expect(seen.unheeded).toEqual([])
  ask(codes, 1, '::ffff:172.17.0.1', '203.0.113.10')
  expect(ask(codes, 1, '172.17.0.1', '203.0.113.11')).toMatchObject({ blocked: true })
  expect(seen.unheeded).toEqual(['172.17.0.1', '172.17.0.1'])
  const near = ['127.0.0.1', '10.1.1.1', '172.17.0.1', '192.168.1.1', 'fd00::1', '203.0.113.9', '2001:db8::1', '']
  expect(near.map(isPrivate)).toEqual([true, true, true, true, true, false, false, false])
})
