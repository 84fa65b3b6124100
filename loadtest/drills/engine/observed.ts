// What a drill has seen, by phase, for its promises to be judged by.
import { bucketOf, total, type Sample } from '../../measure/ops.ts'
import type { Answered, Load } from './load.ts'
import type { Watch } from './watch.ts'
import type { Worker } from './appliance.ts'

/** Moments on the common clock. Those of a phase that was not reached are NaN. */
export interface Moments {
  readonly beganMs: number
  readonly injectedMs: number
  readonly landedMs: number
  readonly healedMs: number
  readonly recoveredMs: number
  readonly endedMs: number
}

export interface Phase {
  readonly fromMs: number
  readonly toMs: number
  readonly answers: readonly Answered[]
  of(group: string): Phase
  readonly wrong: number
  /** Neither a redirect nor an answer that this group may give. */
  readonly failed: number
  readonly failures: readonly Answered[]
  count(...statuses: number[]): number
  /** Milliseconds. */
  quantile(share: number): number
  /** Of the generator's own lateness. */
  readonly latenessMs: number
}

export interface Observed {
  readonly moments: Moments
  readonly baseline: Phase
  readonly fault: Phase
  /** From the heal until steady again. */
  readonly recovery: Phase
  readonly after: Phase
  /** From the fault to the end. */
  readonly all: Phase
  readonly breakerOpenMs: number
  readonly workers: number
  readonly watch: Watch
  noted(name: string): number
  /** How much a counter grew from the fault to the end; or while the fault lasted. */
  grew(name: string, labels?: Readonly<Record<string, string>>): number
  grewDuringFault(name: string, labels?: Readonly<Record<string, string>>): number
  grewAfter(name: string, labels?: Readonly<Record<string, string>>): number
  grewInBaseline(name: string, labels?: Readonly<Record<string, string>>): number
  /** Milliseconds of redirects while the fault lasted, by QuickLink's own account, which a busy machine does not blur. */
  ownQuantile(share: number): number
  atEnd(name: string, labels?: Readonly<Record<string, string>>): number
  /** Milliseconds from a moment until it was so for all workers; NaN: never. */
  untilAll(fromMs: number, isSo: (worker: Worker) => boolean): number
}

export interface Scrapes {
  readonly beforeBaseline: readonly Sample[]
  readonly beforeFault: readonly Sample[]
  readonly beforeHeal: readonly Sample[]
  readonly recovered: readonly Sample[]
  readonly atEnd: readonly Sample[]
}

interface ObservedDeps {
  readonly moments: Moments
  readonly load: Load
  readonly watch: Watch
  readonly scrapes: Scrapes
  readonly noted: ReadonlyMap<string, number>
  readonly may: (group: string) => readonly number[]
  readonly breakerOpenMs: number
  readonly workers: number
}

export function lookBack({
  moments,
  load,
  watch,
  scrapes,
  noted,
  may,
  breakerOpenMs,
  workers,
}: ObservedDeps): Observed {
  const phase = (fromMs: number, toMs: number, may_: typeof may = may): Phase =>
    phaseOf(
      load.answers.filter(({ dueMs }) => dueMs >= fromMs && dueMs < toMs),
      { fromMs, toMs, wrong: load.wrong, may: may_ },
    )
  const { beganMs, injectedMs, healedMs, recoveredMs, endedMs } = moments
  const none = (): readonly number[] => []
  const difference =
    (from: readonly Sample[], to: readonly Sample[]) =>
    (name: string, labels?: Readonly<Record<string, string>>): number =>
      total(to, name, labels) - total(from, name, labels)
  return {
    moments,
    watch,
    breakerOpenMs,
    workers,
    baseline: phase(beganMs, injectedMs, none),
    fault: phase(injectedMs, healedMs),
    recovery: phase(healedMs, recoveredMs),
    after: phase(recoveredMs, endedMs, none),
    all: phase(injectedMs, endedMs),
    noted: (name) => noted.get(name) ?? NaN,
    grew: difference(scrapes.beforeFault, scrapes.atEnd),
    grewDuringFault: difference(scrapes.beforeFault, scrapes.beforeHeal),
    grewAfter: difference(scrapes.recovered, scrapes.atEnd),
    grewInBaseline: difference(scrapes.beforeBaseline, scrapes.beforeFault),
    ownQuantile: (share) =>
      1000 * bucketOf(scrapes.beforeFault, scrapes.beforeHeal, 'quicklink_redirect_duration_seconds', share),
    atEnd: (name, labels) => total(scrapes.atEnd, name, labels),
    untilAll: (fromMs, isSo) => (watch.first(fromMs, isSo) ?? NaN) - fromMs,
  }
}

interface PhaseTraits {
  readonly fromMs: number
  readonly toMs: number
  readonly wrong: (answer: Answered) => boolean
  readonly may: (group: string) => readonly number[]
}

export function phaseOf(answers: readonly Answered[], traits: PhaseTraits): Phase {
  const { fromMs, toMs, wrong, may } = traits
  const isFailure = (answer: Answered): boolean => {
    const { group, status, bare } = answer
    if (status === 301 || status === 302) return false
    // That something does not exist is right if it does not.
    return status === 404 ? wrong(answer) : bare === true || !may(group).includes(status)
  }
  return {
    fromMs,
    toMs,
    answers,
    of: (group) =>
      phaseOf(
        answers.filter((answer) => answer.group === group),
        traits,
      ),
    get wrong() {
      return answers.filter(wrong).length
    },
    get failed() {
      return answers.filter(isFailure).length
    },
    get failures() {
      return answers.filter((answer) => isFailure(answer) || wrong(answer))
    },
    count: (...statuses) => answers.filter(({ status }) => statuses.includes(status)).length,
    quantile: (share) => quantile(answers.map(({ ms }) => ms), share), // prettier-ignore
    get latenessMs() {
      return quantile(answers.map(({ lateMs }) => lateMs), 0.99) // prettier-ignore
    },
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
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
