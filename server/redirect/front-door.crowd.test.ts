// The front door over TCP where clients are slow, many, or send much at once.
import { describe, expect, it } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { limits } from '../limits.ts'
import { answers, ask, type Client, dial, get, many, start } from './front-door.client.stub.ts'
import { stubDeps, turns, Wire } from './front-door.stub.ts'
import { FrontDoor } from './front-door.ts'
import { Turns } from './one-at-a-time.ts'

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

  it.each(['raw', 'http'] as const)(
    'a body that does not come whole is told 408 in time, unless it has bounds of its own, FRONT_DOOR=%s',
    async (frontDoor) => {
      const { port } = await start(frontDoor, { requestMs: 300, lateCheckMs: 50 })
      const slow = (bounds: string): string => `POST /api/x HTTP/1.1\r\nHost: a\r\nX-Bounds: ${bounds}\r\nContent-Length: 100\r\n\r\n`
      const [late, own] = [await dial(port), await dial(port)]
      const dripping = setInterval(() => late.socket.write('x'), 50)
      late.socket.write(slow('usual'))
      own.socket.write(slow('own'))
      await late.closed
      clearInterval(dripping)
      expect(late.received()).toContain('408 Request Timeout')
      expect(own.socket.destroyed).toBe(false)
      own.socket.write('x'.repeat(100))
      await waitFor(() => own.received().includes(' 200 '))
    },
  ) // prettier-ignore

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
