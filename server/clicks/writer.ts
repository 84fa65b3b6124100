// This process' own spool: begun with the first click, begun anew if it is taken away.
import { clicksIn, isEmpty, toLine, type Batch, type Spooled, type Totals } from './batch.ts'
import type { Sender } from './ledger.ts'
import { Spool, spooledBytes } from './spool.ts'

interface WriterDeps {
  readonly root: string
  readonly maxBytes: number
  readonly senderOf: (spool: Spool) => Sender
  readonly onError: (error: unknown, what: string) => void
}

const nothing: Totals = { accepted: 0, dropped: 0 }

export class Writer {
  readonly #deps: WriterDeps
  #sender: Sender | undefined
  #totals = nothing
  #number = 0
  /** Not known to be on disk: written again, the same, before anything else. */
  #doubtful: Spooled | undefined
  /** Given up since the last batch that fitted. */
  #dropped = 0

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  get sender(): Sender | undefined {
    return this.#sender
  }

  /** Counted, and perhaps not on disk. */
  get unwritten(): number {
    return this.#doubtful ? clicksIn(this.#doubtful.rows) + this.#doubtful.dropped : 0
  }

  /** Never rejects: what could not be written is tried again. */
  async write(drain: () => Batch): Promise<void> {
    try {
      if (this.#doubtful) await this.#put(this.#doubtful)
      const batch = drain()
      if (isEmpty(batch)) return
      const sender = this.#sender ?? (await this.#begin())
      const whole = this.#numbered({ ...batch, dropped: batch.dropped + this.#dropped })
      if (await this.#fits(whole)) {
        this.#dropped = 0
        await this.#put(whole)
        return
      }
      // The newest are given up. Written down with the next batch that fits; said at once.
      this.#dropped += batch.dropped + clicksIn(batch.rows)
      const { accepted, dropped } = this.#totals
      sender.wrote({ accepted: accepted + this.#dropped, dropped: dropped + this.#dropped })
    } catch (error) {
      this.#deps.onError(error, 'clicks could not be written to the spool')
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.#startOver()
    }
  }

  /** On a clean stop: the files go if everything has been sent. The spool's sender, if it is over. */
  async close(): Promise<Sender | undefined> {
    const sender = this.#sender
    if (!sender || sender.spooled > 0 || this.#doubtful) return undefined
    await sender.close()
    this.#sender = undefined
    return sender
  }

  async #begin(): Promise<Sender> {
    const sender = this.#deps.senderOf(await Spool.begin(this.#deps.root))
    this.#sender = sender
    return sender
  }

  #numbered(batch: Batch): Spooled {
    return {
      ...batch,
      number: this.#number + 1,
      totals: {
        accepted: this.#totals.accepted + clicksIn(batch.rows) + batch.dropped,
        dropped: this.#totals.dropped + batch.dropped,
      },
    }
  }

  async #fits(batch: Spooled): Promise<boolean> {
    const { root, maxBytes } = this.#deps
    return (await spooledBytes(root)) + toLine(batch).length <= maxBytes
  }

  async #put(batch: Spooled): Promise<void> {
    this.#doubtful = batch
    const sender = this.#sender ?? (await this.#begin())
    await sender.spool.append(batch)
    this.#doubtful = undefined
    this.#number = batch.number
    this.#totals = batch.totals
    sender.wrote(batch.totals)
  }

  /** Somebody took this process for dead, and its spool with it. */
  #startOver(): void {
    this.#sender?.spool.release()
    this.#sender = undefined
    this.#totals = nothing
    this.#number = 0
    // Said already, of the old one.
    this.#dropped = 0
    if (this.#doubtful) this.#doubtful = this.#numbered(this.#doubtful)
  }
}
