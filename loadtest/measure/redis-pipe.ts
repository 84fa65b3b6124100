// Redis on a bare socket: many commands at once, and what others send it.
import { connect, type Socket } from 'node:net'
import { askRedis } from '../../embedded/redis-process.ts'

const encoded = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`

function open(url: string): Socket {
  const { port, password } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').setEncoding('latin1')
  socket.write(encoded(['AUTH', decodeURIComponent(password)]))
  return socket
}

/** What they are answered, without its first character. Only for commands whose answer is one line. */
export function pipeToRedis(url: string, commands: readonly (readonly string[])[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    let answered = ''
    const socket = open(url)
    socket.on('error', reject)
    socket.on('data', (text: string) => {
      if (/^-|\n-/.test(text)) socket.destroy(new Error(text))
      answered += text
      const lines = answered.split('\r\n').slice(1, -1) // the first is AUTH's
      if (lines.length >= commands.length) socket.end(() => resolve(lines.map((line) => line.slice(1))))
    })
    socket.write(commands.map(encoded).join(''))
  })
}

/**
 * How often the busiest client asked for this key meanwhile, by MONITOR. Not what scripts do, and not the other servers of
 * the bench: they are not asked for it, but each looks now and then whether what it holds is still right.
 */
export async function countReads<T>(url: string, key: string, work: () => Promise<T>) {
  let text = ''
  const socket = open(url)
  socket.on('data', (chunk: string) => (text += chunk))
  socket.write(encoded(['MONITOR']))
  const result = await work()
  socket.destroy()
  const reads = new Map<string, number>()
  for (const line of text.split('\n')) {
    const client = /\[\d+ (\S+)\] "m?get" /i.exec(line)?.[1]
    if (client !== undefined && line.includes(`"${key}"`)) reads.set(client, (reads.get(client) ?? 0) + 1)
  }
  return { result, reads: Math.max(0, ...reads.values()) }
}

/** One field of INFO. */
export async function infoOf(url: string, section: string, field: string): Promise<number> {
  const { port, password } = new URL(url)
  const text = await askRedis(Number(port), decodeURIComponent(password), `INFO ${section}`)
  return Number(new RegExp(`\\n${field}:(\\d+)\\r`).exec(text ?? '')?.[1])
}
