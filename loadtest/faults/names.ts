// A DNS of our own on loopback, which answers 127.0.0.1 to every name, or to nobody. A process that is started through
// `withNames` asks it, and nobody else does: it has a resolv.conf of its own, in a mount namespace of its own.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import { join } from 'node:path'

export interface Names {
  /** Of the file that says where it is. */
  readonly resolvConf: string
  /** Questions hang: they are taken, and not answered. */
  hang(): void
  answer(): void
  /** Questions so far, ours included. */
  asked(): number
  /** As a stranger finds it. */
  answers(): Promise<boolean>
  close(): void
}

const answerLifeS = 1

export async function startNames(dir: string): Promise<Names> {
  // Nobody else is at home there: all of 127.0.0.0/8 is this machine, and port 53 is what a resolv.conf means.
  const address = `127.53.${1 + (process.pid % 250)}.${1 + Math.floor(Math.random() * 250)}`
  const socket = createSocket('udp4')
  let hangs = false
  let asked = 0
  socket.on('message', (question, { port, address: from }) => {
    asked++
    if (!hangs) socket.send(reply(question), port, from)
  })
  socket.bind(53, address)
  await once(socket, 'listening')
  // Nothing waits for it at the end.
  socket.unref()
  const resolvConf = join(dir, 'resolv.conf')
  writeFileSync(resolvConf, `nameserver ${address}\n`)
  return {
    resolvConf,
    hang: () => void (hangs = true),
    answer: () => void (hangs = false),
    asked: () => asked,
    async answers() {
      const resolver = new Resolver({ timeout: 500, tries: 1 })
      resolver.setServers([address])
      return resolver.resolve4('anybody.drill.test').then(
        () => true,
        () => false,
      )
    },
    close: () => socket.close(),
  }
}

/** The question again, and for an A one answer; for anything else none. */
function reply(question: Buffer): Buffer {
  // A header of 12 bytes, then the name as labels, each with its length before it.
  let end = 12
  while (end < question.length && question[end] !== 0) end += 1 + question[end]!
  const isA = question.readUInt16BE(end + 1) === 1
  const header = Buffer.from(question.subarray(0, 12))
  header.writeUInt16BE(0x8580, 2)
  header.writeUInt16BE(isA ? 1 : 0, 6)
  header.writeUInt32BE(0, 8)
  const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, answerLifeS, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([header, question.subarray(12, end + 5), ...(isA ? [answer] : [])])
}

/** A command that runs with these names. Its pid is that of the program. */
export const withNames = ({ resolvConf }: Names, file: string, args: readonly string[]) => ({
  file: 'unshare',
  args: [
    '--mount',
    '--propagation=private',
    'sh',
    '-c',
    'mount --bind "$0" /etc/resolv.conf && exec "$@"',
    resolvConf,
    file,
    ...args,
  ],
})

/** Why there can be none here; undefined: there can. */
export const noNames = (): string | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0
    ? undefined
    : 'it needs a DNS of its own at port 53 of loopback, which only root on Linux may have'
