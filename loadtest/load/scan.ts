// Absent codes beside visitors: who is slower for it, and what is left of it.
import type { Check } from '../report/report.ts'
import { short } from '../report/text.ts'
import { momentsOf, type Measured } from './measured.ts'
import { totalOf, type Moment } from './sampler.ts'
import { atMost, phaseOf, steadyAgain, usualP99, type ScenarioContext } from './scenario.ts'

const aroundScan = ['baseline', 'recovery'] as const

export function scanChecks(measured: Measured): Check[] {
  const absent = measured.answers.groupsOf('scan', 'scanner')[0]?.latencies.count ?? 0
  const without = usualP99(measured, aroundScan)
  const slower = atMost(
    `p99 of visitors in a usual second of the scan (without it: ${short(without)} ms)`,
    usualP99(measured, ['scan']),
    Math.max(steadyAgain.noiseMs, steadyAgain.factor * without),
    'ms',
  )
  const last = measured.moments.at(-1)
  if (last === undefined) return [slower]
  const keysIn = (moment: Moment): number => totalOf(moment, 'quicklink_negative_cache_keys')
  // Those of earlier scans are still there, and go while this one runs.
  const before = momentsOf(measured, { fromS: 0, toS: phaseOf(measured, 'scan').fromS }).map(keysIn)
  const hints = Math.max(0, keysIn(last) - Math.max(0, ...before))
  const entries = measured.notes['tier1Entries']
  return [
    slower,
    // An estimate of Redis' keys, hence the slack.
    atMost('keys that the scan left in the cache of absent codes', hints, 1.2 * absent + 100),
    ...(entries === undefined ? [] : [atMost('entries of tier 1 per worker', entries, 1000)]),
  ]
}

/** What is no steadier than that without the scan cannot be compared with anything. */
export function scanExcuses(measured: Measured): string[] {
  const [before = NaN, after = NaN] = aroundScan.map((name) => usualP99(measured, [name]))
  if (Math.max(before, after) <= steadyAgain.factor * Math.min(before, after)) return []
  return [`The machine was not steady enough to compare: without the scan, the p99 of a usual second was ${short(before)} ms before and ${short(after)} ms after it. Give it more SECONDS.`] // prettier-ignore
}

export async function countEntries({ target, phase, at, note }: ScenarioContext): Promise<void> {
  if (target.status === undefined) return
  await at(phase('scan').toS)
  const workers = await target.status()
  note('tier1Entries', Math.max(...workers.map((worker) => worker?.tier1.entries ?? 0)))
}
