// The front door over TCP, with its listener and node:http behind it.
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { cases, corpus, cut } from './front-door.cases.stub.ts'
import { answers, ask, closes, dial, exchange, get, last, start } from './front-door.client.stub.ts'
import { createPages, isBroken, normalise } from './front-door.stub.ts'

const table = ['Labc123', 'Pabc123', 'Xabc123', 'Aabc123', 'Sabc123', 'Tabc123', 'Uabc123', 'Nabc123', 'Oabc123', 'Eabc123', 'Habc123', 'ab', 'api', 'zzz'] // prettier-ignore

describe('the front door', () => {
  it('answers every case as node:http does, in status and every header', async () => {
    const [raw, http] = [await start('raw'), await start('http')]
    for (const code of table) {
      for (const request of [
        get(code),
        get(code, 'Connection: keep-alive', 'Accept: text/html', 'Upgrade-Insecure-Requests: 1'),
        get(code, 'Connection: close'),
        get(`${code}?utm=1`),
        get(code).replace('GET', 'HEAD'),
        get(code).replace('GET', 'POST'),
        get(code).replace('1.1', '1.0'),
      ]) {
        const [a, b] = await Promise.all(
          [raw, http].map(async ({ port }) => normalise(await ask(await dial(port), request))),
        )
        expect(a, request).toBe(b)
        expect(a).toMatch(/^HTTP\/1\.1 [2345]\d\d /)
      }
    }
    expect(raw.counted.statuses).toEqual(http.counted.statuses)
    expect(raw.counted.clicks).toBe(http.counted.clicks)
  })

  it.each(['raw', 'http'] as const)('takes the absolute form as the path in it, FRONT_DOOR=%s', async (frontDoor) => {
    const { port } = await start(frontDoor)
    const client = await dial(port)
    const statusOf = async (target: string): Promise<string> =>
      (await ask(client, get('').replace('/', target))).slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length)
    for (const target of ['http://a', 'HTTP://c.example:8080', 'https://[::1]:80']) {
      expect(await statusOf(`${target}/Labc123`)).toBe('302')
      expect(await statusOf(`${target}/Sabc123?utm=1`)).toBe('302')
      expect(await statusOf(`${target}/Nabc123`)).toBe('404')
    }
    expect(await statusOf('http://a')).toBe('200')
    expect(await statusOf('http://a?Labc123')).toBe('200')
    const nowhere = ['http://u:p@a/Labc123', 'http://a//Labc123', 'http://a/http://a/Labc123', 'ftp://a/Labc123'] // prettier-ignore
    for (const target of nowhere) expect(await statusOf(target)).toBe('404')
  })

  it.each(['raw', 'http'] as const)(
    'takes the first of several languages and programs, for rules and statistics alike, FRONT_DOOR=%s',
    async (frontDoor) => {
      const { port, counted } = await start(frontDoor)
      const said = ['User-Agent: a', 'User-Agent: b']
      for (const [first, then, led] of [
        ['en;q=0.5', 'de', 'Jabc123?a=b'],
        ['de;q=0.5', 'en', 'de'],
      ] as const) {
        const languages = [`Accept-Language: ${first}`, `accept-language: ${then}`]
        const answer = await ask(await dial(port), get('Jabc123', ...said, ...languages))
        expect(answer).toContain(`\r\nLocation: https://example.com/${led}`)
        expect(JSON.parse(counted.visits.at(-1) ?? '')).toMatchObject({ userAgent: 'a', acceptLanguage: first })
      }
    },
  )

  it('writes a redirect to the letter', async () => {
    const { port, counted } = await start()
    const client = await dial(port)
    const answer = await ask(client, get('Labc123'))
    const date = /Date: (.*)\r\n/.exec(answer)?.[1] ?? ''
    expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(2000)
    expect(answer.replace(date, 'x')).toBe(
      'HTTP/1.1 302 Found\r\nLocation: https://example.com/Labc123?a=b&c=%20#d\r\nCache-Control: no-store\r\n' +
        'Content-Length: 0\r\nDate: x\r\nConnection: keep-alive\r\nKeep-Alive: timeout=65\r\n\r\n',
    )
    const permanent = await ask(client, get('Pabc123'))
    expect(permanent).toContain('301 Moved Permanently\r\nLocation: https://example.com/Pabc123')
    expect(permanent).toContain('\r\nCache-Control: private, max-age=90\r\n')
    expect(counted).toMatchObject({ statuses: [302, 301], clicks: 2 })
  })

  it('never writes a Location that is not one', async () => {
    const { port } = await start()
    const received = await exchange(port, [Buffer.from(get('Habc123'))])
    expect(received).toMatch(/^HTTP\/1\.1 500 /)
    expect(received).not.toContain('Set-Cookie')
  })

  it('answers all that asks for a code by itself', async () => {
    const { port, counted } = await start()
    const client = await dial(port)
    for (const [request, status] of [
      [get('Labc123'), 302], [get('Sabc123', 'TE: trailers'), 302], [get('Nabc123'), 404], [get('no/code'), 404], [get('Dabc123'), 429],
      [get('Uabc123'), 503], [get('Pabc123?x'), 301], [get('http://a/Labc123').replace(' /', ' '), 302], [get('favicon.ico'), 200],
    ] as const) expect(await ask(client, request)).toContain(`HTTP/1.1 ${status} `) // prettier-ignore
    client.socket.write(get('Nabc123').replace('GET', 'HEAD'))
    await waitFor(() => counted.statuses.length === 10)
    expect(await ask(client, get('Labc123', 'Connection: close'))).toContain('\r\nConnection: close\r\n')
    await client.closed
    expect(counted).toMatchObject({
      statuses: [302, 302, 404, 404, 429, 503, 301, 302, 200, 404, 302],
      clicks: 5,
      handedOver: [],
    })
  })

  it('has its connection back after a request that was for somebody else', async () => {
    const { port, counted } = await start()
    const client = await dial(port)
    const post = 'POST /api/links HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n'
    for (const [request, text] of [
      [get('Labc123'), ' 302 '],
      [get('api/links'), '"length":0}'],
      [get('Labc123'), ' 302 '],
      [`${post}hello`, '"length":5}'],
      [get('Sabc123'), ' 302 '],
      ['PUT /Labc123 HTTP/1.1\r\nHost: a\r\n\r\n', ' 405 '],
      [get('Labc123'), ' 302 '],
    ] as const)
      expect(await ask(client, request)).toContain(text)
    expect(counted.handedOver).toEqual(['api', 'api', 'method'])
    // A body in parts, and what comes behind it at once.
    client.socket.write(`${post}he`)
    await waitFor(() => counted.handedOver.length === 4)
    const before = answers(client.received())
    client.socket.write(`llo${get('Pabc123')}`)
    expect((await client.until((received) => answers(received) === before + 2)).endsWith('\r\n\r\n')).toBe(true)
    expect(counted).toMatchObject({ statuses: [302, 302, 302, 405, 302, 301], clicks: 5 })
  })

  it('answers nothing behind an answer that was broken off', async () => {
    const { port, counted } = await start('raw', {}, undefined, (_req, res) => res.destroy())
    const client = await dial(port)
    client.socket.write(get('api/links') + get('Labc123'))
    await client.closed
    expect(client.received()).toBe('')
    expect(counted).toMatchObject({ statuses: [], clicks: 0 })
  })

  it('has its connection back also where nobody reads a body to its end', async () => {
    const { port } = await start('raw', {}, undefined, (req, res) => {
      req.once('data', () => {
        req.pause()
        res.end('enough')
      })
    })
    const client = await dial(port)
    client.socket.write('POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
    await client.until((received) => received.includes('enough'))
    client.socket.write(`67890${get('Labc123')}`)
    await client.until((received) => received.includes(' 302 '))
  })

  it('does not reset a connection because its last request came with a body that nobody waits for', async () => {
    const { port } = await start('raw', {}, undefined, (_req, res) => {
      res.writeHead(413, { 'Content-Length': 0, Connection: 'close' }).end()
    })
    // More than one read brings. What has not arrived yet when the connection is closed resets it, here as anywhere.
    const request = `POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n${'x'.repeat(90_000)}`
    const ends: unknown[] = []
    for (let attempt = 0; attempt < 10 && ends.length === 0; attempt++) {
      const { socket, closed, received } = await dial(port)
      socket.once('end', () => ends.push(attempt)).write(request)
      await closed
      expect(received()).toContain(' 413 ')
    }
    expect(ends).toHaveLength(1)
  })

  it('has given it away for good after what it does not recognise', async () => {
    const { port, counted } = await start()
    const client = await dial(port)
    const chunked = 'POST /api/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'
    client.socket.write(chunked)
    await client.until((received) => received.includes('"length":5}'))
    expect(await ask(client, get('Labc123'))).toContain(' 302 ')
    expect(counted.handedOver).toEqual(['unrecognised', 'unrecognised'])
  })

  it('answers in order when more arrives while a request waits, and counts each once', async () => {
    const { port, counted } = await start()
    const client = await dial(port)
    client.socket.write(get('Sabc123'))
    await sleep(0)
    client.socket.write(get('Labc123') + get('Pabc123'))
    const received = await client.until((text) => answers(text) === 3)
    expect(Array.from(received.matchAll(/Location: \S+\/(\w+)\?/g), ([, code]) => code)).toEqual(['Sabc123', 'Labc123', 'Pabc123']) // prettier-ignore
    expect(counted.statuses).toHaveLength(3)
    expect(counted.clicks).toBe(3)
  })

  it('answers a request that comes a byte at a time', async () => {
    const { port } = await start()
    const bytes = Array.from(get('Labc123'), (byte) => Buffer.from(byte))
    expect(await exchange(port, bytes)).toMatch(/^HTTP\/1\.1 302 /)
  })

  it('answers tricks and mutations over TCP as node:http does', { timeout: 600_000 }, async () => {
    const [raw, http] = [await start('raw'), await start('http')]
    const pages = createPages()
    closes.push(() => Promise.resolve(pages.close()))
    const random = fc.sample(cases, { numRuns: Number(process.env['QL_FUZZ_TCP_CASES'] ?? 100), seed: 1 })
    const inputs = [...corpus.map((text) => cut(text, [])), ...random.map(({ chunks }) => chunks.slice(0, 40))]
    const compare = async (chunks: readonly Buffer[], attempts: number): Promise<void> => {
      const [a, b] = await Promise.all([exchange(raw.port, chunks), exchange(http.port, chunks)])
      const said = (bytes: string) => ({ bytes, closed: true })
      if (a === b || (await isBroken(pages, { chunks: [...chunks, last], fin: 'none' }, said(a), said(b)))) return
      // A server that closes on bytes it has not read resets the connection, and its last answer may be lost on the way.
      if (attempts > 1) await compare(chunks, attempts - 1)
      else expect(a, JSON.stringify(Buffer.concat(chunks).toString('latin1'))).toBe(b)
    }
    for (let i = 0; i < inputs.length; i += 40) {
      await Promise.all(inputs.slice(i, i + 40).map((chunks) => compare(chunks, 4)))
    }
  })
})
