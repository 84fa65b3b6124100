// The primary's view of all workers. A worker that does not answer in time, or has died, still counts with the totals
// it reported last, so that no counter ever goes back. Its gauges are dropped: they say something about now.
import { merge, totalsOf, toText } from './merge.ts'
import type { MetricData, ReportSlice, Status } from './report.ts'

interface Snapshot {
  readonly report: number
  readonly metrics: readonly MetricData[]
  readonly status: Status
}

interface Member {
  readonly ask: (request: number) => void
  /** Reports under way: the slices so far. */
  readonly partial: Map<number, MetricData[]>
  last: Snapshot | undefined
  answered: number
}

export interface FleetReport {
  readonly metrics: readonly MetricData[]
  /** By worker; undefined: it did not answer in time. */
  readonly statuses: ReadonlyMap<number, Status | undefined>
}

interface FleetOptions {
  /** The primary's own samples. */
  readonly own: () => Promise<readonly MetricData[]>
  readonly deadlineMs?: number
}

/** More reports than this at once from one worker means that it lost its thread: the oldest is forgotten. */
const maxPartialReports = 8

export class Fleet {
  readonly #own: FleetOptions['own']
  readonly #deadlineMs: number
  readonly #members = new Map<number, Member>()
  #graveyard: readonly MetricData[] = []
  #requests = 0
  #collecting: Promise<FleetReport> | undefined
  #onAnswer: (() => void) | undefined

  constructor({ own, deadlineMs = 1000 }: FleetOptions) {
    this.#own = own
    this.#deadlineMs = deadlineMs
  }

  joined(id: number, ask: (request: number) => void): void {
    this.#members.set(id, { ask, partial: new Map(), last: undefined, answered: 0 })
  }

  received(id: number, slice: ReportSlice): void {
    const member = this.#members.get(id)
    if (!member) return
    const metrics = [...(member.partial.get(slice.report) ?? []), ...slice.metrics]
    member.partial.set(slice.report, metrics)
    if (slice.status === undefined) {
      const [oldest] = member.partial.keys()
      if (member.partial.size > maxPartialReports && oldest !== undefined) member.partial.delete(oldest)
      return
    }
    member.partial.delete(slice.report)
    // Of two overlapping reports the one that began later knows more, whichever ends first.
    if (slice.report > (member.last?.report ?? 0)) {
      member.last = { report: slice.report, metrics, status: slice.status }
    }
    member.answered = Math.max(member.answered, slice.request ?? 0)
    this.#onAnswer?.()
  }

  left(id: number): void {
    const last = this.#members.get(id)?.last
    if (last) this.#graveyard = merge([this.#graveyard, totalsOf(last.metrics)])
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

  async text(): Promise<string> {
    return toText((await this.collect()).metrics)
  }

  async #collectNow(): Promise<FleetReport> {
    const request = ++this.#requests
    await this.#askEveryone(request)
    const lists = [await this.#own()]
    // Nothing is awaited from here on: a worker that leaves is counted either as a member or in the graveyard.
    lists.push(this.#graveyard)
    const statuses = new Map<number, Status | undefined>()
    for (const [id, { last, answered }] of this.#members) {
      const inTime = answered >= request
      statuses.set(id, inTime ? last?.status : undefined)
      if (last) lists.push(inTime ? last.metrics : totalsOf(last.metrics))
    }
    return { metrics: merge(lists), statuses }
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
