// What the front door is tested with: plain requests, tricks that have fooled parsers, and mutations of both.
import fc from 'fast-check'
import { settled, type Case } from './front-door.stub.ts'

const plainFields = [
  'Accept: */*',
  'User-Agent: curl/8.5.0',
  'Connection: keep-alive',
  'Upgrade-Insecure-Requests: 1',
  'sec-ch-ua: "Chromium";v="140", "Not=A?Brand";v="24"',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Cookie: a=b; session=0123456789abcdef',
  'Cache-Control: max-age=0',
  'Pragma: no-cache',
  'Priority: u=0, i',
  'X-Forwarded-For: 192.0.2.1, 198.51.100.2',
  'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  'Empty:',
  'X:  two spaces  ',
]

/** Fields that mean more than a plain GET, that are not legal, or that one parser reads and another does not. */
const trickyFields = [
  'Content-Length: 0', 'Content-Length: 5', 'Content-Length: +5', 'Content-Length: 5, 5', 'Content-Length: -1',
  'Content-Length: 0x5', 'Content-Length:', 'Content-Length : 5', 'content-length: 5\r\nContent-Length: 6',
  'Content-Length: 99999999999999999999', 'Content_Length: 5', 'X-Content-Length: 5', 'Content-Type: text/plain',
  'Transfer-Encoding: chunked', 'Transfer-Encoding : chunked', 'Transfer-Encoding\t: chunked', 'transfer-encoding: CHUNKED',
  'Transfer-Encoding: chunked, identity', 'Transfer-Encoding: identity', 'Transfer-Encoding: xchunked',
  'Transfer-Encoding:\x0bchunked', 'Transfer-Encoding: \x00chunked', 'Transfer-Encoding:\r\n chunked',
  'Transfer_Encoding: chunked', '\x00Transfer-Encoding: chunked', 'Transfer-Encoding: "chunked"', 'TE: trailers',
  'Content-Length: 5\r\nTransfer-Encoding: chunked', 'Transfer-Encoding: chunked\r\nContent-Length: 5',
  'Trailer: Expires', 'Connection: close', 'Connection: Keep-Alive', 'connection: keep-alive', 'Connection:keep-alive',
  'Connection: keep-alive ', 'Connection:  keep-alive', 'Connection: keep-alive, close', 'Connection: close, Host',
  'Connection: upgrade', 'Connection: keep-alive\r\nConnection: close', 'Proxy-Connection: close', 'Connection:',
  'Proxy-Connection: keep-alive', 'Keep-Alive: timeout=1', 'Upgrade: websocket', 'Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk',
  'Connection: Upgrade\r\nUpgrade: websocket', 'Expect: 100-continue', 'Expect: something-else', 'expect:100-continue',
  'Host: b.example', 'Host: a b', 'Host:', 'Host: ', 'Host: a,b', 'Host: a@b', 'Host: a/b', 'Host: a?b', 'Host: [::1]:8080', 'Host: b.example:80', 'Host: B.EXAMPLE.', 'Host: b.example..', 'Host: b.example:x:y', 'Host: .b.example', 'Host: [b.example]', 'Host: gone.example', 'X-Forwarded-Host: b.example', 'X-Forwarded-Host: \t B.example. , a', 'X-Forwarded-Host: a\r\nX-Forwarded-Host: b.example', 'X-Forwarded-Host: ,b.example', 'X-Forwarded-Host: \xa0b.example',
  'Host : a', 'host:a', 'HOST: A:80', 'Host: a\x00', 'Host: \x80', 'Host:\ta', ' Host: a', 'Host: a\r\n b',
  'X: a\r\n folded', 'X: a\r\n\tfolded', ' X: a', '\tX: a', 'X : a', ': a', 'no colon', 'X\x00: a', 'X: \x00', 'X: \x07', 'X: \x7f',
  'X: \x80\xff', 'X\x80: a', 'X: a\rY: b', 'X: a\rXY: b', 'X: a\r\rY: b', 'X: a\n\nY: b', 'X: a\nY: b', 'X: a\n', 'X: a\r', 'X(: a', 'X/Y: a', '"X": a', 'X_Y: a', 'X: \tb',
  'X: a\r\r', '@: a', 'X: a\x0b', 'X: a\x0c', 'X: a\x85', 'X-Forwarded-For: \xa0203.0.113.5', 'X-Forwarded-For: \t 203.0.113.5 \t', 'X-Forwarded-For:\r\nX-Forwarded-For:  203.0.113.5', 'Range: bytes=0-1', 'If-None-Match: *', 'Authorization: Bearer x',
] // prettier-ignore

/** What a visitor may say, and what nobody should. */
const queries = ['', 'x', 'a=2', 'a=2&c=3', '%61=2', 'x=1&&y=2&', '?', '??a=2', '#f', 'x#y', 'a=b=c', '+=1', '%', '%zz', '%0d%0aSet-Cookie:%20a=b', `"<>'^\`{|}\\`, '/../..//x', '@evil.example/', 'http://evil.example/', '\x80\xff', '\xc3\xa9', '%3d&%26=1'] // prettier-ignore

/** Answered by the front door, in some other way than a plain GET; or by node:http, which gives the connection back. */
const otherLines = [
  'HEAD /Labc123 HTTP/1.1', 'GET /Labc123 HTTP/1.0', 'GET /Labc123?a=b HTTP/1.1', 'GET /Fabc123?a=2 HTTP/1.1', 'GET /Gabc123?x HTTP/1.1', 'GET http://a.example/Fabc123?c=3 HTTP/1.1', 'GET /Jabc123?x=1 HTTP/1.1', 'HEAD /Kabc123 HTTP/1.1', 'POST /Kabc123 HTTP/1.1', 'GET http://a.example/Sabc123 HTTP/1.1', 'GET http://B.example.:80/Labc123 HTTP/1.1', 'GET http://gone.example/Labc123 HTTP/1.1', 'HEAD /Nabc123 HTTP/1.1',
  'GET /favicon.ico HTTP/1.1', 'GET /robots.txt HTTP/1.1', 'GET / HTTP/1.1', 'GET /no/code HTTP/1.1', 'GET /api/v1/links HTTP/1.1', 'POST /api/v1/links HTTP/1.1', 'DELETE /Labc123 HTTP/1.1',
] // prettier-ignore
const otherFields = ['TE: trailers', 'Connection: close', 'Connection: Keep-Alive', 'Accept: text/html', 'Accept-Language: de-CH, en;q=0.9', 'Accept-Language: de;q=0.5\r\nAccept-Language: en', 'X-Forwarded-For: 203.0.113.5', 'Content-Length: 5', 'Content-Length: 0', 'X_Y: a', 'X-Forwarded-Host: b.example', 'x-forwarded-host: gone.example, b.example', 'X-Forwarded-Host:', 'User-Agent: a', 'user-agent:  \x80b', 'User-Agent:', 'Referer: https://a.example/x', 'Referer: \t', 'Sec-GPC: 1', 'DNT: 1', 'DNT: 0', 'Sec-Purpose: prefetch;prerender', 'Purpose: prefetch', 'X-Moz: prefetch', 'DNTx: 1', 'Refererr: b'] // prettier-ignore

const codes = ['Labc123', 'Pabc123', 'Xabc123', 'Aabc123', 'Sabc123', 'Tabc123', 'Uabc123', 'Nabc123', 'Oabc123', 'Eabc123', 'Habc123', 'Mabc123', 'Qabc123', 'Dabc123', 'Yabc123', 'Iabc123', 'Zabc123', 'Rabc123', 'Fabc123', 'Gabc123', 'Jabc123', 'Kabc123', 'L', 'L_', 'L_-', `L${'x'.repeat(63)}`] // prettier-ignore

const trickyLines = [
  'GET  /Labc123 HTTP/1.1', 'GET /Labc123  HTTP/1.1', 'GET /Labc123 HTTP/1.1 ', 'GET\t/Labc123\tHTTP/1.1', ' GET /Labc123 HTTP/1.1',
  '\r\nGET /Labc123 HTTP/1.1', '\nGET /Labc123 HTTP/1.1', 'get /Labc123 HTTP/1.1', 'Get /Labc123 HTTP/1.1', 'HEAD /Labc123 HTTP/1.1',
  'POST /Labc123 HTTP/1.1', 'PUT /Labc123 HTTP/1.1', 'DELETE /Labc123 HTTP/1.1', 'OPTIONS * HTTP/1.1', 'CONNECT a:80 HTTP/1.1',
  'PRI * HTTP/2.0', 'GETX /Labc123 HTTP/1.1', 'GET /Labc123 HTTP/1.0', 'GET /Labc123 HTTP/1.2', 'GET /Labc123 HTTP/2.0',
  'GET /Labc123 HTTP/0.9', 'GET /Labc123 http/1.1', 'GET /Labc123 HTTP/1.1x', 'GET /Labc123 HTTP/11', 'GET /Labc123 HTTP/01.1',
  'GET /Labc123', 'GET Labc123 HTTP/1.1', 'GET http://a/Labc123 HTTP/1.1', 'GET HTTPS://a.example:80/Sabc123?x HTTP/1.1',
  'GET http://u:p@a/Labc123 HTTP/1.1', 'GET http:///Labc123 HTTP/1.1', 'GET http://a HTTP/1.1', 'GET http://a?Labc123 HTTP/1.1',
  'GET http://[::1]/Labc123 HTTP/1.1', 'GET http://a/http://b/Labc123 HTTP/1.1', 'GET http:/Labc123 HTTP/1.1', 'GET ftp://a/Labc123 HTTP/1.1',
  'GET http://a//Labc123 HTTP/1.1', 'HEAD http://a/Mabc123 HTTP/1.1', 'GET //Labc123 HTTP/1.1', 'GET /Labc123/ HTTP/1.1',
  'GET /Labc123?x=1 HTTP/1.1', 'GET /Labc123? HTTP/1.1', 'GET /Labc123#f HTTP/1.1', 'GET /%4cabc123 HTTP/1.1', 'GET /Lab%00 HTTP/1.1',
  'GET /Labc123\x00 HTTP/1.1', 'GET /Labc\x80 HTTP/1.1', 'GET /La HTTP/1.1', `GET /L${'x'.repeat(64)} HTTP/1.1`, 'GET / HTTP/1.1',
  'GET /api HTTP/1.1', 'GET /api/v1/links?x=/y HTTP/1.1', 'GET /api? HTTP/1.1', 'GET /apis HTTP/1.1', 'GET /API HTTP/1.1', 'HEAD /api/x HTTP/1.0',
  'POST /api/v1/links HTTP/1.1', 'PATCH /api/x HTTP/1.0', 'GET http://a/api/x HTTP/1.1', 'HEAD /Labc123?x#y HTTP/1.0', 'HEAD /Nabc123 HTTP/1.1',
  'HEAD /Dabc123 HTTP/1.1', 'GET /favicon.ico HTTP/1.1', 'HEAD /favicon.ico HTTP/1.0', 'GET /robots.txt?x HTTP/1.1', 'HEAD / HTTP/1.1', 'GET /? HTTP/1.0',
  'GET hTTp://a/Labc123 HTTP/1.0', 'GET httpx://a/Labc123 HTTP/1.1', 'GET https//a/Labc123 HTTP/1.1', 'GET http://a:80/Pabc123?"<>^`{|} HTTP/1.1',
  'PUT /Labc123 HTTP/1.0', 'OPTIONS /Labc123 HTTP/1.1', 'PURGE /Labc123 HTTP/1.1', 'P /Labc123 HTTP/1.1', 'GET /../Labc123 HTTP/1.1', 'GET /Labc123\\ HTTP/1.1', 'GET /Labc123;x HTTP/1.1', 'GET * HTTP/1.1', 'QUERY /Labc123 HTTP/1.1',
] // prettier-ignore

const hosts = ['a.example:8080', 'a.example', '192.0.2.1', 'b.example', 'b.example', 'B.Example.:8080', 'gone.example'] // prettier-ignore

const bodies = [
  '',
  '',
  '',
  'hello',
  '0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\nGET /Pabc123 HTTP/1.1\r\nX: ',
  '\r\n',
  '\x00',
]
const ends = ['\r\n\r\n', '\r\n\r\n', '\r\n\r\n', '\r\n\r\n', '\n\n', '\r\n\n', '\n\r\n', '\r\r', '\r\n', '', '\r\n\r\n\r\n', '\r\n \r\n\r\n'] // prettier-ignore
const oddBytes = [0, 9, 10, 11, 13, 32, 35, 44, 58, 63, 95, 127, 128, 255]

const get = (code: string, ...fields: string[]): string =>
  [`GET /${code} HTTP/1.1`, 'Host: a.example', ...fields].join('\r\n') + '\r\n\r\n'

/** One request each, or two; sent whole and in two parts, cut at every byte. */
export const corpus: readonly string[] = [
  ...codes.map((code) => get(code)),
  ...codes.map((code) => get(code, ...plainFields)),
  ...plainFields.map((field) => get('Labc123', field)),
  ...trickyFields.map((field) => get('Labc123', field)),
  ...trickyFields.map((field) => get('Nabc123', field)),
  ...trickyFields.map((field) => `GET /Labc123 HTTP/1.1\r\n${field}\r\n\r\n`),
  ...trickyFields.map((field) => `${get('Labc123', field)}0\r\n\r\n${get('Pabc123')}`),
  ...queries.flatMap((query) => ['Fabc123', 'Gabc123', 'Zabc123'].map((code) => get(`${code}?${query}`))),
  ...queries.map((query) => `HEAD http://a.example/Fabc123?${query} HTTP/1.0\r\nHost: a\r\n\r\n`),
  ...trickyLines.map((line) => `${line}\r\nHost: a\r\n\r\n`),
  ...ends.map((end) => `GET /Labc123 HTTP/1.1\r\nHost: a${end}`),
  'GET /Labc123 HTTP/1.1\r\n\r\n',
  'GET /Labc123 HTTP/1.1\nHost: a\n\n',
  get('Labc123') + get('Pabc123'),
  get('Labc123') + get('Sabc123', 'Connection: close') + get('Pabc123'),
  'HEAD /Labc123 HTTP/1.1\r\nHost: a\r\n\r\n' + get('Nabc123') + get('Labc123', 'TE: trailers'),
  'POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello' + get('Labc123'),
  get('Sabc123') + 'PUT /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n' + get('Nabc123'),
  'POST /Labc123 HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world' + get('Labc123'),
  get('api/x') + get('Labc123') + get('api/y', 'Connection: close'),
  get('Labc123').repeat(40),
  get('Sabc123') + get('Labc123'),
  get('Uabc123') + get('Sabc123') + get('Labc123'),
  get('Labc123') + 'GARBAGE\r\n\r\n',
  get('Sabc123') + 'GARBAGE\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
]
export const longCorpus: readonly string[] = [3900, 4000, 4030, 4096, 5000, 16_300, 17_000]
  .flatMap((length) => [
    get('Labc123', `Cookie: ${'c'.repeat(length)}`),
    get('Labc123', ...Array.from({ length: length / 8 }, (_, i) => `X${i}: a`)),
  ])
  .concat(
    ['x'.repeat(4095), 'x'.repeat(4096), 'x'.repeat(4097), '&a'.repeat(2000)].map((query) => get(`Fabc123?${query}`)),
  )
  .concat([999, 1000].map((count) => get('Labc123', ...Array<string>(count).fill('X:'))))

/** Of `often : 1`, an ordinary part or a tricky one. */
const mostly = <T>(often: number, ordinary: fc.Arbitrary<T>, tricky: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: often, arbitrary: ordinary }, { weight: 1, arbitrary: tricky })

const requestOf = (often: number): fc.Arbitrary<string> =>
  fc
    .record({
      line: mostly(
        often,
        mostly(
          2,
          fc.constantFrom('Labc123', 'Pabc123', 'Sabc123', 'Mabc123', 'Qabc123'),
          fc.constantFrom(...codes),
        ).map((code) => `GET /${code} HTTP/1.1`),
        fc.constantFrom(...trickyLines),
      ).chain((line) => mostly(2, fc.constant(line), fc.constantFrom(...otherLines))),
      host: mostly(
        often,
        fc.constantFrom(...hosts).map((host) => [`Host: ${host}`]),
        fc.constant<string[]>([]),
      ),
      fields: fc.array(
        mostly(
          often,
          mostly(3, fc.constantFrom(...plainFields), fc.constantFrom(...otherFields)),
          fc.constantFrom(...trickyFields),
        ),
        { maxLength: 5 },
      ),
      end: mostly(often, fc.constant('\r\n\r\n'), fc.constantFrom(...ends)),
      body: mostly(often, fc.constant(''), fc.constantFrom(...bodies)),
    })
    .map(({ line, host, fields, end, body }) => {
      const wanted = body === '' && fields.includes('Content-Length: 5') ? 'hello' : body
      return [line, ...host, ...fields].join('\r\n') + end + wanted
    })

const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.double({ min: 0, max: 0.999999, noNaN: true }),
  byte: fc.oneof(fc.constantFrom(...oddBytes), fc.integer({ min: 0, max: 255 })),
  how: fc.constantFrom('replace', 'insert', 'delete', 'repeat', 'flip'),
})

interface Mutation {
  readonly at: number
  readonly byte: number
  readonly how: string
}

function mutate(text: string, { at, byte, how }: Mutation): string {
  const i = Math.floor(at * text.length)
  const character = String.fromCharCode(byte)
  const [before, here, after] = [text.slice(0, i), text.slice(i, i + 1), text.slice(i + 1)]
  if (how === 'replace') return before + character + after
  if (how === 'insert') return before + character + here + after
  if (how === 'delete') return before + after
  if (how === 'repeat') return before + text.slice(i, i + 9) + here + after
  return before + String.fromCharCode((here.charCodeAt(0) || 0) ^ (1 << (byte & 7))) + after
}

export function cut(text: string, at: readonly number[]): Buffer[] {
  const bounds = [...new Set([0, ...at, text.length])].sort((a, b) => a - b)
  return bounds.slice(1).map((end, i) => Buffer.from(text.slice(bounds[i], end), 'latin1'))
}

export const cases: fc.Arbitrary<Case> = fc
  .record({
    requests: fc.array(mostly(1, requestOf(40), requestOf(6)), { minLength: 1, maxLength: 3 }),
    mutations: fc.oneof(
      { weight: 2, arbitrary: fc.constant<Mutation[]>([]) },
      { weight: 1, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
    ),
    cuts: fc.oneof(
      { weight: 8, arbitrary: fc.constant('requests' as const) },
      { weight: 2, arbitrary: fc.constant('none' as const) },
      { weight: 4, arbitrary: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }) },
      { weight: 1, arbitrary: fc.constant('bytes' as const) },
    ),
    gaps: fc.array(fc.constantFrom(0, 0, 1, settled), { minLength: 1, maxLength: 4 }),
    fin: fc.constantFrom('none' as const, 'none' as const, 'early' as const, 'late' as const),
  })
  .map(({ requests, mutations, cuts, gaps, fin }) => {
    const mutated = requests.map((text, i) =>
      mutations.filter((_, n) => n % requests.length === i).reduce(mutate, text),
    )
    const text = mutated.join('')
    let sum = 0
    const at =
      cuts === 'none'
        ? []
        : cuts === 'requests'
          ? mutated.map((part) => (sum += part.length))
          : cuts === 'bytes'
            ? Array.from(text, (_, i) => i)
            : cuts.map((share) => Math.floor(share * text.length))
    // Byte by byte, only short waits: else one case takes thousands of turns.
    return { chunks: cut(text, at), gaps: cuts === 'bytes' ? [0, 1, 0] : gaps, fin }
  })
