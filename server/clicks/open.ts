// Clicks of one worker, put together; and which links are hot, where a Redis knows it.
import type { Postgres } from '../connections/postgres.ts'
import type { Ground } from '../ground.ts'
import { foldVisits } from '../visits/fold.ts'
import type { Visits } from '../visits/visits.ts'
import { Clicks } from './clicks.ts'
import { Popularity, type PopularityDeps } from './popularity.ts'
import { Warmer, type WarmerDeps } from './warm.ts'

interface ClicksNeeds {
  readonly sql: Postgres
  readonly nowMs: () => number
  /** Undefined: nothing is told of visits. */
  readonly visits: Visits | undefined
  readonly popularity: Popularity | undefined
}

export function openClicks(ground: Ground, { sql, nowMs, visits, popularity }: ClicksNeeds): Clicks {
  const { config, metrics, log, troubles, onClose } = ground
  const clicks = new Clicks(config, {
    sql,
    nowMs,
    report: ground.reportClicks,
    visits: visits && ((batch) => visits.fold(batch)),
    foldVisits: foldVisits(config.visitsTz),
    onUntold: (untold) => metrics.visits.untold.inc(untold),
    onPersisted: (batches) => popularity?.note(batches),
    onDamaged: (lines) => {
      metrics.spoolDamaged.inc(lines)
      log.warn({ lines }, 'batches of the click spool were torn or damaged, and are skipped')
    },
    onError: (err, what) => troubles.warn({ err }, what),
  })
  metrics.onCollect(() => {
    metrics.clicksSpooled.set(clicks.spooled)
    metrics.spoolAge.set(clicks.spoolAgeS)
  })
  onClose(() => clicks.stop())
  return clicks
}

export function openPopularity({ config, onClose }: Ground, deps: PopularityDeps): Popularity {
  const popularity = new Popularity(config, deps)
  onClose(() => popularity.stop())
  return popularity
}

export function openWarmer({ log, onClose }: Ground, deps: Omit<WarmerDeps, 'onWarmed'>): Warmer {
  const onWarmed = (links: number): void => log.info({ links }, 'Redis was empty and has the most wanted links again')
  const warmer = new Warmer({ ...deps, onWarmed })
  onClose(() => warmer.stop())
  return warmer
}
