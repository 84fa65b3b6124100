import { once } from 'node:events'
import { type AddressInfo, type Server, type Socket, connect, createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'
import { waitFor } from '../../embedded/wait.ts'

let echo: Server
let proxy: FaultProxy
const clients: Client[] = []

interface Client {
  readonly socket: Socket
  heard: string
  ended: boolean
  error: string | undefined
}

beforeEach(async () => {
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  echo.listen(0, '127.0.0.1')
  await once(echo, 'listening')
  proxy = await startFaultProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port })
})

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy()
  await proxy.close()
  echo.close()
})

function open(): Client {
  const socket = connect({ host: proxy.host, port: proxy.port, allowHalfOpen: true })
  const client: Client = { socket, heard: '', ended: false, error: undefined }
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => (client.heard += text))
  socket.on('end', () => (client.ended = true))
  socket.on('error', (error: NodeJS.ErrnoException) => (client.error = error.code))
  clients.push(client)
  return client
}

async function talking(): Promise<Client> {
  const client = open()
  client.socket.write('hello ')
  await waitFor(() => client.heard === 'hello ')
  return client
}

/** Long enough for an echo, many times over. */
const staysSo = async (condition: () => boolean): Promise<void> => {
  const endMs = performance.now() + 100
  await waitFor(() => {
    expect(condition()).toBe(true)
    return performance.now() > endMs
  })
}

describe('a fault proxy', () => {
  test('passes bytes, ends and large streams in both directions, and counts them', async () => {
    const client = await talking()
    const large = 'x'.repeat(5_000_000)
    client.socket.end(large)
    await waitFor(() => client.ended)
    expect(client.heard).toBe(`hello ${large}`)
    expect(proxy.counters).toEqual({ connections: 1, toTarget: 5_000_006, toClient: 5_000_006 })
  })

  test('refuses connections and resets open ones, then listens on the same port again', async () => {
    const before = await talking()
    await proxy.refuse()
    await waitFor(() => before.error === 'ECONNRESET')
    const refused = open()
    await waitFor(() => refused.error === 'ECONNREFUSED')
    await proxy.pass()
    await talking()
  })

  test('as a black hole it accepts and stays silent, and delivers what it held when it heals', async () => {
    const old = await talking()
    await proxy.blackHole()
    old.socket.write('held')
    const young = open()
    young.socket.write('young')
    await waitFor(() => !young.socket.connecting)
    await staysSo(() => old.heard === 'hello ' && young.heard === '')
    expect(proxy.counters.toTarget).toBe(6)
    await proxy.pass()
    await waitFor(() => old.heard === 'hello held' && young.heard === 'young')
  })

  test('delays answers by at least that much, in order, also when the delay ends', async () => {
    const client = await talking()
    await proxy.delay(150)
    const sentMs = performance.now()
    client.socket.write('1')
    await waitFor(() => client.heard === 'hello 1')
    expect(performance.now() - sentMs).toBeGreaterThanOrEqual(149)
    client.socket.write('2')
    await waitFor(() => proxy.counters.toTarget === 8)
    await proxy.pass()
    client.socket.write('3')
    await waitFor(() => client.heard === 'hello 123')
  })

  test('cuts every connection and goes on accepting', async () => {
    const [a, b] = [await talking(), await talking()]
    await proxy.cut()
    await waitFor(() => a.error === 'ECONNRESET' && b.error === 'ECONNRESET')
    await talking()
    expect(proxy.counters.connections).toBe(3)
  })

  test('drops replies while requests arrive, and resets the holed connections afterwards', async () => {
    const [holed, idle] = [await talking(), await talking()]
    await proxy.dropReplies()
    holed.socket.write('lost')
    await waitFor(() => proxy.counters.toTarget === 16)
    await staysSo(() => holed.heard === 'hello ')
    await proxy.pass()
    await waitFor(() => holed.error === 'ECONNRESET')
    idle.socket.write('kept')
    await waitFor(() => idle.heard === 'hello kept')
  })

  test('leaves open connections stranded for good, while new ones pass', async () => {
    const stranded = await talking()
    await proxy.strand()
    stranded.socket.write('lost')
    await talking()
    await proxy.pass()
    await staysSo(() => stranded.heard === 'hello ' && !stranded.ended && stranded.error === undefined)
  })

  test('passes on that the target is gone', async () => {
    echo.close()
    const client = open()
    await waitFor(() => client.error === 'ECONNRESET')
  })

  test('passes on that the target has no name any more', async () => {
    const nameless = await startFaultProxy({ host: 'a-container-that-is-down.invalid', port: 1 })
    const socket = connect({ host: nameless.host, port: nameless.port })
    const error = new Promise((resolve) => socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code)))
    expect(await error).toBe('ECONNRESET')
    await nameless.close()
  })
})
