// Strangers who try API keys, one after the other, over connections that they keep.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'

export interface Guessers {
  /** How often each status was answered. */
  stop(): Promise<Record<number, number>>
}

/** As long as a generated key, and nothing else. */
export const randomKey = (): string => randomBytes(36).toString('base64url')

interface Manner {
  readonly connections: number
  /** Requests of a connection that wait for their answers. */
  readonly ahead: number
  readonly makeKey?: () => string
}

export function guess(base: string, { connections, ahead, makeKey = randomKey }: Manner): Guessers {
  const { hostname, port, host } = new URL(base)
  const statuses: Record<number, number> = {}
  const over = { yet: false }
  const request = (): string =>
    `GET /api/v1/links HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${makeKey()}\r\n\r\n`
  const keepAsking = async (): Promise<void> => {
    const socket = connect(Number(port), hostname)
    let waiting = 0
    let rest = ''
    const ask = (): void => {
      for (; waiting < ahead && !over.yet; waiting++) socket.write(request())
      if (waiting === 0) socket.end()
    }
    socket.setEncoding('latin1').on('data', (text: string) => {
      rest += text
      rest = rest.replace(/HTTP\/1\.1 (\d{3})[^]*?\r\n\r\n\{[^}]*\}/g, (_, status: string) => {
        statuses[Number(status)] = (statuses[Number(status)] ?? 0) + 1
        waiting--
        return ''
      })
      ask()
    })
    ask()
    await once(socket, 'close')
  }
  const all = Promise.all(Array.from({ length: connections }, keepAsking))
  return {
    async stop() {
      over.yet = true
      await all
      return statuses
    },
  }
}
