// How long a byte takes there and back, as a stranger sees it: both protocols answer something before anybody is known.
import { connect } from 'node:net'

const questions = {
  redis: Buffer.from('PING\r\n'),
  /** SSLRequest, answered with one letter. */
  postgres: Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]),
} as const

/** Milliseconds; undefined: refused, cut, or no answer before the deadline. */
export function roundTripMs(
  kind: keyof typeof questions,
  port: number,
  deadlineMs: number,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let askedMs = NaN
    const end = (answer: number | undefined): void => {
      resolve(answer)
      socket.destroy()
    }
    socket.on('connect', () => {
      askedMs = performance.now()
      socket.write(questions[kind])
    })
    socket.on('data', () => end(performance.now() - askedMs))
    socket.on('error', () => end(undefined))
    socket.on('close', () => end(undefined))
    socket.setTimeout(deadlineMs, () => end(undefined))
  })
}
