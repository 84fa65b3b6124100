// What QuickLink is compared with, each in a process of its own: `node peer.ts net|netClose|http <port>`.
// They answer a code that is there with the same 302 and the same headers, and one that is not with the same small page.
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer } from 'node:net'

const location = 'https://example.org/a/page/of/usual/length?from=quicklink'
const fields = ['Location', location, 'Cache-Control', 'no-store', 'Content-Length', '0']

/** What the generator asks for when nobody should have it. */
const absentBegins = '/link--'
const page = `<!doctype html>\n<title>Not found</title>\n${'<p>There is no link with this address.</p>\n'.repeat(14)}`
const pageFields = ['Content-Type', 'text/html; charset=utf-8', 'Cache-Control', 'no-store', 'Content-Length', String(page.length)] // prettier-ignore

const redirect: RequestListener = (req, res) => {
  if (req.url?.startsWith(absentBegins) === true) {
    res.writeHead(404, pageFields)
    res.end(req.method === 'HEAD' ? undefined : page, 'latin1')
    return
  }
  res.writeHead(302, fields)
  res.end()
}

/**
 * The floor: no server that understands what it is asked can be cheaper. It looks at one byte, where an absent code differs
 * from one that is there, and whether a connection stays is decided before anybody comes.
 */
function net(port: number, closes: boolean): void {
  const date = `Date: ${new Date().toUTCString()}\r\n`
  const connection = closes ? 'Connection: close\r\n' : 'Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n'
  const wire = (status: string, all: readonly string[]): string => {
    const lines = all.map((field, i) => (i % 2 === 0 ? `${field}: ` : `${field}\r\n`)).join('')
    return `HTTP/1.1 ${status}\r\n${lines}${date}${connection}\r\n`
  }
  const found = wire('302 Found', fields)
  const absent = wire('404 Not Found', pageFields) + page
  const dashAt = `GET ${absentBegins}`.length - 1
  const dash = 45
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', (chunk: Buffer) => {
      const answer = chunk[0] === getBegins && chunk[dashAt] === dash ? absent : found
      socket.write(answer, 'latin1')
      // As node:http does it: without waiting for what the client says to that, which costs a seventh more.
      if (closes) socket.destroySoon()
    })
    socket.on('error', () => socket.destroy())
  })
  server.listen(port, '127.0.0.1')
}
const getBegins = 71

const [kind = '', port = ''] = process.argv.slice(2)
if (kind === 'http') createHttpServer(redirect).listen(Number(port), '127.0.0.1')
else net(Number(port), kind === 'netClose')
