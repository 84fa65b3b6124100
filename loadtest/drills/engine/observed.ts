// What a drill has seen, by phase, for its promises to be judged by.
import { bucketOf, total, type Sample } from '../../measure/ops.ts'
import { quantile } from '../../measure/stats.ts'
import type { Answered, Load } from './load.ts'
import type { Watch } from './watch.ts'
import type { Worker } from '../../measure/ops.ts'

/** On the common clock. Those of a phase that was not reached are NaN. */
type Moment = 'began' | 'injected' | 'landed' | 'healed' | 'recovered' | 'ended'
export type Moments = Readonly<Record<`${Moment}Ms`, number>>

type Scraped = 'beforeBaseline' | 'beforeFault' | 'beforeHeal' | 'recovered' | 'atEnd'

interface Run {
  readonly moments: Moments
  readonly load: Load
  readonly watch: Watch
  readonly scrapes: Readonly<Record<Scraped, readonly Sample[]>>
  readonly noted: ReadonlyMap<string, number>
  readonly may: (group: string) => readonly number[]
  readonly breakerOpenMs: number
  readonly workers: number
}

type Labels = Readonly<Record<string, string>>
export type Observed = ReturnType<typeof lookBack>

export function lookBack({ moments, load, watch, scrapes, noted, may, breakerOpenMs, workers }: Run) {
  const { beganMs, injectedMs, landedMs, healedMs, recoveredMs, endedMs } = moments
  const phase = (fromMs: number, toMs: number, mayThen = may): Phase => {
    const answers = load.answers.filter(({ dueMs }) => dueMs >= fromMs && dueMs < toMs)
    return new Phase(answers, { fromMs, toMs, wrong: load.wrong, may: mayThen })
  }
  const none = (): readonly number[] => []
  /** How much a counter grew. */
  const growth = (from: readonly Sample[], to: readonly Sample[]) => (name: string, labels?: Labels) =>
    total(to, name, labels) - total(from, name, labels)
  return {
    moments,
    watch,
    breakerOpenMs,
    workers,
    baseline: phase(beganMs, injectedMs, none),
    fault: phase(injectedMs, healedMs),
    /** Without what a drill does before it lands: many changes at once take their time on a busy machine. */
    sinceLanded: phase(landedMs, healedMs),
    /** From the heal until steady again. */
    recovery: phase(healedMs, recoveredMs),
    after: phase(recoveredMs, endedMs, none),
    /** From the fault to the end. */
    all: phase(injectedMs, endedMs),
    noted: (name: string): number => noted.get(name) ?? NaN,
    grew: growth(scrapes.beforeFault, scrapes.atEnd),
    grewDuringFault: growth(scrapes.beforeFault, scrapes.beforeHeal),
    grewAfter: growth(scrapes.recovered, scrapes.atEnd),
    grewInBaseline: growth(scrapes.beforeBaseline, scrapes.beforeFault),
    /** Milliseconds of redirects while the fault lasted, by QuickLink's own account, which a busy machine does not blur. */
    ownQuantile: (share: number): number =>
      1000 * bucketOf(scrapes.beforeFault, scrapes.beforeHeal, 'quicklink_redirect_duration_seconds', share),
    atEnd: (name: string, labels?: Labels): number => total(scrapes.atEnd, name, labels),
    /** Milliseconds from a moment until it was so for all workers; NaN: never. */
    untilAll: (fromMs: number, isSo: (worker: Worker) => boolean): number =>
      (watch.first(fromMs, isSo) ?? NaN) - fromMs,
  }
}

interface Traits {
  readonly fromMs: number
  readonly toMs: number
  readonly wrong: (answer: Answered) => boolean
  readonly may: (group: string) => readonly number[]
}

export class Phase {
  readonly answers: readonly Answered[]
  readonly fromMs: number
  readonly toMs: number
  readonly #traits: Traits

  constructor(answers: readonly Answered[], traits: Traits) {
    this.answers = answers
    this.fromMs = traits.fromMs
    this.toMs = traits.toMs
    this.#traits = traits
  }

  readonly of = (group: string): Phase =>
    new Phase(
      this.answers.filter((answer) => answer.group === group),
      this.#traits,
    )

  /** Neither a redirect nor an answer that this group may give. */
  readonly #isFailure = (answer: Answered): boolean => {
    const { group, status, bare } = answer
    if (status === 301 || status === 302) return false
    // That something does not exist is right if it does not.
    return status === 404 ? this.#traits.wrong(answer) : bare === true || !this.#traits.may(group).includes(status)
  }

  get wrong(): number {
    return this.answers.filter(this.#traits.wrong).length
  }

  get failed(): number {
    return this.answers.filter(this.#isFailure).length
  }

  get failures(): readonly Answered[] {
    return this.answers.filter((answer) => this.#isFailure(answer) || this.#traits.wrong(answer))
  }

  readonly count = (...statuses: number[]): number =>
    this.answers.filter(({ status }) => statuses.includes(status)).length

  /** Milliseconds. */
  readonly quantile = (share: number): number =>
    quantile(
      this.answers.map(({ ms }) => ms),
      share,
    )

  /** Of the generator's own lateness. */
  get latenessMs(): number {
    return quantile(
      this.answers.map(({ lateMs }) => lateMs),
      0.99,
    )
  }
}

/** The answers of each second, with its beginning. */
export function bySecond({ answers, fromMs }: Pick<Phase, 'answers' | 'fromMs'>): [number, Answered[]][] {
  const seconds = Map.groupBy(answers, ({ dueMs }) => Math.floor((dueMs - fromMs) / 1000))
  return [...seconds].sort(([a], [b]) => a - b).map(([second, all]) => [fromMs + second * 1000, all])
}

/** The second from the fault on whose p99 is the highest, and how late its load was sent. */
export function peak({ all }: Pick<Observed, 'all'>): { atMs: number; ms: number; latenessMs: number } {
  const seconds = bySecond(all).map(([atMs, answers]) => ({
    atMs,
    ms: quantile(answers.map(({ ms }) => ms), 0.99),
    latenessMs: quantile(answers.map(({ lateMs }) => lateMs), 0.99),
  })) // prettier-ignore
  return seconds.reduce((worst, each) => (each.ms > worst.ms ? each : worst), { atMs: NaN, ms: 0, latenessMs: 0 })
}

/** From the fault on, of the second in which most were not led on: 503, any other refusal, or silence. A 404 is an answer. */
export function worstShare({ all }: Pick<Observed, 'all'>): number {
  const answered = [301, 302, 404]
  const shares = bySecond(all).map(
    ([, answers]) => answers.filter(({ status }) => !answered.includes(status)).length / answers.length,
  )
  return Math.max(0, ...shares)
}
