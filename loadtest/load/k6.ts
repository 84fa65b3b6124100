// A scenario by k6: asked what it will do, and run.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { Refusal } from '../../embedded/paths.ts'
import type { Phase } from '../report/report.ts'
import type { Answers } from './answers.ts'
import type { K6, K6Env } from './k6-program.ts'

interface Inspected {
  readonly scenarios: Readonly<Record<string, InspectedScenario>>
}
interface InspectedScenario {
  readonly startTime: string
  readonly duration?: string
  readonly stages?: readonly { readonly duration: string }[]
  readonly rate?: number
  readonly startRate?: number
  readonly tags: { readonly phase: string; readonly flow: string }
}

/** Go's `1m30s`. */
export function secondsOf(text: string): number {
  const units: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 }
  return Array.from(text.matchAll(/([\d.]+)(ms|[hms])/g)).reduce(
    (sum, [, value, unit = '']) => sum + Number(value) * (units[unit] ?? 0),
    0,
  )
}

export interface K6Plan {
  readonly phases: readonly Phase[]
  /** Arrivals a second of each phase, of all flows together. */
  readonly rates: ReadonlyMap<string, number>
}

/** Phases and rates stand in the script alone: k6 says what it made of them. */
export function planOf(k6: K6, name: string, env: K6Env): K6Plan {
  const { file, args, environment } = k6.command(['inspect', '--include-system-env-vars', k6.script(name)], env)
  const asked = spawnSync(file, args, { encoding: 'utf8', env: environment })
  if (asked.status !== 0) throw new Refusal(`k6 cannot read loadtest/k6/${name}.ts: ${asked.stderr.trim()}`)
  const { scenarios } = JSON.parse(asked.stdout) as Inspected
  const phases = new Map<string, Phase>()
  const rates = new Map<string, number>()
  for (const { startTime, duration, stages = [], rate, startRate, tags } of Object.values(scenarios)) {
    const fromS = secondsOf(startTime)
    const lengths = duration === undefined ? stages.map((stage) => stage.duration) : [duration]
    const toS = fromS + lengths.reduce((sum, length) => sum + secondsOf(length), 0)
    phases.set(tags.phase, { name: tags.phase, fromS, toS })
    rates.set(tags.phase, (rates.get(tags.phase) ?? 0) + (rate ?? startRate ?? 0))
  }
  return { phases: [...phases.values()].sort((a, b) => a.fromS - b.fromS), rates }
}

/** A promise of the script, and what came of it. */
export interface Threshold {
  readonly metric: string
  readonly tags: Readonly<Record<string, string>>
  /** `p(99)<25` */
  readonly expression: string
  readonly measured: number
  readonly ok: boolean
}

export interface K6Run {
  /** Of k6 itself, for its CPU; undefined where it cannot be seen from here. */
  pid(): number | undefined
  /** Rejects when k6 itself failed; thresholds that were crossed are in the answer. */
  readonly ended: Promise<Threshold[]>
  stop(): void
}

const thresholdsCrossed = 99

export function runK6(k6: K6, name: string, env: K6Env, answers: Answers): K6Run {
  const written = 'K6_PROMETHEUS_RW_SERVER_URL' in { ...k6.env, ...env } ? ['--out=experimental-prometheus-rw'] : []
  const run = k6.command(['run', '--quiet', '--no-color', '--out=csv=-', ...written, k6.script(name)], env)
  const child = spawn(run.file, run.args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: run.environment,
    detached: run.detached,
  })
  let summary: string | undefined
  createInterface(child.stdout).on('line', (line) => {
    // handleSummary of lib/plan.ts writes it behind the samples.
    if (line.startsWith('{')) summary = line
    else answers.line(line)
  })
  const said: string[] = []
  createInterface(child.stderr).on('line', (line) => {
    const message = /msg="(.*?)"(?: source=console)?$/.exec(line)?.[1] ?? line
    if (line.includes('source=console')) answers.complaint(message)
    else if (said.length < 20) said.push(message)
  })
  const ended = new Promise<Threshold[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if ((code === 0 || code === thresholdsCrossed) && summary !== undefined) resolve(thresholdsOf(summary))
      else reject(new Error(`k6 ended with ${code ?? 'a signal'}: ${said.slice(-5).join('; ')}`))
    })
  })
  return {
    pid: () => run.pid(child.pid),
    ended,
    stop: () => run.stop(child),
  }
}

interface Metric {
  readonly values: Readonly<Record<string, number>>
  readonly thresholds?: Readonly<Record<string, { ok: boolean }>>
}

export function thresholdsOf(summary: string): Threshold[] {
  return Object.entries(JSON.parse(summary) as Record<string, Metric>).flatMap(([key, { values, thresholds = {} }]) => {
    const [, metric = key, list = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(key) ?? []
    const tags = Object.fromEntries(list.split(',').map((each) => each.split(':') as [string, string]))
    return Object.entries(thresholds).map(([expression, { ok }]) => {
      const measured = values[/^[^<>=!]+/.exec(expression)?.[0].trim() ?? ''] ?? NaN
      return { metric, tags, expression, measured, ok }
    })
  })
}
