// The public port. One listener accepts; the front door answers plain redirects on the raw socket; node:http has the rest,
// with the same look-up before anything else. FRONT_DOOR=http gives every connection to node:http from its first byte.
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from 'node:http'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { limits, type Config } from '../config.ts'
import { createFrontDoor, type FrontDoor } from './front-door.ts'
import type { RedirectDeps, RedirectHandler } from './handler.ts'
import type { ListenHandle } from '../processes/stand-in.ts'

export interface ListenerDeps extends Pick<RedirectDeps, 'resolver' | 'clicks' | 'hits' | 'onAnswer'> {
  readonly redirects: RedirectHandler
  /** Everything that is no tier-1 hit: redirects that have to ask, the API, pages. */
  readonly pages: RequestListener
  readonly onRefused: () => void
  readonly onError: (error: Error) => void
}

type Bound =
  | 'keepAliveMs' | 'headersMs' | 'requestMs' | 'lateCheckMs' | 'connections' | 'unreadBytes' | 'lingerMs' | 'drainMs' // prettier-ignore
export type Bounds = Readonly<Record<Bound, number>>

export interface Listener {
  readonly port: number
  /** Of its own; undefined: the primary process accepts for all. */
  readonly handle: ListenHandle | undefined
  /** A connection that somebody else accepted. */
  adopt(socket: Socket): void
  /** Stops accepting, answers what is in flight, and lets nobody keep a connection. */
  close(): Promise<void>
}

export async function listen(
  { port, host, frontDoor }: Pick<Config, 'port' | 'host' | 'frontDoor'>,
  deps: ListenerDeps,
  bounds: Bounds = limits,
): Promise<Listener> {
  const http = createPages(deps, bounds)
  const handOver = http.take
  const door = createFrontDoor({
    ...deps,
    handOver,
    keepAliveMs: bounds.keepAliveMs,
    firstRequestMs: bounds.headersMs,
    lateCheckMs: bounds.lateCheckMs,
  })
  const server = createServer(
    { noDelay: true, allowHalfOpen: true, highWaterMark: bounds.unreadBytes },
    frontDoor === 'raw' ? door.accept : handOver,
  )
  // What one worker refuses is not offered to the next: without `dropMaxConnection` full workers would pass it around.
  Object.assign(server, { maxConnections: bounds.connections, dropMaxConnection: true })
  server.on('drop', deps.onRefused)
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
    handle: isShared(port) ? (server as unknown as { _handle: ListenHandle })._handle : undefined,
    adopt(socket) {
      // As our own server makes them.
      socket.allowHalfOpen = true
      socket.setNoDelay(true)
      adopted.add(socket)
      socket.once('close', () => adopted.delete(socket))
      server.emit('connection', socket)
    },
    close: () => drain(server, http, door, bounds, adopted),
  }
}

interface Pages {
  readonly server: HttpServer
  take(socket: Duplex): void
  /** From now on every answer ends its connection. */
  drain(): void
  close(): void
}

function createPages({ redirects, pages }: ListenerDeps, bounds: Bounds): Pages {
  let draining = false
  const options = {
    keepAliveTimeout: bounds.keepAliveMs,
    headersTimeout: bounds.headersMs,
    requestTimeout: bounds.requestMs,
    connectionsCheckingInterval: bounds.lateCheckMs,
  }
  const server = createHttpServer(options, (req, res) => {
    if (draining) res.setHeader('Connection', 'close')
    if (!redirects.tryLocal(req, res)) pages(req, res)
  })
  const unread = watchUnread(bounds)
  // It never listens itself. Without this event it would not keep a list of its connections, and enforce no time-out.
  server.emit('listening')
  return {
    server,
    take(socket) {
      unread.add(socket)
      server.emit('connection', socket)
    },
    drain() {
      draining = true
    },
    close() {
      unread.stop()
      server.closeAllConnections()
      server.close()
    },
  }
}

/**
 * A client that takes nothing of its answer for so long is let go. Node's own way, `server.timeout`, is a timer per
 * connection that every read and write moves: that alone was a tenth of what a bare redirect costs.
 */
function watchUnread({ keepAliveMs, lateCheckMs }: Bounds) {
  const sockets = new Map<Duplex, { left: number; sinceMs: number }>()
  const look = setInterval(() => {
    const nowMs = performance.now()
    for (const [socket, seen] of sockets) {
      const left = socket.writableLength
      if (left === 0 || left !== seen.left) Object.assign(seen, { left, sinceMs: nowMs })
      else if (nowMs - seen.sinceMs >= keepAliveMs) socket.destroy()
    }
  }, lateCheckMs)
  look.unref()
  return {
    add(socket: Duplex): void {
      sockets.set(socket, { left: 0, sinceMs: performance.now() })
      socket.once('close', () => sockets.delete(socket))
    },
    stop(): void {
      clearInterval(look)
    },
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
  http: Pages,
  door: FrontDoor,
  bounds: Bounds,
  adopted: ReadonlySet<Socket>,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      resolve()
    })
  })
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
