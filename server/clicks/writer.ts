// This process' own spool: begun with the first click, begun anew if it is taken away. What has been drained from the
// counter is written, or waits in memory to be written again, or is given up and in the books.
import { clicksIn, isEmpty, toLine, type Batch, type Spooled, type Totals } from './batch.ts'
import { limits } from '../limits.ts'
import { detailedIn, withoutBreakdowns, type Packed } from '../visits/batch.ts'
import type { Counter } from './counter.ts'
import type { Sender } from './sender.ts'
import { Spool, spooledBytes } from './spool.ts'

type Counted = Pick<Counter, 'drain' | 'takeDropped'>

interface WriterDeps {
  readonly root: string
  readonly maxBytes: number
  readonly senderOf: (spool: Spool) => Sender
  /** What is told of a batch's clicks; undefined: nothing. */
  readonly visits: ((batch: Batch) => Promise<Packed>) | undefined
  /** Visits whose breakdown found no room. */
  readonly onUntold: (visits: number) => void
  readonly onError: (error: unknown, what: string) => void
}

const nothing: Totals = { accepted: 0, dropped: 0 }

export class Writer {
  readonly #deps: WriterDeps
  #sender: Sender | undefined
  /** Written or given up. */
  #totals = nothing
  #number = 0
  /** Not known to be on disk: written again, the same, before anything else. */
  #doubtful: Spooled | undefined
  /** Given up, and said, since the last batch; the next one writes it down. */
  #dropped = 0
  #spooledBytes = 0

  constructor(deps: WriterDeps) {
    this.#deps = deps
  }

  get sender(): Sender | undefined {
    return this.#sender
  }

  /** Of all spools, with the last batch. */
  get spooledBytes(): number {
    return this.#spooledBytes
  }

  /** Counted, and perhaps not on disk. */
  get unwritten(): number {
    return this.#doubtful ? clicksIn(this.#doubtful.rows) : 0
  }

  /** Never rejects: what could not be written is tried again. */
  async write(counter: Counted): Promise<void> {
    try {
      if (this.#doubtful) await this.#put(this.#doubtful)
      const atMs = Date.now()
      const batch = counter.drain()
      // In the same moment: both tell of the same clicks.
      const visits = await this.#visitsOf(batch)
      if (isEmpty(batch)) return
      this.#giveUp(batch.dropped)
      const whole = await this.#fitting(this.#numbered(visits === undefined ? batch : { ...batch, visits }, atMs))
      // The newest are given up. Written down with the next batch that fits; said at once.
      if (whole === undefined) this.#giveUp(clicksIn(batch.rows))
      else await this.#put(whole)
    } catch (error) {
      this.#deps.onError(error, 'clicks could not be written to the spool')
      if ((error as NodeJS.ErrnoException).code === 'ENOENT' && this.#sender?.spool.isThere) this.#startOver()
      // However long it takes: what finds no room in memory meanwhile is in the books.
      this.#giveUp(counter.takeDropped())
    }
  }

  /** On a clean stop: the files go if everything has been sent. The spool's sender, if it is over. */
  async close(counter: Counted): Promise<Sender | undefined> {
    await this.#giveUpTheRest(counter.drain())
    const sender = this.#sender
    if (!sender || sender.spooled > 0) return undefined
    await sender.close()
    this.#sender = undefined
    return sender
  }

  /** The process ends: what is in memory only is lost, and booked as dropped. */
  async #giveUpTheRest({ rows, dropped }: Batch): Promise<void> {
    this.#giveUp(clicksIn(rows) + dropped)
    const doubtful = this.#doubtful
    if (!doubtful) return
    this.#doubtful = undefined
    const last = await this.#own()
      .spool.last()
      .catch(() => undefined)
    if (last?.number === doubtful.number) this.#wrote(doubtful)
    else this.#giveUp(clicksIn(doubtful.rows))
  }

  #own(): Sender {
    return (this.#sender ??= this.#deps.senderOf(Spool.own(this.#deps.root)))
  }

  /** Whatever happens to them, the clicks are there. */
  async #visitsOf(batch: Batch): Promise<Packed | undefined> {
    try {
      return await this.#deps.visits?.(batch)
    } catch (error) {
      this.#deps.onError(error, 'visits could not be told apart; their clicks are counted')
      return undefined
    }
  }

  #numbered({ hourMs, rows, visits }: Batch, atMs: number): Spooled {
    const { accepted, dropped } = this.#totals
    const totals = { accepted: accepted + clicksIn(rows), dropped }
    const batch = { hourMs, rows, dropped: this.#dropped, number: this.#number + 1, totals, atMs }
    return visits === undefined ? batch : { ...batch, visits }
  }

  /**
   * Old breakdowns have gone by now (Clicks); where that was not enough, those that come do: a part of the room is for totals alone.
   * Undefined: there is none at all.
   */
  async #fitting(batch: Spooled): Promise<Spooled | undefined> {
    const { root, maxBytes, onUntold } = this.#deps
    const bytes = await spooledBytes(root)
    const { visits, ...clicks } = batch
    const size = (one: Spooled): number => (this.#spooledBytes = bytes + toLine(one).length)
    if (visits === undefined) return size(batch) <= maxBytes ? batch : undefined
    const all = size(batch)
    if (all <= (maxBytes * limits.spoolBreakdowns) / 100 && all - bytes <= limits.visitsLineBytes) return batch
    onUntold(detailedIn(visits))
    const fewer = { ...clicks, visits: withoutBreakdowns(visits) }
    if (size(fewer) <= (maxBytes * limits.spoolPeople) / 100) return fewer
    return size(clicks) <= maxBytes ? clicks : undefined
  }

  async #put(batch: Spooled): Promise<void> {
    if (this.#doubtful !== batch) this.#dropped = 0
    this.#doubtful = batch
    await this.#own().spool.append(batch)
    this.#doubtful = undefined
    this.#wrote(batch)
  }

  #wrote({ number, rows }: Spooled): void {
    this.#number = number
    this.#say({ accepted: this.#totals.accepted + clicksIn(rows), dropped: this.#totals.dropped })
  }

  #giveUp(clicks: number): void {
    if (clicks === 0) return
    this.#dropped += clicks
    this.#say({ accepted: this.#totals.accepted + clicks, dropped: this.#totals.dropped + clicks })
  }

  #say(totals: Totals): void {
    this.#totals = totals
    this.#own().wrote(totals)
  }

  /** Another process took this one for dead, and its spool over. */
  #startOver(): void {
    this.#sender?.spool.release()
    this.#sender = undefined
    this.#totals = nothing
    this.#number = 0
    // Said already, of the old one.
    this.#dropped = 0
    if (this.#doubtful) this.#doubtful = this.#numbered(this.#doubtful, this.#doubtful.atMs ?? Date.now())
  }
}
