// Open loop: arrivals come at their rate whatever the answers take. One k6 scenario per phase and flow, so that every
// sample is tagged with both, and every promise is one threshold.
import type { Options, Scenario, Threshold } from 'k6/options'

export const setting = (name: string, fallback: number): number => Number(__ENV[name] || fallback)

/** Who comes, and how often a second; `to`: the rate changes in equal steps until the end of the phase. */
export interface Flow {
  readonly rate: number
  readonly to?: number | undefined
  /** How long an arrival keeps its visitor busy, when it is more than one request. */
  readonly busyS?: number
}

export interface Phase {
  readonly name: string
  readonly seconds: number
  /** By the name of the exported function that each arrival runs. */
  readonly flows: Readonly<Record<string, Flow>>
  /** Of the time that `visitors` wait for their answer: `['p(99)<5']`. */
  readonly latency?: readonly string[]
  /** Of the time until a 503, where some are expected. */
  readonly refused?: readonly string[]
}

/** Connections are opened and programs get warm: nothing is promised of it, and it is no part of any figure. */
const warmUpS = setting('WARM_UP_S', 3)
/** Longer than an answer may take (lib/ask.ts), so that one that never comes is heard of. */
const gracefulStop = '4s'

export function openLoop(phases: readonly Phase[]): Options {
  const first = phases[0]!
  const steady = Object.entries(first.flows).map(([name, flow]) => [name, { ...flow, to: undefined }] as const)
  const all = [{ name: 'warm-up', seconds: warmUpS, flows: Object.fromEntries(steady) }, ...phases]
  const scenarios: Record<string, Scenario> = {}
  const thresholds: Record<string, Threshold[]> = {}
  let startS = 0
  for (const { name, seconds, flows } of all) {
    for (const [flow, arrivals] of Object.entries(flows)) {
      scenarios[`${name}-${flow}`] = {
        ...executor(arrivals, seconds),
        exec: flow,
        startTime: `${startS}s`,
        gracefulStop,
        tags: { phase: name, flow },
      }
    }
    startS += seconds
  }
  for (const { name, latency = [], refused = [] } of phases) {
    for (const metric of ['wrong_answers', 'failed_answers', 'dropped_iterations']) {
      thresholds[`${metric}{phase:${name}}`] = ['count==0']
    }
    if (latency.length > 0) thresholds[`http_req_duration{phase:${name},flow:visitors}`] = [...latency]
    if (refused.length > 0) thresholds[`http_req_duration{phase:${name},status:503}`] = [...refused]
  }
  return {
    scenarios,
    thresholds,
    discardResponseBodies: true,
    // Everything else would be written out with each sample.
    systemTags: ['status'],
    summaryTrendStats: ['p(50)', 'p(95)', 'p(99)', 'p(99.9)', 'max'],
  }
}

/** For the harness, in one line; a text for people would be its work. */
export const handleSummary = ({ metrics }: { metrics: object }): { stdout: string } => ({
  stdout: `${JSON.stringify(metrics)}\n`,
})

function executor({ rate, to, busyS = 0.2 }: Flow, seconds: number): Scenario {
  // Who waits for an answer is a VU. One that had to be made first would be an arrival that is dropped.
  const vus = Math.min(1500, Math.max(20, Math.ceil(Math.max(rate, to ?? 0) * busyS)))
  const common = { timeUnit: '1s', preAllocatedVUs: vus, maxVUs: vus }
  if (to === undefined) return { executor: 'constant-arrival-rate', rate, duration: `${seconds}s`, ...common }
  const stages = [{ target: to, duration: `${seconds}s` }]
  return { executor: 'ramping-arrival-rate', startRate: rate, stages, ...common }
}
