// Clicks of one process: counted in memory, once a second written to disk (spool.ts), from there to Postgres (sender.ts).
// A click is accepted when its batch is on disk, or given up because the spool is full. A process that is killed takes
// with it what it has counted since the last batch; its spool is taken over by whoever finds it.
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import { cellsIn, type Fold, type Packed } from '../visits/batch.ts'
import type { Batch, Spooled } from './batch.ts'
import type { ClicksReport } from './books.ts'
import { createCounter, hourMs, type Counter } from './counter.ts'
import { Sender } from './sender.ts'
import { spooledBytes, takeOver, type Spool } from './spool.ts'
import { Writer } from './writer.ts'

/** Figures of `limits`, so that a test can have others. */
type Bounds = Readonly<
  Record<'clicksEveryMs' | 'clickLinks' | 'takeOverEveryMs' | 'clicksStopMs' | 'visitsRestMs', number>
>

export interface ClicksDeps {
  readonly sql: Pick<Postgres, 'query' | 'transaction'>
  /** Unix milliseconds of the database's clock. */
  readonly nowMs: () => number
  readonly report: (report: ClicksReport) => void
  readonly onPersisted: (batches: readonly Spooled[]) => void
  readonly onDamaged: (lines: number) => void
  readonly onError: (error: unknown, what: string) => void
  /** What is told of a batch's clicks besides; undefined: nothing. */
  readonly visits?: ((batch: Batch) => Promise<Packed>) | undefined
  /** Writes that to Postgres; undefined: it stays untold. */
  readonly foldVisits?: Fold | undefined
  /** Visits of which only the click has come through. */
  readonly onUntold?: (visits: number) => void
}

/** One write to disk and one round of sending at a time. */
export class Clicks implements Pick<Counter, 'tally' | 'hit' | 'ungranted'> {
  readonly tally: Counter['tally']
  readonly hit: Counter['hit']
  readonly ungranted: Counter['ungranted']
  readonly #deps: ClicksDeps
  readonly #bounds: Bounds
  readonly #counter: Counter
  readonly #root: string
  readonly #maxBytes: number
  readonly #writer: Writer
  readonly #inherited = new Set<Sender>()
  #writing: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #lookedMs = -Infinity
  /** What has been told of visits since sending began, and until when that lets Postgres rest. */
  #cells = 0
  #restMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(config: Pick<Config, 'dataDir' | 'spoolMaxMb'>, deps: ClicksDeps, bounds: Bounds = limits) {
    this.#deps = deps
    this.#bounds = bounds
    this.#counter = createCounter({ maxLinks: bounds.clickLinks, nowMs: deps.nowMs })
    ;({ tally: this.tally, hit: this.hit, ungranted: this.ungranted } = this.#counter)
    this.#root = join(config.dataDir, 'spool')
    this.#maxBytes = config.spoolMaxMb * 1_000_000
    this.#writer = new Writer({
      root: this.#root,
      maxBytes: this.#maxBytes,
      onError: deps.onError,
      senderOf: (spool) => this.#senderOf(spool),
      visits: deps.visits,
      onUntold: this.#onUntold,
    })
    this.#schedule()
    void this.#send()
  }

  /** Counted, and not on disk yet. */
  get pending(): number {
    return this.#counter.pending + this.#writer.unwritten
  }

  /** On disk, and not in Postgres yet. */
  get spooled(): number {
    return [...this.#inherited].reduce((sum, { spooled }) => sum + spooled, this.#writer.sender?.spooled ?? 0)
  }

  /** Seconds that the oldest of these has been waiting. */
  get spoolAgeS(): number {
    const senders = [...this.#inherited, this.#writer.sender]
    const oldestMs = Math.min(...senders.map((sender) => sender?.oldestMs ?? Infinity))
    return oldestMs === Infinity ? 0 : Math.max(0, (Date.now() - oldestMs) / 1000)
  }

  /** Writes what is counted, and brings it to Postgres if that answers. Never rejects. */
  async flush(): Promise<void> {
    // What is under way may have begun before what is asked for now was counted.
    await this.#writing
    await this.#write()
    await this.#sending
    await this.#send()
  }

  /** Bounded; what is not sent by then stays in the spool. */
  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#writing
    let late: NodeJS.Timeout | undefined
    await Promise.race([
      this.#finish().catch((error: unknown) => this.#deps.onError(error, 'the click spool could not be closed')),
      new Promise<void>((resolve) => (late = setTimeout(resolve, this.#bounds.clicksStopMs))),
    ])
    clearTimeout(late)
    this.#writer.sender?.spool.release()
    for (const { spool } of this.#inherited) spool.release()
  }

  /** From the beginning of one batch to that of the next, or as long as the one takes to be written. */
  #schedule(passedMs = 0): void {
    if (this.#stopped) return
    // A batch belongs to one hour.
    const toHourMs = hourMs - (this.#deps.nowMs() % hourMs)
    const run = async (): Promise<void> => {
      const beganMs = performance.now()
      await this.#write()
      this.#schedule(performance.now() - beganMs)
      if (performance.now() >= this.#restMs) void this.#send()
    }
    const leftMs = Math.max(0, this.#bounds.clicksEveryMs - passedMs)
    this.#timer = setTimeout(() => void run(), Math.min(leftMs, toHourMs + 1))
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writer.write(this.#counter).finally(() => (this.#writing = undefined))
    return this.#writing
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendAll()
      .catch((error: unknown) => {
        this.#deps.onError(error, 'clicks could not be written to Postgres; they wait in the spool')
      })
      .finally(() => {
        this.#sending = undefined
        // Many links come again within seconds: a row that is written once for all of them costs once.
        this.#restMs = performance.now() + this.#bounds.visitsRestMs * Math.min(1, this.#cells / limits.visitsRestCells)
        this.#cells = 0
      })
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    await this.#makeRoom()
    await this.#writer.sender?.send(false)
    if (performance.now() - this.#lookedMs >= this.#bounds.takeOverEveryMs) {
      this.#lookedMs = performance.now()
      for (const spool of await takeOver(this.#root)) this.#inherited.add(this.#senderOf(spool))
    }
    for (const sender of this.#inherited) {
      await sender.send(true)
      await sender.close()
      this.#inherited.delete(sender)
      this.#report(sender, true)
    }
  }

  /** The oldest breakdowns of what this process holds go first, a file at a time: there is room for those that come. */
  async #makeRoom(): Promise<void> {
    const most = (this.#maxBytes * limits.spoolOldBreakdowns) / 100
    if (this.#writer.spooledBytes <= most) return
    for (const sender of [...this.#inherited, this.#writer.sender]) {
      while (sender !== undefined && (await spooledBytes(this.#root)) > most) {
        const untold = await sender.giveUpBreakdowns()
        if (untold === undefined) break
        this.#onUntold(untold)
      }
    }
  }

  async #finish(): Promise<void> {
    await this.flush()
    const over = await this.#writer.close(this.#counter)
    if (over) this.#report(over, true)
  }

  readonly #onUntold = (visits: number): void => this.#deps.onUntold?.(visits)

  #senderOf(spool: Spool): Sender {
    const { sql, onPersisted, onDamaged, foldVisits, onError } = this.#deps
    const sender: Sender = new Sender(spool, sql, {
      onProgress: () => this.#report(sender, false),
      onPersisted: (batches) => {
        this.#cells += batches.reduce((sum, { visits }) => sum + cellsIn(visits), 0)
        onPersisted(batches)
      },
      onDamaged,
      foldVisits,
      onUntold: (visits, error) => {
        this.#onUntold(visits)
        onError(error, 'what is told of visits could not be written to Postgres; their clicks are')
      },
    })
    return sender
  }

  #report({ spool, progress }: Sender, closed: boolean): void {
    this.#deps.report({ type: 'clicks', spool: spool.id, progress, closed })
  }
}
