// The primary's view of all workers. A worker that does not answer in time, or has died, still counts with the totals
// it reported last, so that no counter ever goes back. Its gauges are dropped: they say something about now.
import { setTimeout as pause } from 'node:timers/promises'
import { AggregatorRegistry, type Registry } from 'prom-client'
import type { MetricData, ReportSlice, Status } from './report.ts'

type Metrics = readonly MetricData[]

interface Member {
  readonly ask: (request: number) => void
  /** The report under way. */
  partial: MetricData[]
  metrics: Metrics
  status: Status | undefined
  answered: number
}

interface FleetReport {
  /** Of everyone, the dead included. */
  readonly metrics: readonly Metrics[]
  /** By process; undefined: it did not answer in time. */
  readonly statuses: ReadonlyMap<number, Status | undefined>
}

/** So many samples are added up and written at a time, and a whole metric at least: two milliseconds of work. */
const pieceSamples = 500

/** Counters and histograms are summed, each gauge is what its own aggregator makes of all. */
const addedUp = (all: readonly Metrics[]): Registry => AggregatorRegistry.aggregate(all as MetricData[][])

export class Fleet {
  readonly #deadlineMs: number
  readonly #members = new Map<number, Member>()
  /** Totals of the dead, added up. */
  #graveyard: Metrics = []
  #requests = 0
  #collecting: Promise<FleetReport> | undefined
  #onAnswer: (() => void) | undefined

  constructor({ deadlineMs = 1000 }: { readonly deadlineMs?: number } = {}) {
    this.#deadlineMs = deadlineMs
  }

  joined(id: number, ask: (request: number) => void): void {
    this.#members.set(id, { ask, partial: [], metrics: [], status: undefined, answered: 0 })
  }

  received(id: number, slice: ReportSlice): void {
    const member = this.#members.get(id)
    if (!member) return
    if (slice.first) member.partial = []
    member.partial.push(...slice.metrics)
    if (slice.status === undefined) return
    member.metrics = member.partial
    member.status = slice.status
    member.answered = Math.max(member.answered, slice.request ?? 0)
    this.#onAnswer?.()
  }

  left(id: number): void {
    const member = this.#members.get(id)
    if (member)
      this.#graveyard = addedUp([this.#graveyard, totalsOf(member.metrics)]).getMetricsAsArray() as MetricData[]
    this.#members.delete(id)
    this.#onAnswer?.()
  }

  /** Askers of the same moment share one report. */
  collect(): Promise<FleetReport> {
    this.#collecting ??= this.#collectNow().finally(() => (this.#collecting = undefined))
    return this.#collecting
  }

  /** In pieces, with a pause after each: where cores are few, the workers wait for the one that this takes. */
  async text(): Promise<string> {
    const { metrics } = await this.collect()
    const pieces: string[] = []
    let written = 0
    for (const parts of Map.groupBy(metrics.flat(), ({ name }) => name).values()) {
      pieces.push(await addedUp([parts]).metrics())
      written += parts.reduce((sum, { values }) => sum + values.length, 0)
      if (written < pieceSamples) continue
      written = 0
      await pause(1)
    }
    return pieces.join('')
  }

  async #collectNow(): Promise<FleetReport> {
    const request = ++this.#requests
    await this.#askEveryone(request)
    // Nothing is awaited from here on: one that leaves is counted either as a member or in the graveyard.
    const metrics = [this.#graveyard]
    const statuses = new Map<number, Status | undefined>()
    for (const [id, member] of this.#members) {
      const inTime = member.answered >= request
      statuses.set(id, inTime ? member.status : undefined)
      metrics.push(inTime ? member.metrics : totalsOf(member.metrics))
    }
    return { metrics, statuses }
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
const totalsOf = (metrics: Metrics): Metrics =>
  metrics.filter(({ type }) => ['counter', 'histogram'].includes(type as unknown as string))
