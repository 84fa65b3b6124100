// A server that lets itself be connected to as Redis does, and then answers as it is told: with nonsense.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

export type NonsenseRedis = Awaited<ReturnType<typeof startNonsenseRedis>>

const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
const info = bulk('redis_version:7.0.15\r\nrun_id:abc\r\nmaster_replid:def\r\nloading:0\r\n')
/** Without these nobody would get as far as asking anything. */
const connecting: Record<string, string> = { auth: '+OK\r\n', select: '+OK\r\n', client: '+OK\r\n', info }

/** `answer` gets a command's words. */
export async function startNonsenseRedis(answer: (words: readonly string[]) => string) {
  const sockets = new Set<Socket>()
  let commands = 0
  let connections = 0
  const server: Server = createServer((socket) => {
    connections++
    sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    socket.on('data', (data) => {
      for (const words of commandsIn(data.toString('latin1'))) {
        const usual = connecting[words[0]?.toLowerCase() ?? '']
        if (usual === undefined) commands++
        if (!socket.destroyed) socket.write(usual ?? answer(words), 'latin1')
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Commands since it was started, without those of connecting. */
    get commands() {
      return commands
    },
    get connections() {
      return connections
    },
    /** To every connection that is open, unasked. */
    send(bytes: string): void {
      for (const socket of sockets) socket.write(bytes, 'latin1')
    },
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** As far as tests need it: whole commands of short words in one piece. */
function commandsIn(text: string): string[][] {
  return text
    .split(/(?=^\*\d+\r\n)/m)
    .filter((command) => command.startsWith('*'))
    .map((command) => command.split('\r\n').filter((_, n) => n > 0 && n % 2 === 0))
}
