// Redis goes away and comes back; with Postgres as it is, and with one that cannot carry what comes.
import { setTimeout as pause } from 'node:timers/promises'
import { checkOf, type Check } from '../report/report.ts'
import { short } from '../report/text.ts'
import { growthIn, secondsAt, type Measured } from './measured.ts'
import { totalOf } from './sampler.ts'
import { atMost, phaseOf, type ScenarioContext } from './scenario.ts'

export async function stopRedis({ target, phase, at, mark, note }: ScenarioContext): Promise<void> {
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

export function redisDownChecks(measured: Measured): Check[] {
  const [fault, recovery] = [phaseOf(measured, 'fault'), phaseOf(measured, 'recovery')]
  const fallbacks = growthIn(measured, fault, 'quicklink_db_fallback_total')
  if (Number.isNaN(fallbacks)) return []
  return [
    { claim: 'Redis was away: look-ups fell back to Postgres', promised: '> 0', measured: short(fallbacks), ok: fallbacks > 0 },
    checkOf('Redis is back: it answers look-ups again after', recoveryS(measured), { unit: 's', atMost: recovery.toS - recovery.fromS }, 'never'),
  ]
} // prettier-ignore

/** Of each second, the part in which Postgres answers nobody about links, and so carries less than comes. */
const busy = { ofS: 0.75, everyMs: 1000 }

export async function overload(context: ScenarioContext): Promise<void> {
  const { database, redisService } = context.target
  if (database === undefined || redisService === undefined) return
  const { fromS, toS } = context.phase('fault')
  const lock = `do $$ begin lock table links in access exclusive mode; perform pg_sleep(${busy.ofS}); end $$`
  let isOver = false
  const inTheWay = async (): Promise<void> => {
    await context.at(fromS)
    context.mark('Postgres has little time')
    while (!isOver) await Promise.all([database.query(lock), pause(busy.everyMs)])
  }
  const end = context.at(toS - busy.ofS).then(() => (isOver = true))
  try {
    await Promise.all([inTheWay(), stopRedis(context), end])
  } finally {
    isOver = true
  }
}

export function shedChecks(measured: Measured): Check[] {
  const { toS } = phaseOf(measured, 'fault')
  const refused = measured.answers.seconds.filter(({ statuses }) => (statuses['503'] ?? 0) > 0)
  const after = refused.filter(({ atS }) => atS >= toS).at(-1)
  const count = refused.reduce((sum, { statuses }) => sum + (statuses['503'] ?? 0), 0)
  return [
    { claim: 'it was more than Postgres could answer: refusals', promised: '> 0', measured: String(count), ok: count > 0 }, // prettier-ignore
    atMost('seconds until nobody was refused any more', after === undefined ? 0 : after.atS + 1 - toS, 10, 's'),
  ]
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
