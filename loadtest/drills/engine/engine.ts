// The life of a drill: preflight, baseline, fault, heal, after. Whatever happens, the fault is undone.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { lastLines, Refusal } from '../../../embedded/paths.ts'
import type { Check } from '../../report/report.ts'
import { prepareAppliance, startAppliance, type Appliance } from './appliance.ts'
import type { Drill, Stage } from './drill.ts'
import { judge, unsteady } from './judge.ts'
import { clockMs, startLoad } from './load.ts'
import { total, type Sample } from './metrics.ts'
import { cacheAll, loadLinks } from './links.ts'
import { Doubt, proven } from './proof.ts'
import { armDeadMan } from './safety.ts'
import { lookBack, phaseOf, type Moments, type Scrapes, type Seen } from './seen.ts'
import { startWatch } from './watch.ts'

export interface Options {
  readonly short: boolean
  readonly sources: string
  /** On top of the drill's own: a promise broken on purpose. */
  readonly env?: Readonly<Record<string, string>>
  readonly redis?: readonly string[]
  readonly say: (line: string) => void
}

export interface Mark {
  readonly atMs: number
  readonly what: string
}

export interface Lived {
  readonly drill: Drill
  readonly beganAt: Date
  readonly checks: readonly Check[]
  /** Why nothing can be concluded. */
  readonly doubts: readonly string[]
  readonly marks: readonly Mark[]
  /** undefined: it ended before the fault was healed. */
  readonly seen: Seen | undefined
  readonly settings: Readonly<Record<string, string>>
  /** What the server said of itself at the end. */
  readonly log: string
}

const redirects = ['quicklink_redirects_total', { status: '302' }] as const
const landingMs = 5000
const healingMs = 20_000
const warmUpS = 3

export async function live(drill: Drill, options: Options): Promise<Lived> {
  const breakerOpenMs = options.short ? 3000 : 30_000
  const env = { BREAKER_OPEN_MS: String(breakerOpenMs), ...drill.settings?.env, ...options.env }
  const redis = [...(drill.settings?.redis ?? []), ...(options.redis ?? [])]
  const run = new Run(drill, options, Number(env.BREAKER_OPEN_MS))
  const remains = prepareAppliance()
  const disarm = armDeadMan(remains.dir, maxSeconds(drill, options, breakerOpenMs))
  try {
    options.say('Starting a QuickLink of its own')
    const appliance = await startAppliance(remains, { ...drill.settings, env, redis, sources: options.sources })
    options.say(`It is at ${appliance.url}, its state at ${appliance.opsUrl}/statusz`)
    await run.on(appliance)
  } catch (error) {
    if (error instanceof Refusal) throw error
    run.doubts.push(error instanceof Doubt ? error.message : `The drill could not go on: ${String(error)}.`)
  } finally {
    await run.end()
    run.log = lastLines(join(remains.dir, 'server.log'), 2000)
    await disarm()
  }
  return run.outcome(env)
}

/** Long enough for everything that may be waited for. */
const maxSeconds = (drill: Drill, options: Options, breakerOpenMs: number): number =>
  120 + 2 * secondsOf(drill, options) + breakerOpenMs / 1000

const secondsOf = ({ fault }: Drill, { short }: Options): number =>
  short && !fault.fixed ? Math.max(4, fault.seconds / 2) : fault.seconds

class Run {
  readonly doubts: string[] = []
  log = ''
  readonly #beganAt = new Date()
  readonly #marks: Mark[] = []
  readonly #notes = new Map<string, number>()
  readonly #drill: Drill
  readonly #options: Options
  readonly #breakerOpenMs: number
  readonly #moments = { beganMs: NaN, injectedMs: NaN, landedMs: NaN, healedMs: NaN, recoveredMs: NaN, endedMs: NaN }
  #appliance: Appliance | undefined
  #stage: Stage | undefined
  #seen: Seen | undefined

  constructor(drill: Drill, options: Options, breakerOpenMs: number) {
    this.#drill = drill
    this.#options = options
    this.#breakerOpenMs = breakerOpenMs
  }

  async on(appliance: Appliance): Promise<void> {
    this.#appliance = appliance
    const { rate, groups } = this.#drill.load
    await loadLinks(appliance, groups)
    for (const { prefix, count, cold } of groups) if (!cold) await cacheAll(appliance, prefix, count)
    this.#notes.set('redirectsBefore', total(await appliance.metrics(), ...redirects))
    const load = startLoad({ url: appliance.url, rate, groups, connections: 256, timeoutMs: 5000 })
    const stage: Stage = {
      appliance,
      load,
      watch: startWatch(appliance),
      breakerOpenMs: this.#breakerOpenMs,
      note: (name, value) => this.#notes.set(name, value),
      mark: (what) => this.#mark(what),
    }
    this.#stage = stage
    await this.#drill.prepare?.(stage)
    await pause(warmUpS * 1000)
    const beforeBaseline = await appliance.metrics()
    await this.#baseline(stage)
    const beforeFault = await appliance.metrics()
    await this.#fault(stage)
    const beforeHeal = await appliance.metrics()
    await this.#heal(stage)
    const recovered = await this.#after(stage)
    const atEnd = await this.#reconcile(stage)
    this.#lookBack(stage, { beforeBaseline, beforeFault, beforeHeal, recovered, atEnd })
  }

  async #baseline(stage: Stage): Promise<void> {
    const seconds = this.#options.short ? 4 : 6
    this.#options.say(`Baseline, ${seconds} s at ${this.#drill.load.rate} requests/s`)
    const fromMs = (this.#moments.beganMs = clockMs())
    this.#mark('baseline begins')
    await pause(seconds * 1000)
    const answers = stage.load.answers.filter(({ dueMs }) => dueMs >= fromMs)
    const phase = phaseOf(answers, { fromMs, toMs: clockMs() - 100, wrong: stage.load.wrong, may: () => [] })
    const why = unsteady(phase, this.#drill.load.rate)
    if (why.length > 0) throw new Doubt(`Not steady before the fault: ${why.join('; ')}.`)
    if (!stage.watch.sound())
      throw new Doubt('Not healthy before the fault: a breaker is open, or Redis is not trusted.')
  }

  async #fault(stage: Stage): Promise<void> {
    const { fault, meanwhile } = this.#drill
    const seconds = secondsOf(this.#drill, this.#options)
    this.#options.say(`Fault: ${fault.what}`)
    this.#moments.injectedMs = clockMs()
    this.#mark(`fault: ${fault.what}`)
    await fault.inject(stage)
    if (!(await proven(() => fault.landed.check(stage), landingMs)))
      throw new Doubt(`The fault did not land: not so that ${fault.landed.what}.`)
    this.#moments.landedMs = clockMs()
    this.#mark(`it landed: ${fault.landed.what}`)
    const endMs = clockMs() + seconds * 1000
    const acting = started(meanwhile?.(stage))
    while (clockMs() < endMs || !acting.done) {
      if (acting.failure !== undefined) throw acting.failure
      const why = this.#giveUp(stage)
      if (why !== undefined) {
        this.#mark(`ended early: ${why}`)
        this.#options.say(`Ended early: ${why}`)
        break
      }
      await pause(100)
    }
  }

  /** Reasons to end early: more of it would show nothing new. */
  #giveUp({ load, watch }: Stage): string | undefined {
    const fromMs = clockMs() - 2000
    const recent = load.answers.filter(({ dueMs }) => dueMs >= fromMs)
    if (recent.some(load.wrong)) return 'an answer led to a wrong place'
    const phase = phaseOf(recent, { fromMs, toMs: clockMs(), wrong: load.wrong, may: this.#may })
    if (phase.failed > recent.length / 2) return 'most answers are outside the promised ones'
    if (watch.silentMs() > 5000) return 'QuickLink has been silent for 5 s'
    return undefined
  }

  async #heal(stage: Stage): Promise<void> {
    const { what, undo, healed } = this.#drill.heal
    this.#options.say(`Heal: ${what}`)
    await undo(stage)
    if (!(await proven(() => healed.check(stage), healingMs)))
      throw new Doubt(`It was not healed: not so that ${healed.what}.`)
    this.#moments.healedMs = clockMs()
    this.#mark(`healed: ${healed.what}`)
  }

  /** The figures of the moment when it was steady again. */
  async #after(stage: Stage): Promise<Sample[]> {
    const isBack = (): boolean => stage.watch.sound() && stage.watch.looks.at(-1)!.atMs > this.#moments.healedMs
    const back = async (): Promise<boolean> => isBack() && ((await this.#drill.recovered?.check(stage)) ?? true)
    const deadlineMs = this.#breakerOpenMs + 10_000
    const recovered = await proven(back, deadlineMs)
    this.#moments.recoveredMs = clockMs()
    this.#mark(recovered ? 'recovered: breakers closed, Redis trusted' : `not recovered after ${deadlineMs / 1000} s`)
    this.#notes.set('recovered', recovered ? 1 : 0)
    const samples = await stage.appliance.metrics()
    // What waited for a deadline when it recovered is not steady yet.
    await pause((this.#options.short ? 4 : 6) * 1000)
    this.#moments.endedMs = clockMs() - 200
    this.#mark('end')
    return samples
  }

  /** When nobody asks any more, every click must be in one of its books. */
  async #reconcile({ load, appliance, watch }: Stage): Promise<Sample[]> {
    await load.stop()
    await watch.stop()
    const answered = load.answers.filter(({ status }) => status === 302).length
    let samples = await appliance.metrics()
    const settled = async (): Promise<boolean> => {
      samples = await appliance.metrics()
      const of = (name: string): number => total(samples, `quicklink_clicks_${name}`)
      return of('spooled') === 0 && of('accepted_total') === of('persisted_total') + of('dropped_total')
    }
    await proven(settled, 5000)
    const counted = total(samples, ...redirects) - (this.#notes.get('redirectsBefore') ?? 0)
    this.#notes.set('uncounted', Math.max(0, answered - counted))
    return samples
  }

  #lookBack(stage: Stage, scrapes: Scrapes): void {
    const moments: Moments = { ...this.#moments }
    const { load, watch, appliance } = stage
    this.#seen = lookBack({
      moments,
      load,
      watch,
      scrapes,
      noted: this.#notes,
      may: this.#may,
      breakerOpenMs: this.#breakerOpenMs,
      workers: appliance.workers,
    })
  }

  readonly #may = (group: string): readonly number[] =>
    this.#drill.load.groups.find(({ name }) => name === group)?.may ?? []

  #mark(what: string): void {
    this.#marks.push({ atMs: clockMs(), what })
  }

  async end(): Promise<void> {
    await this.#stage?.load.stop()
    await this.#stage?.watch.stop()
    await this.#appliance?.close().catch(() => undefined)
  }

  /** Of a drill that did not reach its end: a wrong answer is wrong all the same. */
  #certainly(): Check[] {
    const { answers, wrong } = this.#stage?.load ?? { answers: [], wrong: () => false }
    const count = answers.filter(wrong).length
    return count > 0
      ? [{ claim: 'answers that led to a wrong place', promised: '0', measured: String(count), ok: false }]
      : []
  }

  outcome(settings: Readonly<Record<string, string>>): Lived {
    const { checks, doubts } = this.#seen ? judge(this.#drill, this.#seen) : { checks: this.#certainly(), doubts: [] }
    return {
      drill: this.#drill,
      beganAt: this.#beganAt,
      checks,
      doubts: [...this.doubts, ...doubts],
      marks: this.#marks,
      seen: this.#seen,
      settings,
      log: this.log,
    }
  }
}

/** Its end is looked at from time to time, not waited for: meanwhile there may be reasons to give up. */
function started(work: Promise<void> | undefined): { readonly done: boolean; readonly failure: unknown } {
  const state: { done: boolean; failure: unknown } = { done: work === undefined, failure: undefined }
  work?.then(
    () => (state.done = true),
    (error: unknown) => (state.failure = error ?? new Error('it failed')),
  )
  return state
}
