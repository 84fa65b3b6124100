// What node:http is given in place of a visitor's socket. The socket itself never leaves the front door, so a connection
// whose request was for somebody else is the front door's again when the answer has been written.
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { limits } from '../limits.ts'

/** The front door's side of it. */
export interface Outside {
  readonly socket: Duplex
  /** node:http takes more of the request. */
  onWanted(): void
  /** node:http has closed it: `soon`, when all is written, or at once. */
  onClosed(soon: boolean): void
}

export class InnerSocket extends Duplex {
  readonly #outside: Outside
  #soon = false

  constructor(outside: Outside) {
    super({ allowHalfOpen: true, decodeStrings: false, highWaterMark: limits.unreadBytes })
    this.#outside = outside
  }

  get remoteAddress(): string | undefined {
    return (this.#outside.socket as Socket).remoteAddress
  }

  /** With what still waits to be taken, as a socket counts. */
  get bytesWritten(): number {
    const { socket } = this.#outside
    return ((socket as Partial<Socket>).bytesWritten ?? 0) - socket.writableLength + this.writableLength
  }

  /** As a socket has it: node:http ends a connection so after its last answer. */
  destroySoon(): void {
    this.#soon = true
    this.end()
    if (this.writableFinished) this.destroy()
    else this.once('finish', () => this.destroy())
  }

  override _read(): void {
    this.#outside.onWanted()
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#outside.socket.write(chunk, encoding, done)
  }

  override _writev(
    chunks: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    const { socket } = this.#outside
    const last = chunks.length - 1
    socket.cork()
    chunks.forEach(({ chunk, encoding }, n) => socket.write(chunk, encoding, n === last ? done : undefined))
    socket.uncork()
  }

  override _final(done: () => void): void {
    if (!this.#soon) this.#outside.socket.end()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#outside.onClosed(this.#soon && error === null)
    done(error)
  }
}
