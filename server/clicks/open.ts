// Clicks of one process, and what is made of them.
import type { Coherence } from '../coherence/open.ts'
import type { Truth } from '../coherence/truth.ts'
import { limits, type Config } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { sparing } from '../telemetry/sparing.ts'
import { createClickBooks, type ClicksReport } from './books.ts'
import { startClicks, type Clicks } from './clicks.ts'
import { startPopularity } from './popularity.ts'
import { createWarmer } from './warm.ts'

interface ClicksDeps {
  readonly sql: Sql
  readonly truth: Truth
  readonly coherence: Coherence | undefined
  /** Within the breaker and the deadline of Redis. */
  readonly askRedis: (<T>(work: () => Promise<T>) => Promise<T>) | undefined
  /** Codes in tier 1. */
  readonly codes: () => Code[]
  readonly nowMs: () => number
  /** To the books in the primary process; without one, this process keeps them itself. */
  readonly report: ((report: ClicksReport) => void) | undefined
  readonly metrics: Metrics
  readonly log: Log
}

export interface OpenClicks extends Clicks {
  lifeS(code: Code): number | undefined
  /** Redis has come back empty. */
  warm(): void
}

export function openClicks(config: Config, deps: ClicksDeps): OpenClicks {
  const { sql, coherence, askRedis, metrics, log } = deps
  const trouble = sparing(log, limits.troubleLineMs)
  const report = deps.report ?? ownBooks(metrics)
  const popularity =
    coherence &&
    askRedis &&
    startPopularity({
      ...config,
      sql,
      redis: coherence.redis,
      ask: askRedis,
      everyMs: limits.popularEveryMs,
      maxLinks: limits.popularLinks,
      minClicks: limits.popularClicks,
    })
  const warmer =
    coherence &&
    createWarmer({
      cache: coherence.cache,
      truth: deps.truth,
      trusted: coherence.trusted,
      codes: () => [...(popularity?.hot() ?? []), ...deps.codes()],
      maxLinks: limits.warmLinks,
      onWarmed: (links) => log.info({ links }, 'Redis was empty and has the most wanted links again'),
    })
  const clicks = startClicks({
    sql,
    dataDir: config.dataDir,
    everyMs: limits.clicksEveryMs,
    maxLinks: limits.clickLinks,
    maxBytes: config.spoolMaxMb * 1_000_000,
    takeOverEveryMs: limits.takeOverEveryMs,
    stopMs: limits.clicksStopMs,
    nowMs: deps.nowMs,
    onReport: report,
    onPersisted: (batches) => popularity?.note(batches),
    onDamaged: (lines) => {
      metrics.spoolDamaged.inc(lines)
      log.warn({ lines }, 'batches of the click spool were torn or damaged, and are skipped')
    },
    onError: (err, what) => trouble.warn({ err }, what),
  })
  metrics.onCollect(() => metrics.clicksSpooled.set(clicks.spooled))
  return {
    tally: clicks.tally,
    hit: clicks.hit,
    ungranted: clicks.ungranted,
    flush: clicks.flush,
    get pending() {
      return clicks.pending
    },
    get spooled() {
      return clicks.spooled
    },
    lifeS: (code) => popularity?.lifeS(code),
    warm: () => warmer?.soon(),
    async stop() {
      warmer?.stop()
      await popularity?.stop()
      await clicks.stop()
    },
  }
}

function ownBooks(metrics: Metrics): (report: ClicksReport) => void {
  return createClickBooks(countIn(metrics)).note
}

export const countIn =
  (metrics: Metrics) =>
  (what: 'accepted' | 'dropped' | 'persisted', clicks: number): void => {
    const counters = {
      accepted: metrics.clicksAccepted,
      dropped: metrics.clicksDropped,
      persisted: metrics.clicksPersisted,
    }
    counters[what].inc(clicks)
  }
