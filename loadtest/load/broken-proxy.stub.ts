// A QuickLink with a fault, for the test that the checks can fail: everything is passed on, and something is done to it.
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export const faults = ['wrong-location', 'some-500s', 'slow', 'dropped'] as const
export type Fault = (typeof faults)[number]

const everyNth = 100
const slowMs = 120

export async function startBrokenProxy(to: string, fault: Fault): Promise<{ url: string; close(): Promise<void> }> {
  const agent = new Agent({ keepAlive: true })
  let asked = 0
  const server = createServer((incoming, outgoing) => {
    const struck = ++asked % everyNth === 0
    // Not closed: Go would ask once more on another connection, as browsers do.
    if (struck && fault === 'dropped') return
    if (struck && fault === 'some-500s') return void outgoing.writeHead(500).end()
    const { method, url, headers } = incoming
    const passed = request(to + (url ?? ''), { method, headers, agent }, (answer) => {
      const { location } = answer.headers
      const wrong = struck && fault === 'wrong-location' && location !== undefined
      outgoing.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        ...(wrong ? { location: `${location}#` } : {}),
      })
      void (fault === 'slow' ? pause(slowMs) : Promise.resolve()).then(() => answer.pipe(outgoing))
    })
    passed.on('error', () => refuse(outgoing))
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuse(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.writeHead(502)
  outgoing.end()
}
