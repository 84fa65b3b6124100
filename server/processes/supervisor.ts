// The primary process: health and metrics on the ops port, the database made ready, the workers kept alive, and one
// clean stop. It serves no link itself, so that whatever happens to a worker, somebody is there to replace it.
import type { Worker } from 'node:cluster'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { BootResult } from '../boot.ts'
import { createClickBooks, type ClickBooks } from '../clicks/books.ts'
import { ConfigError, type Config } from '../config.ts'
import { limits } from '../limits.ts'
import { isUnavailable } from '../connections/postgres.ts'
import { answers, Crew, type CrewOptions } from './crew.ts'
import { stopSignals, type ToPrimary } from './ipc.ts'
import { countInMemory } from '../rates/counters.ts'
import { createCounterDesk } from '../rates/primary-counters.ts'
import { createAbsenceDesk } from '../rates/shared-absences.ts'
import { refusal, Refused } from './refusal.ts'
import type { SystemReport } from '../system/channel.ts'
import { figuresOf } from '../system/figures.ts'
import type { Build } from '../telemetry/build.ts'
import { Fleet } from '../telemetry/fleet.ts'
import { createHealth, type HealthReport } from '../telemetry/health.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { startOpsServer, type OpsServer, type Phase } from '../telemetry/ops-server.ts'
import { Reporter, type Status } from '../telemetry/report.ts'

export interface SupervisorDeps {
  readonly log: Log
  readonly relay: CrewOptions['relay']
  readonly metrics: Metrics
  readonly build: Build
  /** The file that a worker runs. */
  readonly workerFile: string
  /** Makes the database ready. Tried again for as long as Postgres cannot be reached. */
  readonly boot: () => Promise<BootResult>
  readonly probes: Parameters<typeof createHealth>[0]
}

/** Between attempts to reach Postgres. The last is short: it should be noticed within two seconds that it is back. */
const bootDelayMs = { first: 200, max: 1000 } as const
/** Workers of a server that never came up have nothing in flight. */
const abandonMs = 2000

type Ending = { readonly stop: NodeJS.Signals } | { readonly refused: string }

interface Supervision {
  readonly config: Config
  readonly deps: SupervisorDeps
  readonly fleet: Fleet
  readonly end: (ending: Ending) => void
  /** Rate limits in memory: of all workers together. */
  readonly count: ReturnType<typeof createCounterDesk>
  /** Absent codes that addresses ask all workers for. */
  readonly absences: ReturnType<typeof createAbsenceDesk>
  /** Clicks of all workers, the dead included. */
  readonly clicks: ClickBooks
  readonly health: () => Promise<HealthReport>
  phase: Phase
  /** Postgres has been asked once, so that 'ready' says something about it. */
  bootTried: boolean
  booted: { readonly result: BootResult } | undefined
  served: boolean
  crew: Crew | undefined
}

/** Runs until a signal, or until it is clear that it cannot work here (rejects with `Refused`). */
export async function supervise(config: Config, deps: SupervisorDeps): Promise<void> {
  const { log, metrics } = deps
  const ending = Promise.withResolvers<Ending>()
  for (const signal of stopSignals) {
    // Stays installed: a second signal must not cut the clean stop short.
    process.on(signal, () => ending.resolve({ stop: signal }))
  }
  const probed = createHealth(deps.probes)
  const all: Supervision = {
    config,
    deps,
    fleet: new Fleet(),
    end: ending.resolve,
    count: createCounterDesk({
      rates: countInMemory(limits.createWindowS),
      guesses: countInMemory(limits.guessWindowS, limits.guessers),
    }),
    absences: createAbsenceDesk(limits.scanAddresses),
    clicks: createClickBooks((what, clicks) => metrics.clicks[what].inc(clicks)),
    health: async () => {
      const report = await probed()
      return all.booted ? report : { ...report, status: 'degraded' }
    },
    phase: 'starting',
    bootTried: false,
    booted: undefined,
    served: false,
    crew: undefined,
  }
  reportOwn(all)
  await refuseTakenPort(config)
  const ops = await startOps(all)
  const crew = gather(all)
  all.crew = crew
  metrics.onCollect(() => metrics.workersServing.set(crew.slots.filter(answers).length))
  void keepBooting(all)

  const end = await ending.promise
  all.phase = 'draining'
  if ('stop' in end) log.info({ signal: end.stop }, 'stopping')
  const clean = await crew.stop('stop' in end ? limits.stopMs : abandonMs)
  await ops.close()
  if ('refused' in end) throw new Refused(end.refused)
  if (clean) log.info('stopped')
  else log.warn('stopped; a worker did not finish in time and was killed')
}

/** The primary's own samples: as if it were a worker, without the way between. */
function reportOwn({ deps, fleet }: Supervision): void {
  // Workers are counted from 1.
  const id = 0
  const reporter = new Reporter(
    deps.metrics.registry,
    () => ({}),
    (slice) => {
      fleet.received(id, slice)
      return Promise.resolve()
    },
  )
  fleet.joined(id, (request) => {
    reporter.report(request).catch((error: unknown) => {
      deps.log.error({ err: error }, 'the metrics of the primary process could not be read')
    })
  })
}

function gather(all: Supervision): Crew {
  const { config, deps, fleet } = all
  return new Crew({
    size: config.workers,
    file: deps.workerFile,
    log: deps.log,
    relay: deps.relay,
    onForked(worker) {
      fleet.joined(worker.id, (request) => all.crew?.send(worker, { type: 'collect', request }))
    },
    onMessage(worker, message) {
      hear(all, worker, message)
    },
    onLeft(worker) {
      fleet.left(worker.id)
      if (all.phase !== 'draining') deps.metrics.workerRestarts.inc()
    },
  })
}

function hear(all: Supervision, worker: Worker, message: ToPrimary): void {
  const { config, deps } = all
  switch (message.type) {
    case 'hello':
      if (all.booted) all.crew?.send(worker, { type: 'boot', result: all.booted.result })
      break
    case 'serving':
      if (!all.served) deps.log.info({ port: message.port, workers: config.workers }, 'listening')
      all.served = true
      break
    case 'count':
      void all.count(message).then((answer) => all.crew?.send(worker, answer))
      break
    case 'absences':
      all.crew?.send(worker, all.absences(message))
      break
    case 'clicks':
      all.clicks.note(message)
      break
    case 'how-is-all':
      systemNow(all).then(
        (report) => all.crew?.send(worker, { type: 'so-is-all', report }),
        (error: unknown) => deps.log.error({ err: error }, 'how the server is could not be said'),
      )
      break
    case 'alive':
    case 'listener':
    case 'leaving':
      break
    case 'report':
      all.fleet.received(worker.id, message)
      break
    case 'refused':
      // Once it has served, the cause may pass (a port taken for a moment between two workers): go on trying.
      if (all.served) deps.log.error(message.sentence)
      else all.end({ refused: message.sentence })
  }
}

/** Ready: every worker has been tried, whether Postgres is there is known, and one worker serves. Only the last may change. */
function phaseOf(all: Supervision): Phase {
  const slots = all.crew?.slots ?? []
  const ready = all.bootTried && slots.every(({ tried }) => tried) && slots.some(({ serving }) => serving)
  if (all.phase === 'starting' && ready) all.phase = 'serving'
  return all.phase === 'serving' && !slots.some(answers) ? 'no_workers' : all.phase
}

/** Clicks on disk, as the workers see them. */
const spooledBy = (statuses: readonly (Status | undefined)[]): number =>
  statuses.reduce((sum, status) => sum + ((status?.['clicks'] as { spooled?: number } | undefined)?.spooled ?? 0), 0)

/** Workers share the port, so each of them would succeed beside another QuickLink's. */
async function refuseTakenPort(config: Config): Promise<void> {
  const probe = createServer()
  const failed = await new Promise<Error | undefined>((resolve) => {
    probe
      .once('error', resolve)
      .listen({ port: config.port, host: config.host }, () => probe.close(() => resolve(undefined)))
  })
  const sentence = failed && refusal(failed, config, 'public')
  if (sentence !== undefined) throw new Refused(sentence)
}

async function systemNow(all: Supervision): Promise<SystemReport> {
  const [health, { metrics, statuses }] = await Promise.all([all.health(), all.fleet.collect()])
  const workers = (all.crew?.slots ?? []).map((slot) => ({
    number: slot.number,
    serving: answers(slot),
    restarts: slot.restarts,
    status: slot.worker && statuses.get(slot.worker.id),
  }))
  return { ...figuresOf(metrics, workers), uptimeS: Math.round(process.uptime()), phase: phaseOf(all), health }
}

async function startOps(all: Supervision): Promise<OpsServer> {
  const { config, deps, fleet } = all
  const { health } = all
  const status = async (): Promise<Record<string, unknown>> => {
    const [report, { statuses }] = await Promise.all([health(), fleet.collect()])
    return {
      ...deps.build,
      node: process.versions.node,
      pid: process.pid,
      uptimeS: Math.round(process.uptime()),
      phase: phaseOf(all),
      health: report,
      clicks: { ...all.clicks.totals(), spooled: spooledBy([...statuses.values()]) },
      workers: all.crew?.slots.map((slot) => ({
        number: slot.number,
        pid: slot.worker?.process.pid ?? null,
        serving: answers(slot),
        restarts: slot.restarts,
        status: (slot.worker && statuses.get(slot.worker.id)) ?? null,
      })),
    }
  }
  try {
    return await startOpsServer(config.opsHost, config.opsPort, {
      phase: () => phaseOf(all),
      health,
      metrics: () => fleet.text(),
      status,
      onError(error) {
        deps.log.error({ err: error }, 'the ops port could not answer')
      },
    })
  } catch (error) {
    const sentence = refusal(error, config, 'ops')
    if (sentence === undefined) throw error
    throw new Refused(sentence)
  }
}

/** Never rejects: it succeeds, or goes on, or ends the server. */
async function keepBooting(all: Supervision): Promise<void> {
  const { deps } = all
  let said = ''
  for (let delayMs: number = bootDelayMs.first; ; delayMs = Math.min(bootDelayMs.max, delayMs * 2)) {
    try {
      const result = await deps.boot()
      all.booted = { result }
      all.bootTried = true
      all.crew?.sendAll({ type: 'boot', result })
      return
    } catch (error) {
      if (error instanceof ConfigError || !isUnavailable(error)) {
        all.end({ refused: bootRefusal(error, deps.log) })
        return
      }
      all.bootTried = true
      // Once per reason: an outage of an hour is not 3,600 lines.
      const reason = String(error)
      if (reason !== said)
        deps.log.warn({ why: describeError(error, 1) }, 'Postgres cannot be reached; going on trying')
      said = reason
    }
    await pause(delayMs)
  }
}

function bootRefusal(error: unknown, log: Log): string {
  if (error instanceof ConfigError) return error.message
  log.error({ err: error }, 'the database could not be made ready')
  return 'The database that DATABASE_URL names could not be made ready: the log line before this one says why.'
}
