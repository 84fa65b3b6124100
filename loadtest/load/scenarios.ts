// What the harness adds to the scripts in loadtest/k6: faults, expiries, and promises that k6 cannot see.
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf } from '../k6/lib/world.ts'
import { total } from '../measure/ops.ts'
import { countReads } from '../measure/redis-pipe.ts'
import type { Check, Phase } from '../report/report.ts'
import { percent } from '../report/text.ts'
import type { Dataset } from './dataset.ts'
import { momentsOf, promisedPhases, tierShares, type Measured } from './measured.ts'
import { overload, redisDownChecks, shedChecks, stopRedis } from './redis-away.ts'
import { totalOf } from './sampler.ts'
import { countEntries, scanChecks, scanExcuses } from './scan.ts'
import { againstBaseline, atMost, type ScenarioContext, type Scenario } from './scenario.ts'
import type { Target } from './target.ts'

const middle = ({ fromS, toS }: Phase): number => (fromS + toS) / 2

/** Redis reads of the hot key that are worth a promise: one a second at most while passes vouch for it, and some slack. */
const hotReads = { perWorkerS: 5, windowS: 3 }

async function countHotReads({ target, dataset, phase, at, note }: ScenarioContext): Promise<void> {
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

const keysOf = ({ prefix }: Dataset, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `ql:v1:link:${codeOf(prefix, n)}`)

/** Links 0 to count - 1, in one moment. Notes how often Postgres was asked until all of them were back. */
async function expire({ target, dataset, mark, note }: ScenarioContext, count: number, name: string): Promise<void> {
  const before = await lookupsOf(target)
  const atMs = Date.now() + 200
  const keys = keysOf(dataset, count)
  await target.redis?.(keys.map((key) => ['PEXPIREAT', key, String(atMs)]))
  await pause(atMs - Date.now())
  mark(count === 1 ? 'the hot link expires' : `${count} links expire`)
  await pause(2000)
  note(name, (await lookupsOf(target)) - before)
}

/**
 * All of them are in Redis before. A fill is dropped while the cursor moves, and a copy that passes vouch for is looked up
 * again only within half a minute: such a link is forgotten by every cache, and the next visit fills.
 */
async function warm({ target, dataset, note }: ScenarioContext): Promise<void> {
  const codes = Array.from({ length: herd }, (_, n) => codeOf(dataset.prefix, n))
  const headers = { Authorization: `Bearer ${target.ownerKey ?? ''}`, 'Content-Type': 'application/json' }
  for (let round = 0; round < 8; round++) {
    for (let n = 0; n < herd; n += 50) {
      await Promise.all(codes.slice(n, n + 50).map((code) => fetch(`${target.url}/${code}`, { redirect: 'manual' })))
    }
    const held = (await target.redis?.(keysOf(dataset, herd).map((key) => ['EXISTS', key]))) ?? []
    const lacking = codes.filter((_, n) => held[n] === '0')
    note('notInRedis', lacking.length)
    if (lacking.length === 0) return
    for (const code of lacking) {
      await fetch(`${target.url}/api/v1/cache/invalidate`, { method: 'POST', headers, body: JSON.stringify({ code }) })
    }
  }
}

async function letExpire(context: ScenarioContext): Promise<void> {
  await warm(context)
  await context.at(middle(context.phase('one-expires')))
  await expire(context, 1, 'lookupsOfOne')
  await context.at(middle(context.phase('all-expire')))
  await expire(context, herd, 'lookupsOfAll')
}

function stampedeChecks(measured: Measured): Check[] {
  const { workers, marks, answers, notes } = measured
  // The second of the expiry and the one after it, in which the last of them are filled.
  const near = answers.seconds.filter(({ atS }) => marks.some((mark) => atS >= Math.floor(mark.atS) && atS < mark.atS + 2)) // prettier-ignore
  return [
    atMost('p99 of visitors in the seconds of the expiries', Math.max(...near.map(({ p99Ms }) => p99Ms)), 100, 'ms'),
    atMost(
      'Postgres look-ups when the hot link expired, and of links that Redis did not hold',
      notes['lookupsOfOne'] ?? NaN,
      workers * (1 + (notes['notInRedis'] ?? NaN)),
    ),
    atMost('Postgres look-ups when a thousand expired', notes['lookupsOfAll'] ?? NaN, workers * herd),
  ]
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
  return [atMost('memory of the server in the last quarter', last, 1.15 * second + 32, 'MB')]
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
  scan: {
    about: 'Somebody tries codes that do not exist.',
    shortS: 24,
    during: countEntries,
    checks: scanChecks,
    excuses: scanExcuses,
  },
  mixed: {
    about: 'Links are made, changed and disabled beside the visits.',
    shortS: 10,
    needs: { of: 'ownerKey', how: 'the owner’s key: set OWNER_KEY' },
  },
  soak: { about: 'An hour of an ordinary day.', shortS: 10, checks: soakChecks },
  // Last: each leaves a breaker open that the next run waits for.
  'redis-down': {
    about: 'Redis is killed in the middle, and comes back.',
    shortS: 15,
    needs: { of: 'redisService', how: 'a Redis that it may stop: run it where `make up` was run' },
    during: stopRedis,
    checks: redisDownChecks,
  },
  shed: {
    about: 'Redis is away, and more visitors come than Postgres can answer.',
    shortS: 15,
    needs: { of: 'redisService', how: 'a Redis that it may stop: run it where `make up` was run' },
    during: overload,
    checks: shedChecks,
  },
}
