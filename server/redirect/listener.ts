// The public port. One listener accepts; the front door answers redirects on the raw socket; node:http has the rest, and
// decides as it does. FRONT_DOOR=http gives every connection to node:http from its first byte.
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { FrontDoor } from './front-door.ts'
import { Turns } from './one-at-a-time.ts'
import type { HandOverReason } from './visitor.ts'
import { Guests, type GuestsOptions } from './guests.ts'
import { createRedirectHandler, type RedirectDeps } from './handler.ts'
import { createHttpServer, type HttpServer } from './http-server.ts'
import type { ListenHandle } from '../processes/stand-in.ts'

export interface ListenerDeps extends RedirectDeps {
  readonly api: RequestListener
  readonly console: RequestListener
  /** node:http has a request that the front door does not answer. */
  readonly onHandedOver: (reason: HandOverReason) => void
  /** Room for the API's answers is short: who takes nothing of one is let go sooner. */
  readonly isCrowded: () => boolean
  /** A body that has bounds of its own: whoever reads it sees to them. */
  readonly hasOwnBounds?: (req: IncomingMessage) => boolean
  /** What connections of an address are counted under; undefined: they are as good as many people's. */
  readonly countedAs: GuestsOptions['countedAs']
  /** A connection had to go, because there was a newcomer and no room. */
  readonly onLetGo: () => void
  readonly onError: (error: Error) => void
}

type Bound =
  | 'keepAliveMs' | 'headersMs' | 'requestMs' | 'lateCheckMs' | 'crowdedMs' | 'connections' | 'connectionsPerAddress'
  | 'unreadBytes' | 'lingerMs' | 'drainMs' // prettier-ignore
export type Bounds = Readonly<Record<Bound, number>>

export async function listen(
  { port, host, frontDoor }: Pick<Config, 'port' | 'host' | 'frontDoor'>,
  deps: ListenerDeps,
  bounds: Bounds = limits,
) {
  const turns = new Turns()
  const http = createHttpServer({ ...deps, turns, redirects: createRedirectHandler(deps) }, bounds)
  const guests = new Guests({
    ...deps,
    most: bounds.connections,
    mostPerAddress: bounds.connectionsPerAddress,
  })
  const door = new FrontDoor({
    ...deps,
    turns,
    handOver: (socket, reason) => guests.handedOver(socket, http.take(socket, reason)),
    serve: (inner, onAnswered) => http.take(inner, undefined, onAnswered),
    keepAliveMs: bounds.keepAliveMs,
    firstRequestMs: bounds.headersMs,
    lateCheckMs: bounds.lateCheckMs,
  })
  const hold = frontDoor === 'raw' ? (socket: Duplex) => door.accept(socket) : (socket: Duplex) => http.take(socket)
  const server = createServer({ noDelay: true, allowHalfOpen: true, highWaterMark: bounds.unreadBytes }, (socket) => {
    guests.admit(socket, hold)
  })
  try {
    await bind(server, port, host)
  } catch (error) {
    door.closeAll()
    http.close()
    throw error
  }
  server.on('error', deps.onError)
  const adopted = new Set<Socket>()
  return {
    port: (server.address() as AddressInfo).port,
    /** Of its own; undefined: the primary process accepts for all. */
    handle: isShared(port) ? (server as unknown as { _handle: ListenHandle })._handle : undefined,
    /** A connection that somebody else accepted. */
    adopt(socket: Socket): void {
      // As our own server makes them.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      adopted.add(socket)
      socket.once('close', () => adopted.delete(socket))
      server.emit('connection', socket)
    },
    /** Stops accepting, answers what is in flight, and lets nobody keep a connection. */
    close: () => drain(server, http, door, bounds, adopted),
  }
}

// Where the kernel can share a port, each worker has a listener of its own. Through the primary, a connection that is on
// its way to a worker that dies just then would stay open and never be answered (docs/decisions/0010).
const isShared = (port: number): boolean => port !== 0 && process.platform === 'linux'

const bind = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    const reusePort = isShared(port)
    server.listen({ port, host, backlog: limits.backlog, reusePort, exclusive: reusePort }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })

// A connection that was just used is likely to carry the next request already: closing it now would lose that one. It is
// left alone for a moment, in which the next request is answered with `Connection: close`.
async function drain(
  server: Server,
  http: HttpServer,
  door: FrontDoor,
  bounds: Bounds,
  adopted: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  http.drain()
  door.drain(bounds.lingerMs)
  const linger = setTimeout(() => {
    // Not before what has arrived by now is read: the process may have been too busy to see it.
    setImmediate(() => {
      door.drain(0)
      http.server.closeIdleConnections()
    })
  }, bounds.lingerMs)
  const stragglers = setTimeout(() => {
    door.closeAll()
    http.close()
  }, bounds.drainMs)
  await closed
  for (const socket of adopted) if (!socket.closed) await once(socket, 'close')
  clearTimeout(linger)
  clearTimeout(stragglers)
  door.closeAll()
  http.close()
}
