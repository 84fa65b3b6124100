// The k6 of this machine: found, asked what a scenario will do, and run.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { onPath } from '../../embedded/redis-process.ts'
import type { Phase } from '../report/report.ts'
import type { Answers } from './answers.ts'

/** Made by `make k6`. */
const built = `${projectDir}/.cache/k6/k6`

export interface K6 {
  readonly file: string
  readonly version: string
}

export function findK6(): K6 {
  const file = onPath('k6') ?? (existsSync(built) ? built : undefined)
  if (file === undefined) {
    throw new Refusal(
      'k6 is missing: `make k6` builds it (needs Go), or install it from https://grafana.com/docs/k6. `make load NAME=quick` needs neither.',
    )
  }
  const version = /v\d\S*/.exec(spawnSync(file, ['version'], { encoding: 'utf8' }).stdout)?.[0] ?? 'unknown'
  if (Number(/\d+/.exec(version)?.[0]) < 1) {
    throw new Refusal(`k6 ${version} does not run TypeScript: k6 1.0 or later is needed, or \`make k6\` without it.`)
  }
  return { file, version }
}

/** What the scripts read (loadtest/k6/lib). Nothing secret stands in a command line. */
export type K6Env = Readonly<Record<string, string>>

const scriptOf = (name: string): string => `${projectDir}/loadtest/k6/${name}.ts`

const environment = (env: K6Env): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  K6_NO_USAGE_REPORT: 'true',
  // Other K6_… of the caller would change the load.
  K6_CSV_TIME_FORMAT: 'unix_milli',
  K6_CSV_SAVE_INTERVAL: '200ms',
  ...env,
})

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
  const asked = spawnSync(k6.file, ['inspect', '--include-system-env-vars', scriptOf(name)], {
    encoding: 'utf8',
    env: environment(env),
  })
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
  readonly pid: number
  /** Rejects when k6 itself failed; thresholds that were crossed are in the answer. */
  readonly ended: Promise<Threshold[]>
  stop(): void
}

const thresholdsCrossed = 99

export function runK6(k6: K6, name: string, env: K6Env, summaryFile: string, answers: Answers): K6Run {
  const written = 'K6_PROMETHEUS_RW_SERVER_URL' in env ? ['--out=experimental-prometheus-rw'] : []
  const args = ['run', '--quiet', '--no-color', '--out=csv=-', ...written, `--summary-export=${summaryFile}`]
  const child = spawn(k6.file, [...args, scriptOf(name)], { stdio: ['ignore', 'pipe', 'pipe'], env: environment(env) }) // prettier-ignore
  createInterface(child.stdout).on('line', answers.line)
  const said: string[] = []
  createInterface(child.stderr).on('line', (line) => {
    const message = /msg="(.*?)"(?: source=console)?$/.exec(line)?.[1] ?? line
    if (line.includes('source=console')) answers.complaint(message)
    else if (said.length < 20) said.push(message)
  })
  const ended = new Promise<Threshold[]>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if ((code === 0 || code === thresholdsCrossed) && existsSync(summaryFile)) {
        resolve(thresholdsOf(readFileSync(summaryFile, 'utf8')))
      } else reject(new Error(`k6 ended with ${code ?? 'a signal'}: ${said.slice(-5).join('; ')}`))
    })
  })
  return { pid: child.pid ?? 0, ended, stop: () => child.kill('SIGINT') }
}

type Summary = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export function thresholdsOf(summary: string): Threshold[] {
  const { metrics } = JSON.parse(summary) as { metrics: Summary }
  return Object.entries(metrics).flatMap(([key, values]) => {
    const [, metric = key, list = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(key) ?? []
    const tags = Object.fromEntries(list.split(',').map((each) => each.split(':') as [string, string]))
    // k6 writes `true` for one that was crossed.
    return Object.entries((values['thresholds'] ?? {}) as Record<string, boolean>).map(([expression, crossed]) => {
      const measured = values[/^[^<>=!]+/.exec(expression)?.[0].trim() ?? '']
      return { metric, tags, expression, measured: typeof measured === 'number' ? measured : NaN, ok: !crossed }
    })
  })
}
