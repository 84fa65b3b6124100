// Nothing is worth measuring that answers something else: each kind of request that a load mixes, asked once, down to
// the bytes, before anything is measured.
import { connect } from 'node:net'
import { answerIn, examplesOf, type Asked, type Load } from './loads.ts'

const deadlineMs = 5000

export async function checkAnswers(url: string, load: Load): Promise<void> {
  const { host, hostname, port } = new URL(url)
  for (const asked of examplesOf(load, host)) {
    const heard = await answerOf(hostname, Number(port), asked.text)
    const wrong = wrongIn(heard, asked, load.closes === true)
    if (wrong !== undefined)
      throw new Error(`${asked.text.split('\r\n', 1)[0]}: ${wrong}, in\n${heard.bytes.toString()}`)
  }
}

interface Heard {
  readonly bytes: Buffer
  readonly ended: boolean
}

/** Until it ends the connection, or has been quiet for a moment after an answer. */
function answerOf(host: string, port: number, text: string): Promise<Heard> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const socket = connect(port, host, () => socket.write(text, 'latin1'))
    const done = (ended: boolean): void => {
      socket.destroy()
      resolve({ bytes, ended })
    }
    socket.setTimeout(deadlineMs, () => done(false))
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk])
      // Long enough to see whether it ends the connection, or sends more than it should.
      socket.setTimeout(100)
    })
    socket.on('end', () => done(true)).on('error', reject)
  })
}

export function wrongIn({ bytes, ended }: Heard, { status, isHead }: Asked, closes: boolean): string | undefined {
  const text = bytes.toString('latin1')
  const answer = answerIn(bytes, isHead)
  if (answer === undefined) return 'no whole answer'
  if (answer.status !== status) return `${answer.status} instead of ${status}`
  if (status === 302 && !/\r\nlocation: https:/i.test(text)) return 'a redirect to nowhere'
  const bodyBytes = bytes.length - (text.indexOf('\r\n\r\n') + 4)
  const saidBytes = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? NaN)
  if (isHead ? bodyBytes > 0 : bodyBytes !== saidBytes)
    return `a body of ${bodyBytes} bytes, and ${saidBytes} were said`
  if (status === 404 && saidBytes === 0) return 'a 404 that says nothing'
  if (ended !== closes) return ended ? 'the end of the connection' : 'a connection that stays'
  if (closes && !/\r\nconnection: close\r\n/i.test(text)) return 'an end that was not announced'
  return undefined
}
