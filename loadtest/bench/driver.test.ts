import { expect, test } from 'vitest'
import { wrongIn } from './check-answers.ts'
import { answerIn, browserHeaders, bytesOf, examplesOf, requestsOf, type Load } from './loads.ts'
import { proxyConfig } from './proxies.ts'

test('the bytes of a request', () => {
  const load = { paths: { kind: 'one', path: '/abc' }, headers: browserHeaders.slice(0, 1), status: 302 } as const
  const { before, after } = bytesOf(load, '127.0.0.1:8080')
  expect(before + after).toBe('GET /abc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\r\n')
  const post = bytesOf({ ...load, headers: [], body: '{"a":1}' }, 'h')
  expect(post.before + post.after).toBe(
    'POST /abc HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
  )
})

test('a mix has its share of absent codes and of HEADs, and popular codes come often', () => {
  const paths = { kind: 'zipf', prefix: 'link-', count: 500 } as const
  const draw = requestsOf({ paths, headers: [], status: 302, absentEvery: 100, headEvery: 20 }, 'h', 7)
  const all = Array.from({ length: 10_000 }, draw)
  expect(all.filter(({ text }) => text.includes('/link--absent-')).length).toBe(100)
  expect(all.filter(({ text }) => text.startsWith('HEAD ')).length).toBe(500)
  expect(all.filter(({ isHead }) => isHead).length).toBe(500)
  expect(all.filter(({ status }) => status === 404).length).toBe(100)
  expect(all.filter(({ text }) => text.includes('/link-0 ')).length).toBeGreaterThan(500)
})

test('no two requests of a scan are alike', () => {
  const draw = requestsOf({ paths: { kind: 'distinct', prefix: 'no-' }, headers: [], status: 404 }, 'h', 7)
  const texts = Array.from({ length: 1000 }, () => draw().text)
  expect(new Set(texts).size).toBe(1000)
})

test('an answer counts when all of it is there', () => {
  const found = 'HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0\r\n\r\n'
  const absent = 'HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n'
  expect(answerIn(Buffer.from(found), false)).toEqual({ status: 302 })
  expect(answerIn(Buffer.from(found.slice(0, -1)), false)).toBeUndefined()
  expect(answerIn(Buffer.from(absent), false)).toBeUndefined()
  expect(answerIn(Buffer.from(`${absent}abc`), false)).toBeUndefined()
  expect(answerIn(Buffer.from(`${absent}abcde`), false)).toEqual({ status: 404 })
  expect(answerIn(Buffer.from(absent), true)).toEqual({ status: 404 })
})

test('one request of each kind is looked at before anything is measured', () => {
  const paths = { kind: 'one', path: '/abc' } as const
  const kinds = (load: Partial<Load>) =>
    examplesOf({ paths, headers: [], status: 302, ...load }, 'h').map(({ isHead, status }) => [isHead, status])
  expect(kinds({})).toEqual([[false, 302]])
  expect(kinds({ absentEvery: 100 })).toEqual([[false, 302], [false, 404]]) // prettier-ignore
  expect(kinds({ headEvery: 20 })).toEqual([[false, 302], [true, 302]]) // prettier-ignore
})

test('an answer that is not what the others give is noticed', () => {
  const found = 'HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\nContent-Length: 0\r\n\r\n'
  const absent = 'HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n'
  const closing = found.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const of = (text: string, { status = 302, isHead = false, ended = false, closes = false } = {}) =>
    wrongIn({ bytes: Buffer.from(text), ended }, { text: '', status, isHead }, closes)
  expect(of(found)).toBeUndefined()
  expect(of(found, { isHead: true })).toBeUndefined()
  expect(of(`${absent}abcde`, { status: 404 })).toBeUndefined()
  expect(of(absent, { status: 404, isHead: true })).toBeUndefined()
  expect(of(closing, { ended: true, closes: true })).toBeUndefined()
  expect(of(found, { status: 404 })).toContain('302 instead of 404')
  expect(of(found.replace('Location', 'Elsewhere'))).toContain('nowhere')
  expect(of(`${absent}abcde`, { status: 404, isHead: true })).toContain('a body of 5 bytes')
  expect(of(found, { ended: true })).toContain('the end of the connection')
  expect(of(closing, { closes: true })).toContain('a connection that stays')
  expect(of(found, { ended: true, closes: true })).toContain('not announced')
})

test('proxies are set as docs/OPERATE.md and docker/haproxy.cfg say, and stand on loopback before the server', () => {
  const ports = { own: 21_001, upstream: 21_002 }
  for (const name of ['nginx', 'nginxSet', 'haproxy', 'haproxySet'] as const) {
    const text = proxyConfig(name, ports, '/tmp/x')
    expect(text.match(/127\.0\.0\.1:\d+/g)?.sort()).toEqual(['127.0.0.1:21001', '127.0.0.1:21002'])
    expect(text).toMatch(/(listen|bind) 127\.0\.0\.1:21001[;\n]/)
    expect(text).not.toMatch(/8080|443|9464|docker/)
  }
  expect(proxyConfig('nginxSet', ports, '/tmp/x')).toMatch(
    /keepalive 64;[^]*proxy_http_version 1\.1;[^]*proxy_set_header Connection "";/,
  )
  expect(proxyConfig('nginx', ports, '/tmp/x')).not.toContain('proxy_http_version')
  expect(proxyConfig('haproxySet', ports, '/tmp/x')).toMatch(
    /option forwardfor[^]*del-header X-Forwarded-For[^]*balance roundrobin/,
  )
})
