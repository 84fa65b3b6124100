// For the tests of the front door over TCP: a listener with the front door and node:http behind it, and clients that do as
// they like.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach } from 'vitest'
import { limits } from '../limits.ts'
import { answerLength, normalise, stubDeps, stubResolver } from './front-door.stub.ts'
import { listen, type Bounds, type ListenerDeps } from './listener.ts'
import type { Resolver } from './resolve.ts'

export const closes: (() => Promise<void>)[] = []
afterEach(() => Promise.all(closes.splice(0).map((close) => close())))

export async function start(
  frontDoor: 'raw' | 'http' = 'raw',
  bounds: Partial<Bounds> = {},
  countedAs: ListenerDeps['countedAs'] = () => undefined,
  api: ListenerDeps['api'] = answerLength,
) {
  const counted = {
    statuses: [] as number[],
    clicks: 0,
    visits: [] as string[],
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
      console: answerLength,
      api: (req, res) => {
        counted.mostAtOnce = Math.max(counted.mostAtOnce, ++counted.atOnce)
        res.once('close', () => counted.atOnce--)
        api(req, res)
      },
      onForm: () => undefined,
      onHandedOver: (reason) => counted.handedOver.push(reason),
      isCrowded: () => false,
      hasOwnBounds: (req) => req.headers['x-bounds'] === 'own',
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

export interface Client {
  readonly socket: Socket
  readonly received: () => string
  readonly closed: Promise<void>
  /** What was received, once it is as asked for. */
  until(check: (received: string) => boolean): Promise<string>
}

export async function dial(port: number, localAddress = '127.0.0.1'): Promise<Client> {
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

export const get = (code: string, ...fields: string[]): string =>
  [`GET /${code} HTTP/1.1`, 'Host: a', ...fields, '', ''].join('\r\n')
export const answers = (received: string): number => received.split('HTTP/1.1 ').length - 1
export const oneMore = (client: Client): ((received: string) => boolean) => {
  const before = answers(client.received())
  return (received) => answers(received) > before && /(\r\n\r\n|\}|<\/\w+>\n|\/api\n)$/.test(received)
}
export async function ask(client: Client, request: string): Promise<string> {
  const check = oneMore(client)
  const at = client.received().length
  client.socket.write(request, 'latin1')
  return (await client.until(check)).slice(at)
}

export const last = Buffer.from(get('Llast', 'Connection: close'))
/** All that comes back for these bytes; then the connection ends, if need be by a FIN. */
export async function exchange(port: number, chunks: readonly Buffer[]): Promise<string> {
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

/** A few at a time: what does not fit into the listener's backlog is as good as lost. */
export async function many(count: number, make: () => Promise<Client>): Promise<Client[]> {
  const made: Client[] = []
  while (made.length < count) made.push(...(await Promise.all(Array.from({ length: 100 }, make))))
  return made
}
