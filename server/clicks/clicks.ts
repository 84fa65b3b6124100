// The way of a click: counted in the process, once a second on disk (spool.ts), from there into Postgres (sender.ts).
// A click is accepted when its batch is on disk, or given up because the spool is full. A process that is killed takes
// with it what it has counted since the last batch; its spool is taken over by whoever finds it.
import { join } from 'node:path'
import type { Sql } from '../connections/postgres.ts'
import type { Spooled } from './batch.ts'
import type { ClicksReport } from './books.ts'
import { createCounter, hourMs, type Counter } from './counter.ts'
import { Sender } from './sender.ts'
import { takeOver, type Spool } from './spool.ts'
import { Writer } from './writer.ts'

export interface Clicks extends Pick<Counter, 'tally' | 'hit' | 'ungranted'> {
  /** Writes what is counted, and brings it to Postgres if that answers. Never rejects. */
  flush(): Promise<void>
  /** Counted, and not on disk yet. */
  readonly pending: number
  /** On disk, and not in Postgres yet. */
  readonly spooled: number
  stop(): Promise<void>
}

export interface ClicksOptions {
  readonly sql: Sql
  readonly dataDir: string
  readonly everyMs: number
  readonly maxLinks: number
  readonly maxBytes: number
  readonly takeOverEveryMs: number
  /** For a clean stop; what is not sent by then stays in the spool. */
  readonly stopMs: number
  /** Unix milliseconds of the database's clock. */
  readonly nowMs: () => number
  readonly onReport: (report: ClicksReport) => void
  readonly onPersisted: (batches: readonly Spooled[]) => void
  readonly onDamaged: (lines: number) => void
  readonly onError: (error: unknown, what: string) => void
}

export function startClicks(options: ClicksOptions): Clicks {
  const counter = createCounter(options)
  const { tally, hit, ungranted } = counter
  const way = new Way(options, counter)
  way.start()
  return {
    tally,
    hit,
    ungranted,
    flush: () => way.flush(),
    stop: () => way.stop(),
    get pending() {
      return way.pending
    },
    get spooled() {
      return way.spooled
    },
  }
}

/** From the counter to Postgres: one write and one round of sending at a time. */
class Way {
  readonly #options: ClicksOptions
  readonly #counter: Counter
  readonly #root: string
  readonly #writer: Writer
  readonly #inherited = new Set<Sender>()
  #writing: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #lookedMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(options: ClicksOptions, counter: Counter) {
    const { dataDir, maxBytes, onError } = options
    this.#options = options
    this.#counter = counter
    this.#root = join(dataDir, 'spool')
    this.#writer = new Writer({ root: this.#root, maxBytes, onError, senderOf: (spool) => this.#senderOf(spool) })
  }

  get pending(): number {
    return this.#counter.pending + this.#writer.unwritten
  }

  get spooled(): number {
    return [...this.#inherited].reduce((sum, { spooled }) => sum + spooled, this.#writer.sender?.spooled ?? 0)
  }

  start(): void {
    this.#schedule()
    void this.#send()
  }

  async flush(): Promise<void> {
    await this.#write()
    await this.#sending
    await this.#send()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#writing
    let late: NodeJS.Timeout | undefined
    await Promise.race([
      this.#finish().catch((error: unknown) => this.#options.onError(error, 'the click spool could not be closed')),
      new Promise<void>((resolve) => (late = setTimeout(resolve, this.#options.stopMs))),
    ])
    clearTimeout(late)
    this.#writer.sender?.spool.release()
    for (const { spool } of this.#inherited) spool.release()
  }

  #schedule(): void {
    // A batch belongs to one hour.
    const toHourMs = hourMs - (this.#options.nowMs() % hourMs)
    const run = (): void => {
      if (!this.#stopped) this.#schedule()
      void this.#write().then(() => this.#send())
    }
    this.#timer = setTimeout(run, Math.min(this.#options.everyMs, toHourMs + 1))
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writer.write(this.#counter).finally(() => (this.#writing = undefined))
    return this.#writing
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendAll()
      .catch((error: unknown) => {
        this.#options.onError(error, 'clicks could not be written to Postgres; they wait in the spool')
      })
      .finally(() => (this.#sending = undefined))
    return this.#sending
  }

  async #sendAll(): Promise<void> {
    await this.#writer.sender?.send(false)
    if (performance.now() - this.#lookedMs >= this.#options.takeOverEveryMs) {
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

  async #finish(): Promise<void> {
    await this.flush()
    const over = await this.#writer.close(this.#counter)
    if (over) this.#report(over, true)
  }

  #senderOf(spool: Spool): Sender {
    const { sql, onPersisted, onDamaged } = this.#options
    const sender: Sender = new Sender(spool, sql, {
      onProgress: () => this.#report(sender, false),
      onPersisted,
      onDamaged,
    })
    return sender
  }

  #report({ spool, progress }: Sender, closed: boolean): void {
    this.#options.onReport({ type: 'clicks', spool: spool.id, progress, closed })
  }
}
