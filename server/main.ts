// `npm run serve`: one primary that supervises, and WORKERS processes that serve.
import './node-version.js'
import './processes/no-inspector.ts'
import cluster from 'node:cluster'
import type { BootResult } from './boot.ts'
import { ConfigError, loadConfig, type Config } from './config.ts'
import { limits } from './limits.ts'
import { buildIndexes } from './connections/indexes.ts'
import { openPostgres, type Postgres } from './connections/postgres.ts'
import { redisProbe } from './connections/open.ts'
import { database, directDatabase } from './connections/target.ts'
import { watchHighWater } from './links/high-water.ts'
import { clickOrder } from './links/click-order.ts'
import { chooseIndexes, countTags, makeVisitPartitions, upkeep } from './links/upkeep.ts'
import { Refused } from './processes/refusal.ts'
import { supervise } from './processes/supervisor.ts'
import { readBuild, type Build } from './telemetry/build.ts'
import { openLog, type Log, type OpenLog } from './telemetry/log.ts'
import { createMetrics, type Metrics, type UpkeepPart } from './telemetry/metrics.ts'
import { sparing } from './telemetry/sparing.ts'
import { work } from './processes/worker.ts'

const probeMs = 1000

function openMetrics(build: Build, takeDropped: () => number): Metrics {
  const metrics = createMetrics({ processMetrics: true, ...build })
  metrics.onCollect(() => metrics.logDropped.inc(takeDropped()))
  return metrics
}

async function primary(config: Config, { log, takeDropped, alone, write }: OpenLog): Promise<void> {
  const { boot } = await import('./boot.ts')
  const build = readBuild()
  // Connections of its own, so that health is asked even while every worker is busy. Their errors are its answers.
  const ignore = (): void => undefined
  const postgres = openPostgres({
    ...database(config),
    name: 'quicklink-health',
    maxConnections: 1,
    connectMs: probeMs,
    queryMs: probeMs,
    onError: ignore,
  })
  const metrics = openMetrics(build, takeDropped)
  const trouble = sparing(log, limits.troubleLineMs)
  /** Succeeds once. */
  const bootAndWatch = async (): Promise<BootResult> => {
    const result = await boot(config, log)
    keepUp(config, log, metrics)
    watchHighWater({
      sql: postgres,
      dataDir: config.dataDir,
      everyMs: limits.highWaterEveryMs,
      onGoneBack: () => boot(config, log),
      onError: (err) => trouble.warn({ err }, 'how far the database has come could not be noted'),
    })
    return result
  }
  await supervise(config, {
    log,
    relay: alone ? write : undefined,
    build,
    metrics,
    workerFile: import.meta.filename,
    boot: bootAndWatch,
    probes: { postgres: () => postgres.query('select 1'), redis: redisProbe(config, trouble.warn) },
  })
}

/** Indexes and what is old, soon after the start and hourly, by one process of all; nobody waits for it. */
function keepUp(config: Config, log: Log, metrics: Metrics): void {
  const onFailure = (task: UpkeepPart, err: unknown): void => {
    metrics.upkeepFailures.inc({ task })
    log.warn({ err, task }, 'a part of the upkeep failed; it is tried again within the hour')
  }
  const run = async (): Promise<void> => {
    await connected(makeVisitPartitions).catch((error: unknown) => onFailure('visitPartitions', error))
    const terms = { ...directDatabase(config), connectMs: limits.bootConnectMs, buildMs: limits.indexMs }
    await buildIndexes(terms, chooseIndexes).then(
      (built) => {
        if (built.length > 0) log.info({ built }, 'built indexes')
      },
      (error: unknown) => onFailure('indexes', error),
    )
    await connected(async (db) =>
      log.info({ rows: await upkeep(db, onFailure, config) }, 'kept up: rows removed, or folded'),
    )
  }
  const connected = async (work: (db: Postgres) => Promise<unknown>): Promise<void> => {
    const own = { name: 'quicklink-upkeep', maxConnections: 1, queryMs: limits.upkeepMs }
    const db = openPostgres({ ...database(config), connectMs: limits.bootConnectMs, ...own, onError: () => undefined })
    try {
      await work(db)
    } finally {
      await db.close()
    }
  }
  const order = clickOrder()
  const tellLists = (): Promise<void> => connected(order).catch((error: unknown) => onFailure('clickOrder', error))
  setTimeout(every(limits.upkeepEveryMs, run), limits.upkeepFirstMs).unref()
  every(limits.orderEveryMs, tellLists)
  every(limits.tagSumEveryMs, () => connected(countTags).catch((error: unknown) => onFailure('tagCounts', error)))
}

/** Unless the one before still lasts. What it answers starts one at once. */
function every(intervalMs: number, work: () => Promise<void>): () => void {
  let running: Promise<void> | undefined
  const start = (): void => {
    running ??= work().finally(() => (running = undefined))
  }
  setInterval(start, intervalMs).unref()
  return start
}

async function worker(config: Config, { log, takeDropped }: OpenLog): Promise<void> {
  const { startApp } = await import('./app.ts')
  await work(config, { log, metrics: openMetrics(readBuild(), takeDropped), startApp })
}

try {
  const config = loadConfig(process.env)
  const open = openLog(config)
  process.on('uncaughtException', (error) => {
    open.log.fatal({ err: error }, 'a mistake that nobody caught; this process ends')
    process.exit(1)
  })
  if (cluster.isPrimary) {
    await primary(config, open)
    process.exit(0)
  }
  await worker(config, open)
} catch (error) {
  if (!(error instanceof ConfigError || error instanceof Refused)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
