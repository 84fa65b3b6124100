// The primary's view of all workers. A worker that does not answer in time, or has died, still counts with the totals
// it reported last, so that no counter ever goes back. Its gauges are dropped: they say something about now.
import { setTimeout as pause } from 'node:timers/promises'
import { Page, type Samples, type Series } from './merge.ts'
import type { ReportSlice, Status } from './report.ts'

interface Member {
  readonly ask: (request: number) => void
  /** Every series that it has named, by its number. */
  readonly series: Series[]
  /** The report under way. */
  partial: Map<Series, number>
  samples: Samples
  status: Status | undefined
  answered: number
}

interface FleetReport {
  /** Of everyone, the dead included. */
  readonly samples: readonly Samples[]
  /** By process; undefined: it did not answer in time. */
  readonly statuses: ReadonlyMap<number, Status | undefined>
}

/** Lines of a page written at a time: a fraction of a millisecond of work. */
const pieceLines = 500

export class Fleet {
  readonly #deadlineMs: number
  readonly #page = new Page()
  readonly #members = new Map<number, Member>()
  #graveyard: Samples = new Map()
  #requests = 0
  #collecting: Promise<FleetReport> | undefined
  #onAnswer: (() => void) | undefined

  constructor({ deadlineMs = 1000 }: { readonly deadlineMs?: number } = {}) {
    this.#deadlineMs = deadlineMs
  }

  joined(id: number, ask: (request: number) => void): void {
    const nothing = { series: [], partial: new Map(), samples: new Map(), status: undefined, answered: 0 }
    this.#members.set(id, { ask, ...nothing })
  }

  received(id: number, slice: ReportSlice): void {
    const member = this.#members.get(id)
    if (!member) return
    for (const named of slice.named) member.series.push(...this.#page.seriesOf(named))
    slice.series.forEach((number, i) => {
      member.partial.set(member.series[number] as Series, slice.values[i] as number)
    })
    if (slice.status === undefined) return
    member.samples = member.partial
    member.partial = new Map()
    member.status = slice.status
    member.answered = Math.max(member.answered, slice.request ?? 0)
    this.#onAnswer?.()
  }

  left(id: number): void {
    const member = this.#members.get(id)
    if (member) {
      const totals = new Map(this.#graveyard)
      for (const [series, value] of totalsOf(member.samples)) totals.set(series, value + (totals.get(series) ?? 0))
      this.#graveyard = totals
    }
    this.#members.delete(id)
    this.#onAnswer?.()
  }

  /** Askers of the same moment share one report. */
  collect(): Promise<FleetReport> {
    this.#collecting ??= this.#collectNow().finally(() => {
      this.#collecting = undefined
    })
    return this.#collecting
  }

  /** In pieces, with a pause after each: where cores are few, the workers wait for the one that this takes. */
  async text(): Promise<string> {
    const { samples } = await this.collect()
    const pieces: string[] = []
    let lines: string[] = []
    for (const line of this.#page.lines(samples)) {
      if (lines.push(line) < pieceLines) continue
      pieces.push(lines.join('\n'))
      lines = []
      await pause(1)
    }
    return [...pieces, ...lines, ''].join('\n')
  }

  async #collectNow(): Promise<FleetReport> {
    const request = ++this.#requests
    await this.#askEveryone(request)
    // Nothing is awaited from here on: one that leaves is counted either as a member or in the graveyard.
    const samples = [this.#graveyard]
    const statuses = new Map<number, Status | undefined>()
    for (const [id, member] of this.#members) {
      const inTime = member.answered >= request
      statuses.set(id, inTime ? member.status : undefined)
      samples.push(inTime ? member.samples : totalsOf(member.samples))
    }
    return { samples, statuses }
  }

  /**
   * One after the other: asked all at once, the workers would take all cores from each other for as long as that lasts.
   * Resolves when all have answered, and at the deadline at the latest.
   */
  #askEveryone(request: number): Promise<void> {
    const toAsk = [...this.#members.values()]
    return new Promise((resolve) => {
      let asked: Member | undefined
      let patience: NodeJS.Timeout | undefined
      const finish = (): void => {
        clearTimeout(timer)
        clearTimeout(patience)
        this.#onAnswer = undefined
        resolve()
      }
      const timer = setTimeout(finish, this.#deadlineMs)
      const askNext = (): void => {
        clearTimeout(patience)
        asked = toAsk.shift()
        if (asked === undefined) return
        patience = setTimeout(askNext, this.#deadlineMs / 20)
        asked.ask(request)
      }
      this.#onAnswer = () => {
        if ([...this.#members.values()].every(({ answered }) => answered >= request)) finish()
        else if (asked !== undefined && asked.answered >= request) askNext()
      }
      askNext()
      this.#onAnswer()
    })
  }
}

/** A gauge says something about now, and so is not told of those who are silent or gone. */
const totalsOf = (samples: Samples): Samples => new Map([...samples].filter(([{ grows }]) => grows))
