import { expect, test } from 'vitest'
import { luaOf, parseWrk } from './generator.ts'
import { bytesOf, browserHeaders } from './loads.ts'

const url = 'http://127.0.0.1:8080'

test('the bytes of a request', () => {
  const load = { paths: { kind: 'one', path: '/abc' }, headers: browserHeaders.slice(0, 1), status: 302 } as const
  const { before, after } = bytesOf(load, '127.0.0.1:8080')
  expect(before + after).toBe('GET /abc HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n\r\n')
  const post = bytesOf({ ...load, headers: [], body: '{"a":1}' }, 'h')
  expect(post.before + post.after).toBe(
    'POST /abc HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{"a":1}',
  )
})

test('the script for wrk: line ends and quotes are escaped, codes are drawn', () => {
  const paths = { kind: 'uniform', prefix: 'link-', count: 500 } as const
  const lua = luaOf({ url, load: { paths, headers: [['x', '"\\']], status: 302 } }, 7)
  expect(lua).toContain('local before = "GET /link-"')
  expect(lua).toContain('x: \\034\\092\\013\\010')
  expect(lua).toContain('math.random(0, 499)')
})

test('what wrk has printed: answers above 399 are failures, unless they were wanted', () => {
  const output = 'Running\n  text\nRESULT 1000 2000000 1 10 500 4000 9000\n'
  expect(parseWrk(output, 302)).toEqual({ requests: 1000, seconds: 2, failed: 11, p50Ms: 0.5, p99Ms: 4, p999Ms: 9 })
  expect(parseWrk(output, 404).failed).toBe(991)
  expect(() => parseWrk('unable to connect', 302)).toThrow('unable to connect')
})
