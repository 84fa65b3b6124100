// The way of a click: counted in the process, once a second on disk (spool.ts), from there into Postgres (ledger.ts).
// A click is accepted when its batch is on disk, or given up because the spool is full. A process that is killed takes
// with it what it has counted since the last batch.
import { join } from 'node:path'
import { clicksIn, isEmpty, toLine, type Batch, type Spooled, type Totals } from './batch.ts'
import type { ClicksReport } from './books.ts'
import { createCounter, hourMs, type Counter } from './counter.ts'
import { Sender, type SenderHooks } from './ledger.ts'
import { Spool, spooledBytes, takeOver } from './spool.ts'
import type { Sql } from '../connections/postgres.ts'

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
  const root = join(options.dataDir, 'spool')
  const counter = createCounter(options)
  const writer = createWriter(root, options)
  const inherited = new Set<Sender>()
  let writing: Promise<void> | undefined
  let sending: Promise<void> | undefined
  let lookedMs = -Infinity
  let stopped = false

  const write = (): Promise<void> =>
    (writing ??= writer.write(counter.drain).finally(() => {
      writing = undefined
    }))

  const sendAll = async (): Promise<void> => {
    await writer.sender?.send(false)
    if (performance.now() - lookedMs >= options.takeOverEveryMs) {
      lookedMs = performance.now()
      for (const spool of await takeOver(root)) inherited.add(new Sender(spool, options.sql, hooksOf(spool, options)))
    }
    for (const sender of inherited) {
      await sender.send(true)
      await sender.close()
      inherited.delete(sender)
      options.onReport({ type: 'clicks', spool: sender.spool.id, progress: sender.progress, closed: true })
    }
  }
  const send = (): Promise<void> =>
    (sending ??= sendAll()
      .catch((error: unknown) => {
        options.onError(error, 'clicks could not be written to Postgres; they wait in the spool')
      })
      .finally(() => {
        sending = undefined
      }))

  const flush = async (): Promise<void> => {
    await write()
    await sending
    await send()
  }

  let timer: NodeJS.Timeout
  const schedule = (): void => {
    // A batch belongs to one hour.
    const toHourMs = hourMs - (options.nowMs() % hourMs)
    timer = setTimeout(
      () => {
        if (!stopped) schedule()
        void write().then(send)
      },
      Math.min(options.everyMs, toHourMs + 1),
    )
  }
  schedule()
  void send()

  return {
    tally: counter.tally,
    hit: counter.hit,
    ungranted: counter.ungranted,
    flush,
    get pending() {
      return counter.pending + writer.unwritten
    },
    get spooled() {
      return [...inherited].reduce((sum, { spooled }) => sum + spooled, writer.sender?.spooled ?? 0)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await writing
      let late: NodeJS.Timeout | undefined
      await Promise.race([
        flush()
          .then(() => writer.close())
          .catch((error: unknown) => {
            options.onError(error, 'the click spool could not be closed')
          }),
        new Promise<void>((resolve) => (late = setTimeout(resolve, options.stopMs))),
      ])
      clearTimeout(late)
      writer.sender?.spool.release()
      for (const { spool } of inherited) spool.release()
    },
  }
}

const hooksOf = (
  { id }: Spool,
  { onReport, onPersisted, onDamaged }: Pick<ClicksOptions, 'onReport' | 'onPersisted' | 'onDamaged'>,
): SenderHooks => ({
  onProgress: (progress) => {
    onReport({ type: 'clicks', spool: id, progress })
  },
  onPersisted,
  onDamaged,
})

/** This process' own spool: begun with the first click, begun anew if it is taken away. */
function createWriter(root: string, options: ClicksOptions) {
  let sender: Sender | undefined
  let totals: Totals = { accepted: 0, dropped: 0 }
  let number = 0
  /** Not known to be on disk: written again, the same, before anything else. */
  let doubtful: Spooled | undefined
  let droppedBefore = 0

  const begin = async (): Promise<Sender> => {
    const spool = await Spool.begin(root)
    totals = { accepted: 0, dropped: 0 }
    number = 0
    return (sender = new Sender(spool, options.sql, hooksOf(spool, options)))
  }

  const numbered = (batch: Batch): Spooled => {
    const dropped = totals.dropped + batch.dropped
    return {
      ...batch,
      number: number + 1,
      totals: { accepted: totals.accepted + clicksIn(batch.rows) + batch.dropped, dropped },
    }
  }

  const fits = async (batch: Spooled): Promise<boolean> =>
    (await spooledBytes(root)) + toLine(batch).length <= options.maxBytes

  const put = async (batch: Spooled): Promise<void> => {
    const to = sender ?? (await begin())
    doubtful = batch
    await to.spool.append(batch)
    doubtful = undefined
    number = batch.number
    totals = batch.totals
    to.wrote(totals)
  }

  return {
    get sender() {
      return sender
    },
    get unwritten() {
      return (doubtful ? clicksIn(doubtful.rows) + doubtful.dropped : 0) + droppedBefore
    },
    async write(drain: () => Batch): Promise<void> {
      try {
        if (doubtful) await put(doubtful)
        const batch = drain()
        if (isEmpty(batch)) return
        if (!sender) await begin()
        const whole = numbered({ ...batch, dropped: batch.dropped + droppedBefore })
        if (await fits(whole)) {
          await put(whole)
          droppedBefore = 0
          return
        }
        // The newest are given up. Written down with the next batch that fits; said at once.
        droppedBefore += batch.dropped + clicksIn(batch.rows)
        const { accepted, dropped } = totals
        sender?.wrote({ accepted: accepted + droppedBefore, dropped: dropped + droppedBefore })
      } catch (error) {
        options.onError(error, 'clicks could not be written to the spool')
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') startOver()
      }
    },
    /** On a clean stop, with everything sent. */
    async close(): Promise<void> {
      if (!sender || sender.spooled > 0 || doubtful) return
      await sender.close()
      options.onReport({ type: 'clicks', spool: sender.spool.id, progress: sender.progress, closed: true })
      sender = undefined
    },
  }

  /** Somebody took this process for dead, and its spool with it. */
  function startOver(): void {
    sender?.spool.release()
    sender = undefined
    if (doubtful) doubtful = { ...doubtful, number: 1, totals: ofAlone(doubtful) }
    totals = { accepted: 0, dropped: 0 }
    number = 0
  }
}

const ofAlone = ({ rows, dropped }: Batch): Totals => ({ accepted: clicksIn(rows) + dropped, dropped })
