// What k6 heard, from its CSV: by second as it comes, and by phase and flow for the figures.
import { Latencies, quantile } from '../measure/stats.ts'

export interface Second extends Readonly<Counts> {
  /** Since the first answer. */
  readonly atS: number
  readonly phase: string
  readonly answers: number
  /** Of visitors. NaN: there was none. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

interface Counts {
  readonly statuses: Record<string, number>
  wrong: number
  failed: number
  dropped: number
}

interface Group extends Counts {
  readonly phase: string
  readonly flow: string
  readonly latencies: Latencies
}

interface OpenSecond extends Counts {
  readonly latencies: number[]
  readonly phases: Record<string, number>
  answers: number
}

/** What else k6 counts. */
const counters: Readonly<Record<string, 'wrong' | 'failed' | 'dropped'>> = {
  wrong_answers: 'wrong',
  failed_answers: 'failed',
  dropped_iterations: 'dropped',
}

/** Samples come in no order, but not later than this. */
const latenessS = 5

export class Answers {
  readonly #groups = new Map<string, Group>()
  /** By the text of the tags, which k6 writes in any order. */
  readonly #groupOfTags = new Map<string, Group>()
  readonly seconds: Second[] = []
  /** The first few of what was wrong, in words. */
  readonly complaints: string[] = []
  /** Unix time in ms of the first sample: all seconds count from there. */
  beganMs = NaN
  readonly began: Promise<number>
  readonly #open = new Map<number, OpenSecond>()
  readonly #onSecond: (second: Second) => void
  #begin: (ms: number) => void = () => undefined

  readonly #onComplaint: (text: string) => void

  constructor(onSecond: (second: Second) => void, onComplaint: (text: string) => void) {
    this.#onSecond = onSecond
    this.#onComplaint = onComplaint
    this.began = new Promise((resolve) => (this.#begin = resolve))
  }

  /** metric_name,timestamp,metric_value,status,extra_tags,metadata */
  readonly line = (line: string): void => {
    const [metric = '', time = '', value = '', status = '', tags = ''] = line.split(',', 5)
    const counter = counters[metric]
    if (counter === undefined && metric !== 'http_req_duration') return
    const [second, group] = [this.#secondOf(Number(time)), this.#groupOf(tags)]
    if (counter === undefined) return this.#answer(second, group, Number(value), status)
    for (const counts of [second, group]) counts[counter] += Number(value)
  }

  complaint(text: string): void {
    if (this.complaints.length >= 5) return
    this.complaints.push(text)
    this.#onComplaint(text)
  }

  #answer(second: OpenSecond, group: Group, ms: number, status: string): void {
    second.answers++
    second.phases[group.phase] = (second.phases[group.phase] ?? 0) + 1
    second.statuses[status] = (second.statuses[status] ?? 0) + 1
    if (group.flow === 'visitors') second.latencies.push(ms)
    group.latencies.add(ms)
    group.statuses[status] = (group.statuses[status] ?? 0) + 1
  }

  #groupOf(tags: string): Group {
    const known = this.#groupOfTags.get(tags)
    if (known !== undefined) return known
    const named = new URLSearchParams(tags)
    const [phase, flow] = [named.get('phase') ?? '', named.get('flow') ?? '']
    const key = `${phase} ${flow}`
    const fresh: Group = { phase, flow, latencies: new Latencies(), statuses: {}, wrong: 0, failed: 0, dropped: 0 }
    const group = this.#groups.get(key) ?? fresh
    this.#groups.set(key, group)
    this.#groupOfTags.set(tags, group)
    return group
  }

  #secondOf(ms: number): OpenSecond {
    if (Number.isNaN(this.beganMs)) {
      this.beganMs = ms
      this.#begin(ms)
    }
    const atS = Math.max(0, Math.floor((ms - this.beganMs) / 1000))
    let second = this.#open.get(atS)
    if (second === undefined) {
      second = { latencies: [], statuses: {}, phases: {}, answers: 0, wrong: 0, failed: 0, dropped: 0 }
      this.#open.set(atS, second)
      for (const early of this.#open.keys()) if (early < atS - latenessS) this.#close(early)
    }
    return second
  }

  #close(atS: number): void {
    const { latencies, phases, ...counts } = this.#open.get(atS)!
    this.#open.delete(atS)
    const [phase = ''] = Object.entries(phases).sort((a, b) => b[1] - a[1])[0] ?? []
    const second: Second = { atS, phase, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99), maxMs: quantile(latencies, 1), ...counts } // prettier-ignore
    this.seconds.push(second)
    this.#onSecond(second)
  }

  /** All has been heard. */
  finish(): void {
    for (const atS of [...this.#open.keys()].sort((a, b) => a - b)) this.#close(atS)
    this.seconds.sort((a, b) => a.atS - b.atS)
  }

  groupsOf(phase: string, flow?: string): Group[] {
    return [...this.#groups.values()].filter((each) => each.phase === phase && (flow ?? each.flow) === each.flow)
  }
}
