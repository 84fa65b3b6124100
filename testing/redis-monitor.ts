// Every command that a Redis is sent, as Redis itself tells it.
import { connect } from 'node:net'
import { onTestFinished } from 'vitest'
import { waitFor } from '../embedded/wait.ts'

export async function monitorRedis(url: string) {
  const { port, password } = new URL(url)
  let text = ''
  const socket = connect(Number(port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  socket.write(`${password === '' ? '' : `AUTH ${decodeURIComponent(password)}\r\n`}MONITOR\r\n`)
  await waitFor(() => text.includes('+OK\r\n') && (password === '' || text.split('+OK').length > 2), {
    deadlineMs: 2000,
  })
  return {
    /** How often a client (not a script) asked for this key. */
    reads: (key: string): number =>
      text.split('\n').filter((line) => /(?<! lua)\] "mget" /.test(line) && line.includes(` "${key}"`)).length,
  }
}
