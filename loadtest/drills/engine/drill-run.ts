// One run of a drill on a QuickLink that runs: baseline, fault, heal, after. Long because that is told in its order.
import { setTimeout as pause } from 'node:timers/promises'
import { loadBeside, type Check } from '../../report/report.ts'
import { watchAlerts, type Alerts, type Ringing } from './alerts.ts'
import type { Appliance } from './appliance.ts'
import { compressedBy, Doubt, type Drill, type DrillContext, evidenceShare, type Mark, type Options, proven, rateOf, secondsOf, watchedFor } from './drill.ts' // prettier-ignore
import { judge, unsteady } from './judge.ts'
import { cacheAll, loadLinks } from './links.ts'
import { clockMs, startLoad } from './load.ts'
import { annotate } from '../../report/grafana.ts'
import { total, type Sample } from '../../measure/ops.ts'
import { endsWithinMs, graceMs, ofExporters, ringsWithinMs } from './rules.ts'
import { lookBack, Phase, type Observed } from './observed.ts'
import { startWatch } from './watch.ts'

const redirects = ['quicklink_redirects_total', { status: '302' }] as const
const landingMs = 5000
const healingMs = 20_000
const warmUpS = 3
/** Less than any alert waits, in a drill's time, with its window. */
const blindMs = 10_000

export type DrillResult = ReturnType<DrillRun['outcome']>

export class DrillRun {
  readonly doubts: string[] = []
  log = ''
  readonly #beganAt = new Date()
  readonly #loadBeside = loadBeside()
  readonly #marks: Mark[] = []
  readonly #notes = new Map<string, number>()
  #drill: Drill
  readonly #options: Options
  #breakerOpenMs: number
  readonly #moments = { beganMs: NaN, injectedMs: NaN, landedMs: NaN, healedMs: NaN, recoveredMs: NaN, endedMs: NaN }
  #appliance: Appliance | undefined
  #context: DrillContext | undefined
  #alerts: Alerts | undefined
  #observed: Observed | undefined
  /** The machine had other work before the fault, and the drill goes on: see `isOfCounts`. */
  #isBusy = false

  constructor(drill: Drill, options: Options, breakerOpenMs: number) {
    this.#drill = drill
    this.#options = options
    this.#breakerOpenMs = breakerOpenMs
  }

  async on(appliance: Appliance): Promise<void> {
    this.#appliance = appliance
    this.#breakerOpenMs = appliance.breakerOpenMs ?? this.#breakerOpenMs
    if (appliance.hasExporters === false) {
      const alerts = this.#drill.alerts.filter((name) => !ofExporters.includes(name))
      this.#drill = { ...this.#drill, alerts }
    }
    const { groups, rate: usual } = this.#drill.load
    const rate = rateOf(this.#drill, this.#options)
    await loadLinks(appliance, groups)
    for (const { prefix, count, cold } of groups) if (!cold) await cacheAll(appliance, prefix, count)
    this.#notes.set('redirectsBefore', total(await appliance.metrics(), ...redirects))
    const load = startLoad({ url: appliance.url, rate, groups, connections: 256, timeoutMs: 5000 })
    const context: DrillContext = {
      appliance,
      // A drill speaks of its usual rate.
      load: { ...load, set: (next) => load.set({ ...next, rate: (next.rate * rate) / usual }) },
      watch: startWatch(appliance),
      breakerOpenMs: this.#breakerOpenMs,
      note: (name, value) => this.#notes.set(name, value),
      mark: (what) => this.#mark(what),
    }
    this.#context = context
    if (appliance.prometheusUrl !== undefined) this.#alerts = watchAlerts(appliance.prometheusUrl)
    await this.#drill.prepare?.(context)
    await pause(warmUpS * 1000)
    const beforeBaseline = await this.#baseline(context)
    const beforeFault = await appliance.metrics()
    await this.#fault(context)
    // Nobody answers where the fault is that there is no server.
    const beforeHeal = await appliance.metrics().catch(() => beforeFault)
    await this.#heal(context)
    const recovered = await this.#after(context)
    const atEnd = await this.#reconcile(context)
    this.#observed = lookBack({
      ...context,
      scrapes: { beforeBaseline, beforeFault, beforeHeal, recovered, atEnd },
      moments: { ...this.#moments },
      noted: this.#notes,
      may: this.#may,
      workers: appliance.workers,
    })
  }

  /** A machine that has other work for a moment is given another one, unless it has it anyhow. What the server had counted before the last of them. */
  async #baseline(context: DrillContext, tries = this.#options.anyhow ? 1 : 4): Promise<Sample[]> {
    const before = await context.appliance.metrics()
    const seconds = watchedFor(this.#options)
    const rate = rateOf(this.#drill, this.#options)
    this.#options.say(`Baseline, ${seconds} s at ${rate} requests/s`)
    const fromMs = (this.#moments.beganMs = clockMs())
    this.#mark('baseline begins', 'start')
    await pause(seconds * 1000)
    const answers = context.load.answers.filter(({ dueMs }) => dueMs >= fromMs)
    const phase = new Phase(answers, { fromMs, toMs: clockMs() - 100, wrong: context.load.wrong, may: () => [] })
    const why = unsteady(phase, rate)
    const isFailing = phase.wrong + (this.#drill.isOfCounts === true ? 0 : phase.failed) > 0
    if (why.length > 0 && tries > 1 && !isFailing) {
      this.#options.say(`Not steady yet: ${why.join('; ')}`)
      return this.#baseline(context, tries - 1)
    }
    const doubt = `Not steady before the fault: ${why.join('; ')}.`
    this.#isBusy = why.length > 0 && this.#drill.isOfCounts === true && !isFailing
    if (this.#isBusy) this.#options.say(`${doubt} What it counts is judged all the same.`)
    else if (why.length > 0 && !this.#options.anyhow) throw new Doubt(doubt)
    else if (why.length > 0) this.doubts.push(doubt)
    if (!context.watch.sound())
      throw new Doubt('Not healthy before the fault: a breaker is open, or Redis is not trusted.')
    const ringing = this.#alerts?.ringing() ?? []
    if (ringing.length > 0) throw new Doubt(`Not quiet before the fault: ${ringing.join(', ')}.`)
    return before
  }

  async #fault(context: DrillContext): Promise<void> {
    const { fault, meanwhile } = this.#drill
    const seconds = secondsOf(this.#drill, this.#options)
    this.#options.say(`Fault: ${fault.what}`)
    this.#moments.injectedMs = clockMs()
    this.#mark(`fault: ${fault.what}`, 'fault')
    await fault.inject(context)
    if (!(await proven(() => fault.landed.check(context), landingMs)))
      throw new Doubt(`The fault did not land: not so that ${fault.landed.what}.`)
    this.#moments.landedMs = clockMs()
    this.#mark(`it landed: ${fault.landed.what}`)
    const endMs = clockMs() + seconds * 1000
    const acting = started(meanwhile?.(context))
    while (clockMs() < endMs || !acting.done || this.#isToRing()) {
      if (acting.failure !== undefined) throw acting.failure
      const why = this.#giveUp(context)
      if (why !== undefined) {
        this.#mark(`ended early: ${why}`)
        this.#options.say(`Ended early: ${why}`)
        break
      }
      await pause(100)
    }
  }

  /** The fault lasts until what must ring has rung, or no longer may. */
  #isToRing(): boolean {
    const { rung } = this.#alerts ?? { rung: [] }
    const forMs = clockMs() - this.#moments.injectedMs
    return (
      this.#alerts !== undefined &&
      this.#drill.alerts.some(
        (expected) => !rung.some(({ name }) => name === expected) && forMs < ringsWithinMs(expected),
      )
    )
  }

  /** And the load goes on until it is over. */
  async #quiet(): Promise<void> {
    const leftMs = this.#moments.recoveredMs + endsWithinMs + graceMs - clockMs()
    const rings = (): string[] => this.#alerts?.ringing() ?? []
    await proven(() => !rings().some((name) => this.#drill.alerts.includes(name)), Math.max(0, leftMs))
  }

  /** Reasons to end early: more of it would show nothing new. */
  #giveUp({ load, watch }: DrillContext): string | undefined {
    const fromMs = clockMs() - 2000
    const recent = load.answers.filter(({ dueMs }) => dueMs >= fromMs)
    if (recent.some(load.wrong)) return 'an answer led to a wrong place'
    const phase = new Phase(recent, { fromMs, toMs: clockMs(), wrong: load.wrong, may: this.#may })
    if (phase.failed > recent.length / 2) return 'most answers are outside the promised ones'
    if (watch.silentMs() > 5000) return 'QuickLink has been silent for 5 s'
    return undefined
  }

  async #heal(context: DrillContext): Promise<void> {
    const { what, undo, healed } = this.#drill.heal
    this.#options.say(`Heal: ${what}`)
    await undo(context)
    if (!(await proven(() => healed.check(context), healingMs)))
      throw new Doubt(`It was not healed: not so that ${healed.what}.`)
    this.#moments.healedMs = clockMs()
    this.#mark(`healed: ${healed.what}`, 'heal')
  }

  /** The figures of the moment when it was steady again. */
  async #after(context: DrillContext): Promise<Sample[]> {
    const isBack = (): boolean => context.watch.sound() && context.watch.looks.at(-1)!.atMs > this.#moments.healedMs
    const back = async (): Promise<boolean> => isBack() && ((await this.#drill.recovered?.check(context)) ?? true)
    const deadlineMs = this.#breakerOpenMs + 10_000
    const recovered = await proven(back, deadlineMs)
    this.#moments.recoveredMs = clockMs()
    this.#mark(recovered ? 'recovered: breakers closed, Redis trusted' : `not recovered after ${deadlineMs / 1000} s`)
    this.#notes.set('recovered', recovered ? 1 : 0)
    const samples = await context.appliance.metrics()
    // What waited for a deadline when it recovered is not steady yet.
    await pause(watchedFor(this.#options) * 1000)
    await this.#quiet()
    this.#moments.endedMs = clockMs() - 200
    this.#mark('end')
    return samples
  }

  /** When nobody asks any more, every click must be in one of its books. */
  async #reconcile({ load, appliance, watch }: DrillContext): Promise<Sample[]> {
    await load.stop()
    this.doubts.push(...[load.problem()].filter((problem) => problem !== undefined))
    await watch.stop()
    const answered = load.answers.filter(({ status }) => status === 302).length
    let samples = await appliance.metrics()
    const settled = async (): Promise<boolean> => {
      samples = await appliance.metrics()
      const of = (name: string): number => total(samples, `quicklink_clicks_${name}`)
      return of('spooled') === 0 && of('accepted_total') === of('persisted_total') + of('dropped_total')
    }
    // A busy server sends every five seconds.
    await proven(settled, 10_000)
    await this.#drill.atEnd?.(this.#context!)
    const counted = total(samples, ...redirects) - (this.#notes.get('redirectsBefore') ?? 0)
    this.#notes.set('uncounted', Math.max(0, answered - counted))
    return samples
  }

  readonly #may = (group: string): readonly number[] =>
    this.#drill.load.groups.find(({ name }) => name === group)?.may ?? []

  #mark(what: string, moment?: 'start' | 'fault' | 'heal'): void {
    this.#marks.push({ atMs: clockMs(), what })
    const { grafana } = this.#appliance ?? {}
    const annotation = {
      time: Date.now(),
      tags: ['quicklink-drill', moment ?? ''],
      text: `${this.#drill.name}: ${what}`,
    }
    if (grafana && moment) void annotate(grafana, annotation)
  }

  async end(): Promise<void> {
    await this.#context?.load.stop()
    await this.#context?.watch.stop()
    await this.#alerts?.stop()
    await this.#appliance?.close().catch(() => undefined)
  }

  /** From the fault on: while it starts, QuickLink is down. Undefined: nobody looked, or not all the time. */
  #rung(): readonly Ringing[] | undefined {
    const silentMs = this.#alerts?.silentMs() ?? 0
    const { injectedMs } = this.#moments
    if (silentMs <= blindMs) return this.#alerts?.rung.filter(({ toMs = Infinity }) => toMs >= injectedMs)
    this.doubts.push(`Prometheus did not answer for ${Math.round(silentMs / 1000)} s, so what rang is not known.`)
    return undefined
  }

  /** Of a drill that did not reach its end: a wrong answer is wrong all the same. */
  #certainly(): Check[] {
    const { answers, wrong } = this.#context?.load ?? { answers: [], wrong: () => false }
    const count = answers.filter(wrong).length
    return count > 0
      ? [{ claim: 'answers that led to a wrong place', promised: '0', measured: String(count), ok: false }]
      : []
  }

  outcome(settings: Readonly<Record<string, string>>) {
    const rung = this.#rung()
    const { checks, doubts } = this.#observed
      ? judge(this.#drill, this.#observed, {
          rung,
          evidence: evidenceShare(this.#drill, this.#options),
          isBusy: this.#isBusy,
        })
      : { checks: this.#certainly(), doubts: [] }
    const { mode } = this.#options
    return {
      /** Of the report: that of the drill, and the mode where it is not the usual one. */
      name: `${mode === 'embedded' ? '' : `${mode}-`}${this.#drill.name}`,
      drill: this.#drill,
      beganAt: this.#beganAt,
      checks,
      /** Why nothing can be concluded. */
      doubts: [...this.doubts, ...doubts],
      marks: this.#marks,
      /** Undefined: it ended before the fault was healed. */
      observed: this.#observed,
      settings,
      loadBeside: this.#loadBeside,
      /** Of one that is still there afterwards. */
      grafanaUrl: mode === 'target' ? this.#appliance?.grafana?.url : undefined,
      rate: rateOf(this.#drill, this.#options),
      compressed: compressedBy(this.#drill, this.#options),
      /** What the QuickLink was made of. */
      mode: this.#appliance?.mode ?? mode,
      /** What rang; undefined: nobody looked. */
      rung,
      /** What the server said of itself at the end. */
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
