// The front door over TCP, with its listener and node:http behind it.
// Long because every way in which a client can misbehave is here, with the same few helpers.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { limits } from '../config.ts'
import { cases, corpus, cut } from './front-door.cases.stub.ts'
import { FrontDoor } from './front-door.ts'
import {
  answerLength,
  createPages,
  isBroken,
  normalise,
  stubDeps,
  stubResolver,
  turns,
  Wire,
} from './front-door.stub.ts'
import { Turns } from './one-at-a-time.ts'
import type { Resolver } from './resolve.ts'
import { waitFor } from '../../embedded/wait.ts'
import { listen, type Bounds, type ListenerDeps } from './listener.ts'

const closes: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closes.splice(0).map((close) => close()))
})

async function start(
  frontDoor: 'raw' | 'http' = 'raw',
  bounds: Partial<Bounds> = {},
  countedAs: ListenerDeps['countedAs'] = () => undefined,
  api: ListenerDeps['api'] = answerLength,
) {
  const counted = {
    statuses: [] as number[],
    clicks: 0,
    handedOver: [] as string[],
    letGo: 0,
    waiting: 0,
    atOnce: 0,
    mostAtOnce: 0,
  }
  const resolver = stubResolver()
  // Slow enough that the answers to what one read brings take many turns, on whatever machine.
  const local: Resolver['local'] = (code) => {
    const untilMs = performance.now() + (code === 'Aslow12' ? 0.02 : 0)
    while (performance.now() < untilMs);
    return resolver.local(code)
  }
  const ask: Resolver['ask'] = (code) => {
    counted.mostAtOnce = Math.max(counted.mostAtOnce, ++counted.atOnce)
    if (code.startsWith('W')) {
      counted.waiting++
      return new Promise<never>(() => undefined)
    }
    return resolver.ask(code)?.finally(() => counted.atOnce--)
  }
  const listener = await listen(
    { port: 0, host: '127.0.0.1', frontDoor },
    {
      ...stubDeps(counted, { resolver: { local, ask } }),
      api: (req, res) => {
        counted.mostAtOnce = Math.max(counted.mostAtOnce, ++counted.atOnce)
        res.once('close', () => counted.atOnce--)
        api(req, res)
      },
      onHandedOver: (reason) => counted.handedOver.push(reason),
      isCrowded: () => false,
      countedAs,
      onLetGo: () => counted.letGo++,
      onError: (error) => {
        throw error
      },
    },
    { ...limits, drainMs: 500, lingerMs: 50, ...bounds },
  )
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= listener.close())
  closes.push(close)
  return { port: listener.port, close, counted }
}

const clients = new Set<Socket>()
afterEach(() => {
  for (const client of clients) client.destroy()
  clients.clear()
})

interface Client {
  readonly socket: Socket
  readonly received: () => string
  readonly closed: Promise<void>
  /** What was received, once it is as asked for. */
  until(check: (received: string) => boolean): Promise<string>
}

async function dial(port: number, localAddress = '127.0.0.1'): Promise<Client> {
  const socket = connect({ port, host: '127.0.0.1', localAddress, allowHalfOpen: true, noDelay: true })
  clients.add(socket)
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1')))
  socket.on('error', () => undefined)
  socket.on('end', () => socket.end())
  const closed = new Promise<void>((resolve) => socket.once('close', () => { resolve() })) // prettier-ignore
  await once(socket, 'connect')
  const until = (check: (received: string) => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!check(received)) return
        socket.off('data', look).off('close', gone)
        resolve(received)
      }
      const gone = (): void => reject(new Error(`closed after ${JSON.stringify(received)}`))
      if (socket.destroyed) gone()
      socket.on('data', look).on('close', gone)
      look()
    })
  return { socket, received: () => received, closed, until }
}

const get = (code: string, ...fields: string[]): string =>
  [`GET /${code} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n')
const answers = (received: string): number => received.split('HTTP/1.1 ').length - 1
const oneMore = (client: Client): ((received: string) => boolean) => {
  const before = answers(client.received())
  return (received) => answers(received) > before && /(\r\n\r\n|\}|<\/\w+>\n|\/api\n)$/.test(received)
}
async function ask(client: Client, request: string): Promise<string> {
  const check = oneMore(client)
  const at = client.received().length
  client.socket.write(request, 'latin1')
  return (await client.until(check)).slice(at)
}

const last = Buffer.from(get('Llast', 'Connection: close'))
/** All that comes back for these bytes; then the connection ends, if need be by a FIN. */
async function exchange(port: number, chunks: readonly Buffer[]): Promise<string> {
  const client = await dial(port)
  for (const chunk of [...chunks, last]) {
    if (client.socket.destroyed || client.socket.writableEnded) break
    client.socket.write(chunk)
    await sleep(1)
  }
  await Promise.race([client.closed, sleep(60)])
  if (!client.socket.destroyed) client.socket.end()
  await client.closed
  return normalise(client.received())
}

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
    for (const target of ['http://a', 'HTTP://b.example:8080', 'https://[::1]:80']) {
      expect(await statusOf(`${target}/Labc123`)).toBe('302')
      expect(await statusOf(`${target}/Sabc123?utm=1`)).toBe('302')
      expect(await statusOf(`${target}/Nabc123`)).toBe('404')
    }
    expect(await statusOf('http://a')).toBe('200')
    expect(await statusOf('http://a?Labc123')).toBe('200')
    const nowhere = ['http://u:p@a/Labc123', 'http://a//Labc123', 'http://a/http://a/Labc123', 'ftp://a/Labc123'] // prettier-ignore
    for (const target of nowhere) expect(await statusOf(target)).toBe('404')
  })

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

/** A few at a time: what does not fit into the listener's backlog is as good as lost. */
async function many(count: number, make: () => Promise<Client>): Promise<Client[]> {
  const made: Client[] = []
  while (made.length < count) made.push(...(await Promise.all(Array.from({ length: 100 }, make))))
  return made
}

describe('clients that are slow, many or deaf', () => {
  it('redirects go on beside 2,000 idle connections and a flood of partial requests', { timeout: 60_000 }, async () => {
    const { port } = await start('raw', { headersMs: 1500, requestMs: 2000, lateCheckMs: 100 })
    const visit = async (): Promise<Client> => {
      const client = await dial(port)
      expect(await ask(client, get('Labc123'))).toContain(' 302 ')
      return client
    }
    const used = await many(500, visit)
    const idle = await many(1500, () => dial(port))
    const partial = await many(500, () => dial(port))
    for (const { socket } of partial) socket.write('GET /Labc123 HTTP/1.1\r\nHost: a\r\nX: ')
    const dripping = setInterval(() => {
      for (const { socket } of partial) if (!socket.destroyed) socket.write('x')
    }, 50)
    const busy = used[0] as Client
    while (partial.some(({ socket }) => !socket.destroyed)) expect(await ask(busy, get('Labc123'))).toContain(' 302 ')
    clearInterval(dripping)
    // Those that never asked are let go as well; those that have asked are kept.
    await Promise.all(idle.map(({ closed }) => closed))
    expect(used.filter(({ socket }) => socket.destroyed)).toEqual([])
    expect(partial.some((client) => client.received().includes('408 Request Timeout'))).toBe(true)
  })

  it('a connection that is idle for too long is closed', async () => {
    const { port } = await start('raw', { keepAliveMs: 100, lateCheckMs: 20 })
    const client = await dial(port)
    expect(await ask(client, get('Labc123'))).toContain(' 302 ')
    await client.closed
  })

  it.each(['raw', 'http'] as const)(
    'a client that asks on and on and never reads is answered no more at the bound, and let go, FRONT_DOOR=%s',
    async (frontDoor) => {
      const { port, counted } = await start(frontDoor, { keepAliveMs: 500, lateCheckMs: 50 })
      const client = await dial(port)
      client.socket.pause()
      const asked = 5000
      client.socket.write(get('Babc123').repeat(asked))
      // Nobody reads, so it learns by writing that the connection is gone.
      const dripping = setInterval(() => client.socket.write('G'), 50)
      await client.closed
      clearInterval(dripping)
      // Those that the kernel took, and ours: not all of 40 MB.
      expect(counted.statuses.length).toBeGreaterThan(limits.unreadBytes / 8000)
      expect(counted.statuses.length).toBeLessThan(asked / 2)
    },
  )

  it('a client that is slow to read gets all of its answers', { timeout: 30_000 }, async () => {
    const { port } = await start()
    const client = await dial(port)
    client.socket.pause()
    client.socket.write(get('Babc123').repeat(1000) + get('Labc123', 'Connection: close'))
    await turns(100)
    client.socket.resume()
    await client.closed
    expect(answers(client.received())).toBe(1001)
  })
})

describe('the sweep', () => {
  it('hands over thousands that are slow to ask in turns, not at once', async () => {
    let handedOver = 0
    const door = new FrontDoor({
      ...stubDeps({ statuses: [], clicks: 0 }),
      turns: new Turns(),
      handOver: () => {
        handedOver++
        const untilMs = performance.now() + 1
        while (performance.now() < untilMs);
      },
      serve: () => expect.unreachable(),
      keepAliveMs: 1e9,
      firstRequestMs: 1e9,
      lateCheckMs: 20,
    })
    const wires = Array.from({ length: 200 }, () => new Wire())
    for (const wire of wires) {
      door.accept(wire)
      wire.push('GET /Labc123 HTTP/1.1\r\n')
    }
    let most = 0
    while (handedOver < wires.length) {
      const before = handedOver
      await turns(1)
      most = Math.max(most, handedOver - before)
    }
    expect(most).toBeLessThan(wires.length / 4)
    door.closeAll()
  })
})

describe.each(['raw', 'http'] as const)('too many connections, FRONT_DOOR=%s', (frontDoor) => {
  /** Each asks after the one before it. */
  const come = async (port: number, count: number, from?: string): Promise<Client[]> => {
    const clients: Client[] = []
    while (clients.length < count) {
      const client = await dial(port, from)
      clients.push(client)
      expect(await ask(client, get('Labc123'))).toContain(' 302 ')
    }
    return clients
  }

  it('the one that has been quiet for longest goes, not the newcomer, and is counted', async () => {
    const { port, counted } = await start(frontDoor, { connections: 3 })
    const [first, second, third] = (await come(port, 3)) as [Client, Client, Client]
    expect(await ask(first, get('Labc123'))).toContain(' 302 ')
    const [newcomer] = (await come(port, 1)) as [Client]
    await second.closed
    expect(counted.letGo).toBe(1)
    for (const client of [first, third, newcomer]) expect(await ask(client, get('Labc123'))).toContain(' 302 ')
  })

  it('one that waits for its answer stays as long as others are idle', async () => {
    const { port, counted } = await start(frontDoor, { connections: 3 })
    const waiting = await dial(port)
    // Nobody answers it before it is let go.
    waiting.socket.write(get('Wabc123'))
    await waitFor(() => counted.waiting === 1)
    const [idle, another] = (await come(port, 2)) as [Client, Client]
    const newcomers = await come(port, 2)
    await Promise.all([idle.closed, another.closed])
    expect([counted.letGo, waiting.socket.destroyed]).toEqual([2, false])
    for (const client of newcomers) client.socket.write(get('Wabc123'))
    await waitFor(() => counted.waiting === 3)
    await come(port, 1)
    await waiting.closed
  })

  it('one that is slow to send its request is no better than an idle one', async () => {
    const { port, counted } = await start(frontDoor, { connections: 3 })
    const slow = await dial(port)
    slow.socket.write('POST /api/echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345')
    await waitFor(() => counted.atOnce === 1)
    const idle = await come(port, 2)
    await come(port, 1)
    await slow.closed
    expect(counted.letGo).toBe(1)
    for (const client of idle) expect(await ask(client, get('Labc123'))).toContain(' 302 ')
  })

  it('one address has a part of them only, and loses its own', { timeout: 30_000 }, async () => {
    const { port, counted } = await start(
      frontDoor,
      { connections: 1000, connectionsPerAddress: 100 },
      (address) => address,
    )
    const others = await come(port, 50, '127.0.0.3')
    const crowd: Client[] = []
    while (crowd.length < 2000)
      crowd.push(...(await Promise.all(Array.from({ length: 50 }, () => dial(port, '127.0.0.2')))))
    await waitFor(() => counted.letGo === 1900)
    await Promise.all(crowd.slice(0, 1800).map(({ closed }) => closed))
    for (const client of others) expect(await ask(client, get('Labc123'))).toContain(' 302 ')
    await come(port, 1, '127.0.0.4')
  })

  it('those that are exempt have all the room', async () => {
    const { port, counted } = await start(frontDoor, { connections: 1000, connectionsPerAddress: 10 })
    const clients = await come(port, 30)
    for (const client of clients) expect(await ask(client, get('Labc123'))).toContain(' 302 ')
    expect(counted.letGo).toBe(0)
  })
})

describe('requests that come behind each other', () => {
  it('are worked on one at a time, and answered in order', async () => {
    const { port, counted } = await start('http')
    const client = await dial(port)
    const codes = Array.from({ length: 500 }, (_, i) => (i % 2 === 0 ? 'Labc123' : `S${i}abc`))
    client.socket.write(codes.map((code) => get(code)).join(''))
    const received = await client.until((received) => answers(received) === 500)
    const said = [...received.matchAll(/Location: https:\/\/example.com\/(\w+)/g)].map(([, code]) => code)
    expect(said).toEqual(codes)
    expect(counted.mostAtOnce).toBe(1)
  })

  it('let others in between: a visitor does not wait for a flood of absent codes', { timeout: 30_000 }, async () => {
    const { port, counted } = await start()
    const visitor = await dial(port)
    expect(await ask(visitor, get('Labc123'))).toContain(' 302 ')
    const flood = await Promise.all(Array.from({ length: 8 }, () => dial(port)))
    const perConnection = Math.floor(65_536 / get('Aslow12').length)
    const before = counted.statuses.length
    for (const { socket } of flood) socket.write(get('Aslow12').repeat(perConnection))
    await waitFor(() => counted.statuses.length > before)
    expect(await ask(visitor, get('Labc123'))).toContain(' 302 ')
    // As long as the flood has thousands of answers to come, a visitor's does not come behind them.
    expect(counted.statuses.length - before).toBeLessThan(perConnection)
    await waitFor(() => counted.statuses.length === before + 1 + flood.length * perConnection, { deadlineMs: 20_000 })
  })

  it.each([
    ['of HTTP/1.1 without a Host', '', 400],
    ['that expect what nobody knows', 'Host: a\r\nExpect: tea\r\n', 417],
  ])('%s are refused in their turn, and nobody else is the worse for it', async (_, fields, status) => {
    const { port } = await start()
    const visitor = await dial(port)
    const client = await dial(port)
    client.socket.write(get('Sabc123') + `GET /Labc123 HTTP/1.1\r\n${fields}\r\n`.repeat(1000))
    const received = await client.until((received) => answers(received) === 2)
    await client.closed
    expect(received).toContain(`HTTP/1.1 ${status} `)
    expect(answers(client.received())).toBe(2)
    expect(await ask(visitor, get('Labc123'))).toContain(' 302 ')
  })

  it('and bodies of the smallest chunks let others in between', { timeout: 30_000 }, async () => {
    const { port } = await start()
    const visitor = await dial(port)
    const head = 'POST /api/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    const uploads = await Promise.all(Array.from({ length: 4 }, () => dial(port)))
    for (const { socket } of uploads) socket.write(`${head}${'1\r\na\r\n'.repeat(150_000)}0\r\n\r\n`)
    let answered = 0
    while (uploads.some((upload) => answers(upload.received()) === 0)) {
      expect(await ask(visitor, get('Labc123'))).toContain(' 302 ')
      answered++
    }
    // Without turns, a visitor is looked at again when the kernel's buffers are read empty: some ten times in all.
    expect(answered).toBeGreaterThan(25)
  })

  it('a body of several pieces arrives whole, between other requests', async () => {
    const { port } = await start()
    const client = await dial(port)
    const body = 'x'.repeat(60_000)
    const upload = `POST /api/echo HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    client.socket.write(get('Sabc123') + upload + get('Pabc123') + upload + get('Nabc123'))
    const received = await client.until((received) => answers(received) === 5 && received.endsWith('}'))
    expect([...received.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '302',
      '200',
      '301',
      '200',
      '404',
    ])
    expect(received.match(/"length":60000/g)).toHaveLength(2)
  })
})

describe.each(['raw', 'http'] as const)('a stop, FRONT_DOOR=%s', (frontDoor) => {
  it('loses no request, and tells every client to go', { timeout: 30_000 }, async () => {
    const { port, close, counted } = await start(frontDoor, { lingerMs: 300, drainMs: 3000 })
    let answered = 0
    const started = new Set<Client>()
    const visit = async (codes: readonly string[], thinksMs: number): Promise<void> => {
      const client = await dial(port)
      for (let i = 0; ; i++) {
        const answer = await ask(client, get(codes[i % codes.length] ?? ''))
        answered++
        started.add(client)
        if (answer.includes('Connection: close')) return client.closed
        if (thinksMs > 0) await sleep(thinksMs)
      }
    }
    const visits = Array.from({ length: 40 }, (_, i) =>
      visit(i % 2 === 0 ? ['Labc123'] : ['Sabc123', 'Labc123', 'Nabc123'], i % 3 === 0 ? 30 : 0),
    )
    while (started.size < visits.length) await sleep(10)
    await sleep(50)
    await close()
    await Promise.all(visits)
    expect(counted.statuses).toHaveLength(answered)
    await expect(dial(port)).rejects.toThrow()
  })

  it('tells who is being answered by the API that it is the last answer', async () => {
    let answer = (): void => undefined
    const begun = new Promise<void>((resolve) => (answer = resolve))
    const { port, close, counted } = await start(frontDoor, { lingerMs: 20, drainMs: 3000 }, undefined, (req, res) => {
      void begun.then(() => answerLength(req, res))
    })
    const client = await dial(port)
    client.socket.write(get('api/x'))
    await waitFor(() => counted.atOnce === 1)
    const stopped = close()
    // Behind the only look for idle connections.
    await sleep(100)
    answer()
    await client.closed
    expect(client.received()).toContain('\r\nConnection: close\r\n')
    await stopped
  })

  it('lets a client that is slow to read have what it was answered', async () => {
    const { port, close, counted } = await start(frontDoor, { lingerMs: 20, drainMs: 3000 })
    const client = await dial(port)
    client.socket.pause()
    client.socket.write(get('Babc123').repeat(1000))
    let before = -1
    await waitFor(() => {
      const isStill = before === counted.statuses.length && before > 0
      before = counted.statuses.length
      return isStill
    })
    const stopped = close()
    await sleep(100)
    client.socket.resume()
    await client.closed
    expect(answers(client.received())).toBe(counted.statuses.length)
    await stopped
  })

  it('does not wait for clients that are idle, nor for ever for those that do not end', async () => {
    const { port, close } = await start(frontDoor, { lingerMs: 20, drainMs: 300 })
    const [idle, used, stuck] = [await dial(port), await dial(port), await dial(port)]
    await ask(used, get('Labc123'))
    stuck.socket.write('GET /Labc123 HTTP/1.1\r\n')
    await sleep(20)
    await close()
    await Promise.all([idle.closed, used.closed, stuck.closed])
  })
})
