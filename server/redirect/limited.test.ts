// Links with a limit, at the front door and behind it: a hit that is there costs no wait, one that is not is waited for.
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { limits } from '../limits.ts'
import { Lease, type Verdict } from '../hits/hit-lease.ts'
import type { Code } from '../link.ts'
import { waitFor } from '../../embedded/wait.ts'
import { stubDeps, type Counted } from './front-door.stub.ts'
import { listen } from './listener.ts'

const releases: (() => unknown)[] = []
afterEach(async () => {
  for (const release of releases.splice(0).reverse()) await release()
})

interface Waiting {
  readonly isWanted: () => boolean
  readonly resolve: (verdict: Verdict) => void
  readonly reject: (error: Error) => void
}

/** All links share one lease with so many hits left. */
async function start(frontDoor: 'raw' | 'http', left: number) {
  const counted: Counted = { statuses: [], clicks: 0 }
  const waiting: Waiting[] = []
  const looking: ((verdict: Verdict) => void)[] = []
  const asks: string[] = []
  const lease = new Lease({ code: 'abc' as Code, linkId: 7, version: 1, limit: 1000 }, () => asks.push('low'))
  lease.fill(left, { name: '2030-01', endsMs: Infinity }, Infinity)
  const hits = {
    leaseOf: () => lease,
    acquire: (_lease: Lease, isWanted: () => boolean) =>
      new Promise<Verdict>((resolve, reject) => waiting.push({ isWanted, resolve, reject })),
    look: () => new Promise<Verdict>((resolve) => looking.push(resolve)),
    secondsToMonthEnd: () => 4711,
  }
  const listener = await listen({ port: 0, host: '127.0.0.1', frontDoor }, {
    ...stubDeps(counted, { hits }),
    api: () => undefined,
    console: () => undefined,
    onForm: () => undefined,
    onHandedOver: () => undefined, isCrowded: () => false,
    countedAs: () => undefined,
    onLetGo: () => undefined,
    onError: (error) => {
      throw error
    },
  }, { ...limits, drainMs: 200, lingerMs: 20 }) // prettier-ignore
  releases.push(() => listener.close())
  const socket: Socket = connect(listener.port, '127.0.0.1')
  releases.push(() => socket.destroy())
  let received = ''
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
  const ask = (code: string, method = 'GET'): void => {
    socket.write(`${method} /${code} HTTP/1.1\r\nHost: a\r\n\r\n`)
  }
  return { counted, waiting, looking, asks, lease, socket, ask, received: () => received }
}

describe.each(['raw', 'http'] as const)('FRONT_DOOR=%s', (door) => {
  it('a hit that is there is spent at once, and the next ones are asked for at a quarter', async () => {
    const { ask, counted, lease, asks, waiting } = await start(door, 8)
    for (let n = 1; n <= 6; n++) {
      ask('Lcode12')
      await waitFor(() => counted.statuses.length === n)
    }
    expect([lease.left, counted.clicks, asks.length, waiting.length]).toEqual([2, 6, 1, 0])
  })

  it.each(['Lcode12', 'Scode12'])('%s: where asking for one breaks, the request is answered 500', async (code) => {
    const { ask, counted, waiting, received } = await start(door, 0)
    ask(code)
    await waitFor(() => waiting.length === 1)
    waiting[0]!.reject(new Error('it broke'))
    await waitFor(() => received().includes('HTTP/1.1 500 '))
    expect(counted).toMatchObject({ statuses: [500], clicks: 0 })
  })

  it.each(['Lcode12', 'Scode12'])(
    '%s: one that is not there is waited for, and the request is answered',
    async (code) => {
      const { ask, counted, waiting, received } = await start(door, 0)
      ask(code)
      await waitFor(() => waiting.length === 1)
      expect([counted.statuses, received()]).toEqual([[], ''])
      waiting[0]!.resolve('granted')
      await waitFor(() => received().includes('\r\n\r\n'))
      expect(received()).toMatch(/^HTTP\/1.1 302 /)
      expect(counted).toEqual({ statuses: [302], clicks: 1 })
    },
  )

  it.each<[Verdict, number, RegExp]>([
    ['used_up', 429, /\r\nRetry-After: 4711\r\n/],
    ['gone', 404, /not_found/],
    ['unknown', 503, /\r\nRetry-After: 1\r\n/],
    ['overloaded', 503, /\r\nRetry-After: 1\r\n/],
  ])('%s is answered %i, once, and counts as no click', async (verdict, status, text) => {
    const { ask, counted, waiting, received } = await start(door, 0)
    ask('Lcode12')
    await waitFor(() => waiting.length === 1)
    waiting[0]!.resolve(verdict)
    await waitFor(() => received().includes('}'))
    expect(received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(received()).toMatch(text)
    expect(counted).toEqual({ statuses: [status], clicks: 0 })
  })

  it('HEAD is answered as GET would be, and spends nothing', async () => {
    const { ask, counted, waiting, looking, lease } = await start(door, 8)
    ask('Lcode12', 'HEAD')
    await waitFor(() => looking.length === 1)
    looking[0]!('granted')
    await waitFor(() => counted.statuses.length === 1)
    expect([lease.left, waiting.length, counted.clicks]).toEqual([8, 0, 0])
  })

  it('nothing is wanted any more by a client that has gone', async () => {
    const { ask, socket, waiting } = await start(door, 0)
    ask('Lcode12')
    await waitFor(() => waiting.length === 1)
    expect(waiting[0]!.isWanted()).toBe(true)
    socket.destroy()
    await waitFor(() => !waiting[0]!.isWanted())
  })
})

it.each(['raw', 'http'] as const)(
  'FRONT_DOOR=%s: a second request waits its turn, and each is answered once',
  async (door) => {
    const { ask, waiting, counted, received } = await start(door, 0)
    ask('Lcode12')
    await waitFor(() => waiting.length === 1)
    ask('Lcode34')
    waiting[0]!.resolve('granted')
    await waitFor(() => waiting.length === 2)
    expect(counted.statuses).toEqual([302])
    waiting[1]!.resolve('used_up')
    await waitFor(() => received().endsWith('}'))
    expect(received().match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 302', 'HTTP/1.1 429'])
    expect(counted).toEqual({ statuses: [302, 429], clicks: 1 })
  },
)
