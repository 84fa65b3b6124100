// A TCP proxy that fails on command, so that "Redis is slow" is a real slow socket and "gone" a real refused connection.
//
// A black hole holds bytes back instead of dropping them, as a partition does: TCP sends again until the network
// heals, so late requests arrive late and late answers come after their askers have given up. Dropped replies are the
// opposite, a peer that works and whose answers get lost; a byte stream with a hole is of no use afterwards, so those
// connections are reset as soon as the proxy is told to do anything else.
import { Resolver } from 'node:dns'
import { type LookupFunction, type Server, type Socket, connect, createServer } from 'node:net'
import { freePort } from '../../embedded/process.ts'
import { waitFor } from '../../embedded/wait.ts'

export interface FaultProxy {
  readonly host: string
  readonly port: number
  readonly counters: { readonly connections: number; readonly toTarget: number; readonly toClient: number }
  /** Everything goes through; what a black hole held goes first. */
  pass(): Promise<void>
  /** Connections are refused, open ones reset. The port stays ours to listen on again. */
  refuse(): Promise<void>
  /** Accepts, and no byte passes in either direction, on existing connections neither. */
  blackHole(): Promise<void>
  /** Each chunk of an answer arrives this much later, in order. */
  delay(ms: number): Promise<void>
  /** Resets all connections now; goes on as before with new ones. */
  cut(): Promise<void>
  /** Connections that are open now stay so, and dead, without a word; new ones pass. As after a firewall lost its table. */
  strand(): Promise<void>
  /** Requests arrive, answers vanish. */
  dropReplies(): Promise<void>
  close(): Promise<void>
}

type Mode = 'pass' | 'refuse' | 'blackHole' | 'dropReplies'

interface Rules {
  mode: Mode
  delayMs: number
  readonly counters: { connections: number; toTarget: number; toClient: number }
}

const maxQueuedBytes = 1024 * 1024

/**
 * Of containers. One that is down has no name; Docker then asks outside, where nobody may answer for seconds. Not so long:
 * whoever waits for it would still wait when it is back.
 */
const resolver = new Resolver({ timeout: 250, tries: 1 })
const lookup: LookupFunction = (name, _options, done) => {
  resolver.resolve4(name, (error, addresses) => {
    done(error, error ? [] : addresses.map((address) => ({ address, family: 4 })))
  })
}

/** Where somebody listens. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** On a free port of loopback, if nothing else is said. */
export async function startFaultProxy(target: Address, at?: Address): Promise<FaultProxy> {
  const rules: Rules = { mode: 'pass', delayMs: 0, counters: { connections: 0, toTarget: 0, toClient: 0 } }
  const links = new Set<Link>()
  const { host, port } = at ?? { host: '127.0.0.1', port: await freePort() }
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    rules.counters.connections++
    const link = new Link(client, target, rules, () => links.delete(link))
    links.add(link)
    link.kick()
  })
  const cut = (): void => {
    for (const link of links) link.reset()
  }
  const change = async (mode: Mode, delayMs = 0): Promise<void> => {
    Object.assign(rules, { mode, delayMs })
    if (mode === 'refuse') {
      await stopListening(server, cut)
      return
    }
    await listen(server, host, port)
    for (const link of links) link.kick()
  }
  await listen(server, host, port)
  return {
    host,
    port,
    counters: rules.counters,
    pass: () => change('pass'),
    refuse: () => change('refuse'),
    blackHole: () => change('blackHole'),
    delay: (ms) => change('pass', ms),
    dropReplies: () => change('dropReplies'),
    strand: () => {
      for (const link of links) link.strand()
      return change('pass')
    },
    cut: () => {
      cut()
      return Promise.resolve()
    },
    close: () => stopListening(server, cut),
  }
}

/** Again and again for a while: the system may need a moment to give a port back. */
async function listen(server: Server, host: string, port: number): Promise<void> {
  if (server.listening) return
  const once = (): Promise<true> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, () => {
        server.off('error', reject)
        resolve(true)
      })
    })
  await waitFor(once, { deadlineMs: 2000 })
}

async function stopListening(server: Server, cut: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    // It also answers, with an error, when it was not listening.
    server.close(() => resolve())
  })
  cut()
  await closed
}

/** A client's connection and ours to the target. */
class Link {
  readonly #client: Socket
  readonly #address: Address
  readonly #rules: Rules
  readonly #gone: () => void
  #target: Socket | undefined
  #directions: Direction[] = []
  #lostBytes = false
  #stranded = false

  constructor(client: Socket, address: Address, rules: Rules, gone: () => void) {
    this.#client = client
    this.#address = address
    this.#rules = rules
    this.#gone = gone
    this.#watch(client)
  }

  /** Looks at the rules anew. */
  kick(): void {
    if (this.#lostBytes && this.#rules.mode !== 'dropReplies') {
      this.reset()
      return
    }
    if (!this.#target && !this.#holds()) this.#connect()
    for (const direction of this.#directions) direction.pump()
  }

  strand(): void {
    this.#stranded = true
  }

  reset(): void {
    this.#gone()
    for (const direction of this.#directions) direction.stop()
    for (const socket of [this.#client, this.#target]) if (socket && !socket.destroyed) socket.resetAndDestroy()
  }

  readonly #holds = (): boolean => this.#stranded || this.#rules.mode === 'blackHole'

  #connect(): void {
    const target = connect({ ...this.#address, lookup, allowHalfOpen: true, noDelay: true })
    this.#target = target
    this.#watch(target)
    const rules = this.#rules
    const requests = new Direction(this.#client, target, this.#holds, (bytes) => (rules.counters.toTarget += bytes))
    const answers = new Direction(target, this.#client, this.#holds, (bytes) => (rules.counters.toClient += bytes))
    answers.delayMs = () => rules.delayMs
    answers.drops = () => {
      if (rules.mode === 'dropReplies') this.#lostBytes = true
      return rules.mode === 'dropReplies'
    }
    this.#directions = [requests, answers]
  }

  #watch(socket: Socket): void {
    // What one side suffers, the other side feels: a reset is passed on as a reset.
    socket.on('error', () => this.reset())
    socket.on('close', () => {
      if (!this.#target || (this.#client.destroyed && this.#target.destroyed)) this.#gone()
    })
  }
}

interface Chunk {
  /** Undefined: the end of the stream. */
  readonly bytes: Buffer | undefined
  readonly dueMs: number
}

/** One way of a link: a queue in order, emptied as the rules allow. */
class Direction {
  readonly #from: Socket
  readonly #to: Socket
  readonly #holds: () => boolean
  readonly #count: (bytes: number) => void
  #queue: Chunk[] = []
  #queuedBytes = 0
  #timer: NodeJS.Timeout | undefined
  delayMs = (): number => 0
  drops = (): boolean => false

  constructor(from: Socket, to: Socket, holds: () => boolean, count: (bytes: number) => void) {
    this.#from = from
    this.#to = to
    this.#holds = holds
    this.#count = count
    from.on('data', (bytes: Buffer) => {
      if (!this.drops()) this.#push(bytes)
    })
    from.on('end', () => this.#push(undefined))
    to.on('drain', () => this.pump())
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#queue = []
  }

  pump(): void {
    clearTimeout(this.#timer)
    if (this.#holds()) {
      this.#from.pause()
      return
    }
    const nowMs = performance.now()
    while (this.#queue[0] && this.#queue[0].dueMs <= nowMs && !this.#to.writableNeedDrain) {
      this.#write(this.#queue.shift() as Chunk)
    }
    const next = this.#queue[0]
    if (next && !this.#to.writableNeedDrain) {
      this.#timer = setTimeout(() => this.pump(), Math.ceil(next.dueMs - nowMs))
    }
    if (this.#queuedBytes > maxQueuedBytes) this.#from.pause()
    else this.#from.resume()
  }

  #push(bytes: Buffer | undefined): void {
    this.#queue.push({ bytes, dueMs: performance.now() + this.delayMs() })
    this.#queuedBytes += bytes?.length ?? 0
    this.pump()
  }

  #write({ bytes }: Chunk): void {
    if (bytes === undefined) {
      this.#to.end()
      return
    }
    this.#queuedBytes -= bytes.length
    this.#count(bytes.length)
    this.#to.write(bytes)
  }
}
