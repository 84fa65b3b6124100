// Each worker has a listener of its own, and the kernel goes on giving it connections while it is hung, on its way out, or
// dead (decision 10). So the primary process holds its listener, too, and in such a time accepts in its place.
import { createServer, type Server, type Socket } from 'node:net'
import { limits } from '../limits.ts'

/** A listening socket as it comes from another process. Node has no public name for it. */
export interface ListenHandle {
  close(): void
}

/** Milliseconds in which everything that waits at the listener of a dead worker is accepted. */
const clearMs = 100

export class StandIn {
  readonly #handle: ListenHandle
  readonly #give: (socket: Socket) => void
  #server: Server | undefined

  constructor(handle: ListenHandle, give: (socket: Socket) => void) {
    this.#handle = handle
    this.#give = give
  }

  get accepts(): boolean {
    return this.#server !== undefined
  }

  /** What waits there by now comes first. */
  accept(): void {
    if (this.#server) return
    // Nothing is read here: the first byte is for the worker that gets it.
    this.#server = createServer({ pauseOnConnect: true }, this.#give)
    // A listener that fails is closed with its worker.
    this.#server.on('error', () => undefined)
    this.#server.listen({ _handle: this.#handle }, limits.backlog)
  }

  /** Once and for all: its worker has to hand over its listener anew. */
  close(): void {
    if (this.#server) this.#server.close()
    else this.#handle.close()
  }

  /** The worker is dead: what waits at its listener is answered by the others. */
  clear(): void {
    this.accept()
    setTimeout(() => {
      // Not before what has arrived by now is accepted.
      setImmediate(() => this.close())
    }, clearMs)
  }
}
