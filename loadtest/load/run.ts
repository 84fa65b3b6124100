// One run: links are made, k6 runs beside a sampler, the scenario does what it has to, and all of it becomes a report.
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../../embedded/paths.ts'
import { watchStalls } from '../measure/stalls.ts'
import { loadBeside, type Mark, type Phase, type Report } from '../report/report.ts'
import { short } from '../report/text.ts'
import { Answers } from './answers.ts'
import { family, makeLinks, removeLinks, settled, type Dataset } from './dataset.ts'
import { onInterrupt, refuseIfInterrupted, unlessInterrupted } from './interruption.ts'
import { planOf, runK6 } from './k6.ts'
import type { K6, K6Env } from './k6-program.ts'
import { promisedPhases, secondsAt, type Measured } from './measured.ts'
import { announcement, progress, type Say } from './progress.ts'
import { startSampler } from './sampler.ts'
import { recoveryS } from './redis-away.ts'
import { scenarios } from './scenarios.ts'
import type { ScenarioContext, Scenario } from './scenario.ts'
import { reportOf } from './summary.ts'
import type { Target } from './target.ts'

export interface Order {
  readonly name: string
  readonly target: Target
  readonly k6: K6
  readonly links: number
  readonly seed: string
  /** Where the requests go, if not to the target itself: through something that a test has put in between. */
  readonly url?: string
  /** RATE, SECONDS and the like, for the script. */
  readonly settings: K6Env
}

export async function runScenario(order: Order, say: Say): Promise<Report> {
  const { name, links } = order
  const scenario = scenarios[name]!
  const { needs } = scenario
  if (needs !== undefined && order.target[needs.of] === undefined) throw new Refusal(`${name} needs ${needs.how}.`)
  const before = loadBeside()
  const wanted = scenario.links ?? links
  say(announcement(planOf(order.k6, name, envOf(order, { prefix: family, seed: order.seed, links: wanted })), wanted))
  return withLinks(order, wanted, say, async (dataset) => {
    const measured = await underLoad(order, scenario, dataset, say)
    const about = aboutOf(order, scenario, measured, dataset)
    return reportOf(measured, { ...about, environment: { ...before, ...about.environment } })
  })
}

/** The links are gone afterwards, whatever happened. */
export async function withLinks<T>(
  { target, seed }: Pick<Order, 'target' | 'seed'>,
  links: number,
  say: Say,
  work: (dataset: Dataset) => Promise<T>,
): Promise<T> {
  const { database } = target
  if (database === undefined) throw new Refusal('Where are the links to be made? Set DATABASE_URL to the target’s.')
  const dataset: Dataset = { prefix: `${family}${Date.now().toString(36)}-`, seed, links }
  try {
    say(`Making ${links.toLocaleString('en')} links`)
    await removeLinks(database)
    await unlessInterrupted(makeLinks(database, dataset, say).then(() => settled(target)))
    return await unlessInterrupted(work(dataset))
  } finally {
    say('Removing the links')
    await removeLinks(database)
  }
}

function envOf({ settings, url, target, k6 }: Order, { prefix, seed, links }: Dataset): K6Env {
  const key = target.ownerKey === undefined ? {} : { OWNER_KEY: target.ownerKey }
  const sink = target.metricsSink === undefined ? {} : { K6_PROMETHEUS_RW_SERVER_URL: target.metricsSink }
  return {
    ...sink,
    ...settings,
    ...key,
    URL: url ?? k6.env['URL'] ?? target.url,
    PREFIX: prefix,
    SEED: seed,
    LINKS: String(links),
  }
}

function aboutOf({ name, target, k6, settings }: Order, { about, checks, excuses }: Scenario, measured: Measured, dataset: Dataset) {
  const rates = promisedPhases(measured).map((phase) => `${phase.name} ${short(measured.plan.rates.get(phase.name) ?? NaN)}/s for ${short(phase.toS - phase.fromS)} s`)
  const backS = recoveryS(measured)
  return {
    name,
    title: `${about} ${rates.join(', ')}.`,
    own: checks?.(measured) ?? [],
    excuses: excuses?.(measured) ?? [],
    environment: {
      target: target.what,
      workers: measured.workers,
      k6: k6.version,
      links: dataset.links,
      seed: dataset.seed,
      // What is k6's own may be an address with a password.
      ...Object.fromEntries(Object.entries(settings).filter(([knob]) => !knob.startsWith('K6_'))),
      ...(Number.isFinite(backS) ? { 'Redis answers again after': `${short(backS)} s` } : {}),
    },
  }
} // prettier-ignore

export async function underLoad(order: Order, scenario: Scenario, dataset: Dataset, say: Say): Promise<Measured> {
  refuseIfInterrupted()
  const { name, target, k6 } = order
  const env = envOf(order, dataset)
  const plan = planOf(k6, name, env)
  const marks: Mark[] = []
  const notes: Record<string, number> = {}
  const answers = new Answers(progress(say), say)
  const workers = (await target.status?.())?.length ?? 1
  const k6Run = runK6(k6, name, env, answers)
  onInterrupt(() => k6Run.stop())
  const sampler = startSampler(target, k6Run.pid)
  const stalls = watchStalls()
  const over = new AbortController()
  const context: ScenarioContext = {
    target,
    dataset,
    phase: (wanted) => plan.phases.find((phase): phase is Phase => phase.name === wanted)!,
    at: async (second) => {
      const beganMs = await answers.began
      const leftMs = beganMs + second * 1000 - Date.now()
      if (leftMs > 0) await pause(leftMs, undefined, { signal: over.signal })
    },
    mark: (what) => marks.push({ atS: secondsAt({ answers }, Date.now()), what }),
    note: (what, value) => (notes[what] = value),
  }
  try {
    const during = Promise.resolve(scenario.during?.(context)).catch((error: unknown) => {
      // Whoever waited for a moment that a run which was stopped never had.
      if (over.signal.aborted) return
      k6Run.stop()
      throw error
    })
    const thresholds = await k6Run.ended.finally(() => over.abort())
    await during
    answers.finish()
    return { plan, thresholds, answers, marks, notes, workers, moments: await sampler.stop(), stalls: stalls.seen }
  } finally {
    over.abort()
    await Promise.all([sampler.stop(), stalls.stop()])
  }
}
