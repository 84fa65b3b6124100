// From a spool to Postgres. A spool's batches arrive in their order, each once: Postgres remembers the highest number of
// each spool, in the same statement that counts the clicks. Whatever happened to an answer, sending again is harmless.
import { isUnavailable, sqlState, type Postgres, type Sql } from '../connections/postgres.ts'
import { detailedIn, merged, withoutBreakdowns, type Fold } from '../visits/batch.ts'
import { clicksIn, type Spooled, type Totals } from './batch.ts'
import { none, type Progress } from './books.ts'
import { batchesAtOnce, firstOf, merge } from './parts.ts'
import type { Position, Spool } from './spool.ts'

/** Times that visits may fail before their clicks go without them: where Postgres refuses them, and where it is not done with them in time. */
const foldTries = 3
const foldTriesLate = 10

// $2..$3: the first and the last number. If the spool is there already, nothing is counted.
// Hits that nobody had granted are granted now: the month is that of their hour.
const writeSql = `
with mine as (
  insert into click_spools as s (id, last_batch, clicks) values ($1, $3, $4)
  on conflict (id) do update set last_batch = $3, clicks = s.clicks + $4, at = clock_timestamp()
  where s.last_batch < $2
  returning id
), counted as (
  insert into clicks (link_id, hour, clicks)
  select link, to_timestamp(hour), n from mine, unnest($5::bigint[], $6::float8[], $7::bigint[]) as c(link, hour, n)
  where n > 0 order by link, hour
  on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks
), settled as (
  insert into hits as h (link_id, month, granted, ungranted)
  select link, date_trunc('month', to_timestamp(hour) at time zone 'UTC')::date, sum(n), sum(n)
  from mine, unnest($5::bigint[], $6::float8[], $8::bigint[]) as u(link, hour, n)
  where n > 0 group by 1, 2 order by 1, 2
  on conflict (link_id, month) do update set
    granted = h.granted + excluded.ungranted, ungranted = h.ungranted + excluded.ungranted
)
select count(*) as applied from mine`

export interface SenderHooks {
  readonly onProgress: () => void
  /** Batches that have just arrived. */
  readonly onPersisted: (batches: readonly Spooled[]) => void
  readonly onDamaged: (lines: number) => void
  readonly foldVisits: Fold | undefined
  /** Visits that Postgres would not take: only their clicks have arrived. */
  readonly onUntold: (visits: number, error: unknown) => void
}

/** Of a spool, in Postgres: its highest number, and its clicks. */
interface Held {
  readonly last: number
  readonly clicks: number
}

/** Sends one spool, from its beginning to its present end. One call at a time. */
export class Sender {
  readonly spool: Spool
  readonly #sql: Pick<Postgres, 'query' | 'transaction'>
  readonly #hooks: SenderHooks
  #at: Position | undefined
  /** Batches read and not sent yet. */
  #page: Spooled[] = []
  /** The highest number in Postgres; undefined until it has been asked. */
  #last: number | undefined
  #progress: Progress | undefined
  /** Clicks of batches that could not be read. */
  #lost = 0
  /** Times that visits failed, of the batches that are next. */
  #foldFailures = 0
  /** Since when something has been waiting here. */
  #behindSinceMs: number | undefined
  /** Fewer, while more are too much for Postgres' deadline. */
  #atOnce = batchesAtOnce

  constructor(spool: Spool, sql: Pick<Postgres, 'query' | 'transaction'>, hooks: SenderHooks) {
    this.spool = spool
    this.#sql = sql
    this.#hooks = hooks
  }

  get progress(): Progress {
    return this.#progress ?? none
  }

  /** Accepted, and not in Postgres yet. */
  get spooled(): number {
    const { accepted, dropped, persisted } = this.#progress ?? none
    return accepted - dropped - persisted
  }

  /** When the oldest of these was written, about. Undefined: there are none. */
  get oldestMs(): number | undefined {
    return this.#behindSinceMs === undefined ? undefined : (this.#page[0]?.atMs ?? this.#behindSinceMs)
  }

  /** Whoever holds the spool has written it, or given it up. */
  wrote({ accepted, dropped }: Totals): void {
    this.#note({ accepted, dropped: dropped + this.#lost })
  }

  /** Rejects when Postgres cannot be asked; what was sent until then stays sent. */
  async send(isOver: boolean): Promise<void> {
    if (this.#last === undefined) {
      const held = await this.#inPostgres()
      if (isOver) await this.#inherit(held)
      this.#last = held.last
    }
    for (;;) {
      while (this.#page.length > 0) await this.#sendSome(firstOf(this.#page, this.#atOnce))
      const page = await this.spool.read(this.#at, isOver)
      if (page.damaged > 0) this.#hooks.onDamaged(page.damaged)
      this.#page = this.#unsent(page.batches)
      this.#at = page.next
      if (page.isEnd && this.#page.length === 0) break
    }
    if (this.#at !== undefined) await this.spool.removeBefore(this.#at)
  }

  /** Gives up the oldest breakdowns that have not been read. Not while it sends. How many visits they told of; undefined: there are none. */
  async giveUpBreakdowns(): Promise<number | undefined> {
    let untold = 0
    const isDone = await this.spool.shorten(this.#at, (batch) => {
      if (batch.visits === undefined) return batch
      untold += detailedIn(batch.visits)
      return { ...batch, visits: withoutBreakdowns(batch.visits) }
    })
    return isDone ? untold : undefined
  }

  /** Everything has arrived, and nothing will follow. */
  async close(): Promise<void> {
    await this.spool.remove()
    // Only so that its row can be removed some day.
    const closing = 'update click_spools set closed_at = clock_timestamp() where id = $1'
    await this.#sql.query(closing, [this.spool.id]).catch(() => undefined)
  }

  /** What the dead process had brought to Postgres, and what it has left. */
  async #inherit({ last, clicks: persisted }: Held): Promise<void> {
    const [newest, oldest] = [await this.spool.last(), await this.#firstAfter(last)]
    if (newest === undefined) return
    const before = oldest === undefined ? newest.totals : totalsBefore(oldest)
    // Accepted before what is left, and neither given up nor in Postgres.
    this.#lost = before.accepted - before.dropped - persisted
    const base = { accepted: before.accepted, dropped: before.dropped + this.#lost, persisted }
    this.#progress = { ...base, base }
    this.wrote(newest.totals)
  }

  async #firstAfter(last: number): Promise<Spooled | undefined> {
    for (let at: Position | undefined; ;) {
      const page = await this.spool.read(at, true)
      const found = page.batches.find(({ number }) => number > last)
      if (found || page.isEnd) return found
      at = page.next
    }
  }

  #note(change: Partial<Progress>): void {
    this.#progress = { ...(this.#progress ?? none), ...change }
    this.#behindSinceMs = this.spooled > 0 ? (this.#behindSinceMs ?? Date.now()) : undefined
    this.#hooks.onProgress()
  }

  /** A number counts once: a batch that was written again after a doubtful failure has the same one. */
  #unsent(batches: readonly Spooled[]): Spooled[] {
    let last = this.#last ?? 0
    return batches.filter(({ number }) => {
      const isNew = number > last
      last = Math.max(last, number)
      return isNew
    })
  }

  async #inPostgres(): Promise<Held> {
    const ask = 'select last_batch as last, clicks from click_spools where id = $1'
    const [row] = await this.#sql.query<Held>(ask, [this.spool.id])
    return row ?? { last: 0, clicks: 0 }
  }

  async #sendSome(batches: readonly Spooled[]): Promise<void> {
    const { to } = merge(batches)
    const applied = await this.#write(batches)
    // Not applied: an earlier attempt had arrived, whose answer was lost.
    this.#last = applied ? to : (await this.#inPostgres()).last
    const last = this.#last
    this.#arrived(this.#page.filter(({ number }) => number <= last))
    this.#page = this.#page.filter(({ number }) => number > last)
  }

  /** Clicks, and what is told of them, together or not at all. Clicks do not wait for what Postgres will not take. */
  async #write(batches: readonly Spooled[]): Promise<boolean> {
    const { foldVisits, onUntold } = this.#hooks
    const { from, to, clicks, values } = merge(batches)
    const write = async (sql: Sql): Promise<boolean> => {
      const given = [this.spool.id, from, to, clicks, ...values]
      const [row] = await sql.query<{ applied: number }>(writeSql, given, 'ql-write-clicks')
      return row?.applied !== 0
    }
    const hours = foldVisits === undefined ? [] : await merged(batches)
    if (foldVisits === undefined || hours.length === 0) return retried(() => write(this.#sql))
    const stage = { isFolding: false }
    try {
      const both = async (sql: Sql): Promise<boolean> => {
        stage.isFolding = false
        const applied = await write(sql)
        stage.isFolding = true
        if (applied) await foldVisits(sql, hours)
        return applied
      }
      const applied = await retried(() => this.#sql.transaction(both))
      this.#foldFailures = 0
      this.#atOnce = Math.min(batchesAtOnce, 2 * this.#atOnce)
      return applied
    } catch (error) {
      if (!stage.isFolding) throw error
      // It was too much for its time, or Postgres went away in the middle: nothing is wrong with them.
      const isLate = isUnavailable(error)
      this.#atOnce = isLate ? Math.ceil(batches.length / 2) : this.#atOnce
      if (isLate && batches.length > 1) throw error
      // Postgres has taken the clicks: what it did not take is tried again, and then left.
      const tries = isLate ? foldTriesLate : foldTries
      if (++this.#foldFailures < tries) throw error
      // Until visits are taken again each group gets one try: clicks that come as fast must not fill the spool meanwhile.
      this.#foldFailures = tries - 1
      const applied = await retried(() => write(this.#sql))
      onUntold(
        batches.reduce((sum, { visits }) => sum + detailedIn(visits), 0),
        error,
      )
      return applied
    }
  }

  #arrived(batches: readonly Spooled[]): void {
    let { persisted, dropped } = this.#progress ?? none
    for (const batch of batches) {
      // Accepted before it, and neither sent nor given up: a batch that could not be read.
      const { accepted } = totalsBefore(batch)
      const missing = accepted - totalsBefore(batch).dropped - persisted - this.#lost
      this.#lost += missing
      dropped += missing
      persisted += clicksIn(batch.rows)
      this.#lost += batch.impossible ?? 0
      dropped += batch.impossible ?? 0
    }
    this.#hooks.onPersisted(batches)
    this.#note({ persisted, dropped })
  }
}

/** What had become of a spool's clicks before a batch. */
const totalsBefore = ({ totals, rows, dropped, impossible = 0 }: Spooled): Totals => ({
  accepted: totals.accepted - clicksIn(rows) - impossible - dropped,
  dropped: totals.dropped - dropped,
})

/** Two processes that count the same links may wait for each other: Postgres lets one of them go. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= 3 || sqlState(error) !== '40P01') throw error
    }
  }
}
