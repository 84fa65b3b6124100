// node:http, for all that the front door does not answer itself: it is given connections, and never listens.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { limits } from '../limits.ts'
import type { HandOverReason } from './visitor.ts'
import { pathOf, siteOf, toOriginForm } from './handler.ts'
import { Line, type Turns } from './one-at-a-time.ts'
import type { Sites } from './sites.ts'

interface HttpDeps {
  readonly redirects: RequestListener
  readonly sites: Sites
  readonly turns: Turns
  readonly api: RequestListener
  readonly console: RequestListener
  /** A request that the front door has left to us. */
  readonly onHandedOver: (reason: HandOverReason) => void
  /** Room for answers is short: who takes nothing of one is let go sooner. */
  readonly isCrowded: () => boolean
  /** A body that has bounds of its own: whoever reads it sees to them. */
  readonly hasOwnBounds?: (req: IncomingMessage) => boolean
}

type Bounds = Pick<typeof limits, 'keepAliveMs' | 'headersMs' | 'requestMs' | 'lateCheckMs' | 'crowdedMs'>

export type HttpServer = ReturnType<typeof createHttpServer>

export function createHttpServer(deps: HttpDeps, bounds: { readonly [K in keyof Bounds]: number }) {
  let draining = false
  const lines = new Map<Duplex, Line>()
  const begin = (req: IncomingMessage, res: ServerResponse, line: Line): void => {
    if (line.reason !== undefined) deps.onHandedOver(line.reason)
    if (line.onAnswered !== undefined) afterwards(req, res, line.onAnswered)
    if (draining) res.setHeader('Connection', 'close')
    const refused = refusalOf(req)
    if (refused !== undefined) {
      res.writeHead(refused, { 'Content-Length': 0, Connection: 'close' }).end()
      return
    }
    const beside = siteOf(deps.sites, req).besides(pathOf(req.url ?? ''))
    if (beside === undefined) deps.redirects(req, res)
    else deps[beside](req, res)
  }
  const options = {
    keepAliveTimeout: bounds.keepAliveMs,
    headersTimeout: bounds.headersMs,
    // In `watch`: of node's own no request can be left out.
    requestTimeout: 0,
    connectionsCheckingInterval: bounds.lateCheckMs,
    requireHostHeader: false,
  }
  const arrive: RequestListener = (req, res) => {
    // Once, here: all that is behind this finds a path.
    if (!req.url?.startsWith('/')) toOriginForm(req)
    lines.get(req.socket)?.arrive(req, res)
  }
  const server = createServer(options, arrive).on('checkExpectation', arrive)
  const watch = watchLines(lines, deps, bounds)
  // Without this event it would not keep a list of its connections, and enforce no time-out.
  server.emit('listening')
  return {
    server,
    /**
     * A connection for good, or one of the front door's, which hears when a request is answered and read to its end. Without
     * a reason it never was the front door's.
     */
    take(socket: Duplex, reason?: HandOverReason, onAnswered?: () => void): Line {
      server.emit('connection', socket)
      const line = new Line(socket, begin, deps.turns, reason, onAnswered)
      lines.set(socket, line)
      socket.once('close', () => lines.delete(socket))
      return line
    },
    /** From now on every answer ends its connection. */
    drain(): void {
      draining = true
      for (const line of lines.values()) line.drain()
    },
    close(): void {
      clearInterval(watch)
      server.closeAllConnections()
      server.close()
    },
  }
}

/** When the answer is written, and the request is read to its end, also where its handler has left a part of the body. */
function afterwards(req: IncomingMessage, res: ServerResponse, onAnswered: () => void): void {
  res.once('close', () => {
    if (req.complete) onAnswered()
    else req.once('end', onAnswered).resume()
  })
}

/**
 * What node:http would answer by itself, before the line hears of it. Of many at once it keeps the answers, pauses the socket,
 * and fails an assertion of its own at the next piece, which ends the process.
 */
function refusalOf({ httpVersion, headers: { host, expect } }: IncomingMessage): number | undefined {
  if (httpVersion !== '1.1') return undefined
  if (host === undefined) return 400
  return expect === undefined || /(?:^|\W)100-continue(?:$|\W)/i.test(expect) ? undefined : 417
}

const tooLate = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/**
 * A client whose request has not come whole for so long is told so, and let go; so is one that takes nothing of its answer. Node's own way, `server.timeout`, is a timer per
 * connection that every read and write moves: that alone was a tenth of what a bare redirect costs.
 */
function watchLines(
  lines: ReadonlyMap<Duplex, Line>,
  { isCrowded, hasOwnBounds }: Pick<HttpDeps, 'isCrowded' | 'hasOwnBounds'>,
  { keepAliveMs, crowdedMs, lateCheckMs, requestMs }: { readonly [K in keyof Bounds]: number },
): NodeJS.Timeout {
  const look = (): void => {
    const nowMs = performance.now()
    const patienceMs = isCrowded() ? Math.min(crowdedMs, keepAliveMs) : keepAliveMs
    for (const [socket, line] of lines) {
      const late = nowMs - line.lastMs >= requestMs ? line.unread : undefined
      if (late && hasOwnBounds?.(late.req) !== true) {
        if (!late.headersSent) socket.write(tooLate)
        socket.destroy()
        continue
      }
      const left = socket.writableLength
      // What is left may be as much as before because the next part of the answer has taken the place of one that went.
      const taken = ((socket as Partial<Socket>).bytesWritten ?? 0) - left
      if (left === 0 || taken !== line.taken) Object.assign(line, { taken, takenMs: nowMs })
      else if (nowMs - line.takenMs >= patienceMs) socket.destroy()
    }
  }
  return setInterval(look, lateCheckMs).unref()
}
