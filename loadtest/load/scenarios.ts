// What the harness adds to the scripts in loadtest/k6: faults, expiries, and promises that k6 cannot see.
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf } from '../k6/lib/world.ts'
import { total } from '../drills/engine/metrics.ts'
import { countReads } from '../measure/redis-pipe.ts'
import type { Check, Phase } from '../report/report.ts'
import { percent, short } from '../report/text.ts'
import type { Dataset } from './dataset.ts'
import { growthIn, momentsOf, promisedPhases, secondsAt, tierShares, type Measured } from './measured.ts'
import { totalOf } from './sampler.ts'
import type { Target } from './target.ts'

/** What a scenario can do while k6 runs. */
export interface Live {
  readonly target: Target
  readonly dataset: Dataset
  readonly phase: (name: string) => Phase
  /** Waits for a second of the run. */
  at(second: number): Promise<void>
  mark(what: string): void
  note(name: string, value: number): void
}

export interface Scenario {
  readonly about: string
  /** Seconds of the short form. */
  readonly shortS: number
  readonly links?: number
  /** What the target has to give, and how it is given. */
  readonly needs?: { readonly of: 'redis' | 'redisService' | 'ownerKey'; readonly how: string }
  readonly during?: (live: Live) => Promise<void>
  readonly checks?: (measured: Measured) => Check[]
}

const atMost = (claim: string, measured: number, bound: number, unit = ''): Check => ({
  claim,
  promised: `≤ ${short(bound)}${unit}`,
  measured: `${short(measured)}${unit}`,
  ok: measured <= bound,
})

const middle = ({ fromS, toS }: Phase): number => (fromS + toS) / 2
const phaseOf = (measured: Measured, name: string): Phase =>
  measured.plan.phases.find((phase) => phase.name === name) ?? { name, fromS: NaN, toS: NaN }
const p99 = ({ answers }: Measured, phase: string): number =>
  answers.groupsOf(phase, 'visitors')[0]?.latencies.quantile(0.99) ?? NaN

/** Redis reads of the hot key that are worth a promise: tier 1 keeps a copy for 100 ms, so ten a second, and some slack. */
const hotReads = { perWorkerS: 15, windowS: 3 }

async function countHotReads({ target, dataset, phase, at, note }: Live): Promise<void> {
  if (target.redisUrl === undefined) return
  const { fromS, toS } = phase('baseline')
  const windowS = Math.min(hotReads.windowS, (toS - fromS) / 2)
  await at(middle({ name: '', fromS, toS }) - windowS / 2)
  const key = `ql:v1:link:${codeOf(dataset.prefix, 0)}`
  const { reads } = await countReads(target.redisUrl, key, () => pause(windowS * 1000))
  note('hotReadsPerS', reads / windowS)
}

function hotKeyChecks(measured: Measured): Check[] {
  const [phase] = promisedPhases(measured) as [Phase]
  const { local } = tierShares(measured, phase)
  const checks: Check[] = []
  if (Number.isFinite(local)) {
    // Of the others, spread over all links, tier 1 has next to none: what it did not answer beyond them was the hot link.
    const [others, hot] = [1 / 20, 19 / 20]
    const share = 1 - Math.max(0, 1 - local - others) / hot
    // Each worker lets go of its copy ten times a second: at a low rate that is a larger share.
    const rate = measured.plan.rates.get(phase.name) ?? NaN
    const promised = Math.min(0.99, 1 - (hotReads.perWorkerS * measured.workers) / (hot * rate))
    checks.push({ claim: 'visits of the hot link that tier 1 answered', promised: `≥ ${percent(promised)}`, measured: percent(share), ok: share >= promised }) // prettier-ignore
  }
  const reads = measured.notes['hotReadsPerS']
  if (reads === undefined) return checks
  return [...checks, atMost("Redis reads of the hot link's key, per worker", reads / measured.workers, hotReads.perWorkerS, '/s')] // prettier-ignore
}

const herd = 1001

const lookupsOf = async (target: Target): Promise<number> =>
  total(await target.metrics(), 'quicklink_lookups_total', { source: 'postgres' })

/** Links 0 to count - 1, in one moment. Notes how often Postgres was asked until all of them were back. */
async function expire({ target, dataset, mark, note }: Live, count: number, name: string): Promise<void> {
  const before = await lookupsOf(target)
  const atMs = Date.now() + 200
  const keys = Array.from({ length: count }, (_, n) => `ql:v1:link:${codeOf(dataset.prefix, n)}`)
  await target.redis?.(keys.map((key) => ['PEXPIREAT', key, String(atMs)]))
  await pause(atMs - Date.now())
  mark(count === 1 ? 'the hot link expires' : `${count} links expire`)
  await pause(2000)
  note(name, (await lookupsOf(target)) - before)
}

/** All of them are in Redis before, however few visits they have had. */
async function warm({ target, dataset }: Live): Promise<void> {
  for (let round = 0; round < 5; round++) {
    const before = await lookupsOf(target)
    for (let n = 0; n < herd; n += 50) {
      const some = Array.from({ length: Math.min(50, herd - n) }, (_, i) => codeOf(dataset.prefix, n + i))
      await Promise.all(some.map((code) => fetch(`${target.url}/${code}`, { redirect: 'manual' })))
    }
    if ((await lookupsOf(target)) === before) return
  }
}

async function letExpire(live: Live): Promise<void> {
  await warm(live)
  await live.at(middle(live.phase('one-expires')))
  await expire(live, 1, 'lookupsOfOne')
  await live.at(middle(live.phase('all-expire')))
  await expire(live, herd, 'lookupsOfAll')
}

function stampedeChecks(measured: Measured): Check[] {
  const { workers, marks, answers, notes } = measured
  // The second of the expiry and the one after it, in which the last of them are filled.
  const near = answers.seconds.filter(({ atS }) => marks.some((mark) => atS >= Math.floor(mark.atS) && atS < mark.atS + 2)) // prettier-ignore
  return [
    atMost('p99 of visitors in the seconds of the expiries', Math.max(...near.map(({ p99Ms }) => p99Ms)), 100, ' ms'),
    atMost('Postgres look-ups when the hot link expired', notes['lookupsOfOne'] ?? NaN, workers),
    atMost('Postgres look-ups when a thousand expired', notes['lookupsOfAll'] ?? NaN, workers * herd),
  ]
}

async function stopRedis({ target, phase, at, mark, note }: Live): Promise<void> {
  const redis = target.redisService
  if (redis === undefined) return
  const { fromS, toS } = phase('fault')
  try {
    await at(fromS)
    await redis.kill()
    mark('Redis is killed')
    await at(toS)
  } finally {
    await redis.start()
    mark('Redis is back')
    note('redisBackMs', Date.now())
  }
}

function redisDownChecks(measured: Measured): Check[] {
  const fault = phaseOf(measured, 'fault')
  const fallbacks = growthIn(measured, fault, 'quicklink_db_fallback_total')
  if (Number.isNaN(fallbacks)) return []
  return [{ claim: 'Redis was away: look-ups fell back to Postgres', promised: '> 0', measured: short(fallbacks), ok: fallbacks > 0 }] // prettier-ignore
}

const steadyAgain = { factor: 2, noiseMs: 5 }

/** Nobody is asked to be twice as fast as the noise of a machine. */
function againstBaseline(measured: Measured, name: string): Check {
  const bound = Math.max(steadyAgain.noiseMs, steadyAgain.factor * p99(measured, 'baseline'))
  return atMost(`${name}: p99 of visitors beside that of the baseline`, p99(measured, name), bound, ' ms')
}

function scanChecks(measured: Measured): Check[] {
  const absent = measured.answers.groupsOf('scan', 'scanner')[0]?.latencies.count ?? 0
  const last = measured.moments.at(-1)
  const first = measured.moments[0]
  if (!first || !last) return [againstBaseline(measured, 'scan')]
  const hints = totalOf(last, 'quicklink_negative_cache_keys') - totalOf(first, 'quicklink_negative_cache_keys')
  return [
    againstBaseline(measured, 'scan'),
    // An estimate of Redis' keys, hence the slack.
    atMost('keys that the scan left in the cache of absent codes', hints, 1.2 * absent + 100),
    ...('tier1Entries' in measured.notes ? [atMost('entries of tier 1 per worker', measured.notes['tier1Entries'] ?? NaN, 1000)] : []),
  ] // prettier-ignore
}

async function countEntries({ target, phase, at, note }: Live): Promise<void> {
  if (target.status === undefined) return
  await at(phase('scan').toS)
  const workers = await target.status()
  note('tier1Entries', Math.max(...workers.map(({ status }) => status?.tier1?.entries ?? 0)))
}

function soakChecks(measured: Measured): Check[] {
  const [{ fromS, toS }] = promisedPhases(measured) as [Phase]
  const quarter = (n: number): number => {
    const length = (toS - fromS) / 4
    const moments = momentsOf(measured, { fromS: fromS + n * length, toS: fromS + (n + 1) * length })
    return moments.reduce((sum, moment) => sum + totalOf(moment, 'process_resident_memory_bytes'), 0) / moments.length / 1e6 // prettier-ignore
  }
  const [second, last] = [quarter(1), quarter(3)]
  if (!(second > 0)) return []
  return [atMost('memory of the server in the last quarter', last, 1.15 * second + 32, ' MB')]
}

export const scenarios: Readonly<Record<string, Scenario>> = {
  steady: { about: 'A constant rate over links of Zipf’s popularity.', shortS: 8 },
  'hot-key': { about: 'One link takes 95 % of all visits.', shortS: 8, during: countHotReads, checks: hotKeyChecks },
  spike: {
    about: 'Five times as many visitors from one second to the next.',
    shortS: 12,
    checks: (measured) => [againstBaseline(measured, 'recovery')],
  },
  stampede: {
    about: 'A hot link, and then a thousand links, leave Redis in the same moment.',
    shortS: 15,
    links: herd,
    needs: { of: 'redis', how: 'a Redis that it may reach: set REDIS_URL' },
    during: letExpire,
    checks: stampedeChecks,
  },
  'redis-down': {
    about: 'Redis is killed in the middle, and comes back.',
    shortS: 15,
    needs: { of: 'redisService', how: 'a Redis that it may stop: run it where `make up` was run' },
    during: stopRedis,
    checks: redisDownChecks,
  },
  scan: { about: 'Somebody tries codes that do not exist.', shortS: 12, during: countEntries, checks: scanChecks },
  mixed: {
    about: 'Links are made, changed and disabled beside the visits.',
    shortS: 10,
    needs: { of: 'ownerKey', how: 'the owner’s key: set OWNER_KEY' },
  },
  soak: { about: 'An hour of an ordinary day.', shortS: 10, checks: soakChecks },
}

/** When the breaker was closed and Redis answered again, seconds after it came back; NaN: not within the run. */
export function recoveryS(measured: Measured): number {
  const backS = secondsAt(measured, measured.notes['redisBackMs'] ?? NaN)
  const after = measured.moments.filter((moment) => secondsAt(measured, moment.atMs) > backS)
  const healed = after.find((moment, n) => {
    const before = after[n - 1]
    const redis = { source: 'redis' }
    return before !== undefined && totalOf(moment, 'quicklink_lookups_total', redis) > totalOf(before, 'quicklink_lookups_total', redis) // prettier-ignore
  })
  return healed === undefined ? NaN : secondsAt(measured, healed.atMs) - backS
}
