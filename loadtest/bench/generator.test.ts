import { expect, test } from 'vitest'
import { answerIn, browserHeaders, bytesOf, requestsOf } from './loads.ts'

test('the bytes of a request', () => {
  const load = { paths: { kind: 'one', path: '/abc' }, headers: browserHeaders.slice(0, 1), statuses: [302] } as const
  const { before, after } = bytesOf(load, '127.0.0.1:8080')
  expect(before + after).toBe('GET /abc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\r\n')
  const post = bytesOf({ ...load, headers: [], body: '{"a":1}' }, 'h')
  expect(post.before + post.after).toBe(
    'POST /abc HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
  )
})

test('a mix has its share of absent codes and of HEADs, and popular codes come often', () => {
  const paths = { kind: 'zipf', prefix: 'link-', count: 500 } as const
  const draw = requestsOf({ paths, headers: [], statuses: [302, 404], absentEvery: 100, headEvery: 20 }, 'h', 7)
  const all = Array.from({ length: 10_000 }, draw)
  expect(all.filter(({ text }) => text.includes('/link--absent-')).length).toBe(100)
  expect(all.filter(({ text }) => text.startsWith('HEAD ')).length).toBe(500)
  expect(all.filter(({ isHead }) => isHead).length).toBe(500)
  expect(all.filter(({ text }) => text.includes('/link-0 ')).length).toBeGreaterThan(500)
})

test('no two requests of a scan are alike', () => {
  const draw = requestsOf({ paths: { kind: 'distinct', prefix: 'no-' }, headers: [], statuses: [404] }, 'h', 7)
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
