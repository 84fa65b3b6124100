// Passwords are hashed one at a time, in a thread of their own. Not by node's asynchronous scrypt: that works in the pool
// in which the click spool writes its files, and names are looked up. Visitors who try passwords and links that are given one have
// queues of their own, which take turns: however many guess, a link gets its password.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { limits } from '../limits.ts'
import { QuickLinkError } from '../errors.ts'
import type { Hashing } from './hashing-thread.ts'

/** 32 MB, and about 60 ms of a core. Written into every hash, so that it can be raised. */
const cost = { log2N: 15, r: 8, p: 1, bytes: 32 } as const

interface Waiting {
  readonly job: Hashing
  readonly isWanted: () => boolean
  readonly resolve: (hash: Uint8Array | undefined) => void
  readonly reject: (error: Error) => void
}

export class Hasher {
  /** Whose turn is next stands first. */
  #queues: [Waiting[], Waiting[]]
  readonly #guesses: Waiting[] = []
  readonly #given: Waiting[] = []
  #current: Waiting | undefined
  #thread: Worker | undefined
  #closed = false

  constructor() {
    this.#queues = [this.#given, this.#guesses]
  }

  /** To be kept. Throws where too many wait. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(16)
    const hash = await this.#run(this.#given, { password: plain(password), salt, ...cost }, () => true)
    const { log2N, r, p } = cost
    return ['scrypt', log2N, r, p, salt.toString('base64url'), Buffer.from(hash!).toString('base64url')].join('$')
  }

  /** Undefined: nobody waits for it any more, and it was not looked at. Throws where too many wait. */
  async isRight(password: string, kept: string, isWanted: () => boolean): Promise<boolean | undefined> {
    const parsed = parse(kept)
    if (parsed === undefined) return false
    const hash = await this.#run(this.#guesses, { password: plain(password), ...parsed.terms }, isWanted)
    return hash && timingSafeEqual(hash, parsed.hash)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#fail(new Error('the hasher is closed'))
    await this.#thread?.terminate()
  }

  #run(queue: Waiting[], job: Hashing, isWanted: () => boolean): Promise<Uint8Array | undefined> {
    if (this.#closed || queue.length >= limits.passwordsWaiting) return Promise.reject(tooMany())
    return new Promise((resolve, reject) => {
      queue.push({ job, isWanted, resolve, reject })
      this.#next()
    })
  }

  #next(): void {
    while (this.#current === undefined) {
      const [first, second] = this.#queues
      const next = first.shift() ?? second.shift()
      if (next === undefined) return
      this.#queues = [second, first]
      if (next.isWanted()) {
        this.#current = next
        this.#hashing().postMessage(next.job)
      } else next.resolve(undefined)
    }
  }

  #hashing(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(new URL('hashing-thread.ts', import.meta.url), { env: {}, execArgv: [] })
    thread.unref()
    thread.on('message', (hash: Uint8Array) => {
      const done = this.#current
      this.#current = undefined
      done?.resolve(hash)
      this.#next()
    })
    // Without memory for it, say. Who waits is told, and the next one begins with a new thread.
    const end = (error: Error): void => {
      if (this.#thread === thread) this.#thread = undefined
      this.#fail(error)
    }
    thread.on('error', end)
    thread.on('exit', () => end(new Error('the hashing thread has ended')))
    return (this.#thread = thread)
  }

  #fail(error: Error): void {
    const all = [...(this.#current ? [this.#current] : []), ...this.#given.splice(0), ...this.#guesses.splice(0)]
    this.#current = undefined
    for (const { reject } of all) reject(error)
  }
}

/** The same letters, however they were typed (NIST SP 800-63B). */
const plain = (password: string): string => password.normalize('NFKC')

const tooMany = (): QuickLinkError =>
  new QuickLinkError('unavailable', 'Too many passwords are being looked at: try again soon.', {
    retryAfterS: limits.passwordsRetryS,
  })

/** Undefined for what we have not written: nothing opens it. */
function parse(kept: string): { terms: Omit<Hashing, 'password'>; hash: Buffer } | undefined {
  const [, log2N, r, p, salt, hash] = /^scrypt\$(\d{1,2})\$(\d)\$(\d)\$([\w-]+)\$([\w-]+)$/.exec(kept) ?? []
  if (hash === undefined) return undefined
  const known = Buffer.from(hash, 'base64url')
  const { bytes } = cost
  const terms = { log2N: Number(log2N), r: Number(r), p: Number(p), bytes, salt: Buffer.from(salt!, 'base64url') }
  return known.length === bytes && terms.log2N <= 17 ? { terms, hash: known } : undefined
}
