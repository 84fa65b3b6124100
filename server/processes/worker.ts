// A worker process: runs the app, answers its primary, and ends once and cleanly, whoever asks for it and how often.
import cluster from 'node:cluster'
import type { Server, Socket } from 'node:net'
import type { BootResult } from '../boot.ts'
import type { ClicksReport } from '../clicks/books.ts'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { stopSignals, type ToPrimary, type ToWorker } from './ipc.ts'
import type { Count } from '../rates/counters.ts'
import { PrimaryCounters, type Desk } from '../rates/primary-counters.ts'
import { AbsenceChannel } from '../rates/shared-absences.ts'
import { refusal } from './refusal.ts'
import { SystemChannel, type SystemReport } from '../system/channel.ts'
import type { ListenHandle } from './stand-in.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Reporter } from '../telemetry/report.ts'

/** What runs in a worker. */
export interface App {
  readonly port: number
  /** Undefined: the primary process accepts. */
  readonly handle: ListenHandle | undefined
  /** A connection that was accepted elsewhere. */
  adopt(socket: Socket): void
  status(): Record<string, unknown>
  /** Stops accepting, finishes what is in flight, flushes, lets go. */
  close(): Promise<void>
}

/** What an app is given by its process. */
export interface AppDeps {
  readonly metrics: Metrics
  readonly log: Log
  /** Known once Postgres has been reached; until then the API answers 503, and redirects what Redis knows. */
  readonly boot: Promise<BootResult>
  /** Rate limits in memory, of all workers together. */
  readonly counters: Count
  /** Passwords that were tried, of all workers together. */
  readonly guesses: Count
  /** To the count of all workers' absent codes. */
  readonly absences: AbsenceChannel
  /** To the books of all workers' clicks. */
  readonly reportClicks: (report: ClicksReport) => void
  /** How all workers are. Rejects when the primary process does not say so in time. */
  readonly askSystem: () => Promise<SystemReport>
}

interface WorkerDeps {
  readonly log: Log
  readonly metrics: Metrics
  readonly startApp: (config: Config, deps: AppDeps) => Promise<App>
}

/** If it is killed, at most the counts of this time are lost to the totals. Random, so that workers do not fall in step. */
const reportEveryMs = { least: 3000, most: 5000 } as const

/** Resolves when the message has left, or cannot any more. */
const tell = (message: ToPrimary, handle?: ListenHandle): Promise<void> =>
  new Promise((resolve) => {
    if (!process.connected || !process.send) {
      resolve()
      return
    }
    // Node sends any handle of a socket, but its types only know whole servers, which would begin to accept.
    process.send(message, handle as Server | undefined, undefined, () => resolve())
  })

export async function work(config: Config, { log, metrics, startApp }: WorkerDeps): Promise<void> {
  const boot = Promise.withResolvers<BootResult>()
  const counters = (desk: Desk) => new PrimaryCounters((question) => void tell(question), limits.primaryMs, desk)
  const desks = { rates: counters('rates'), guesses: counters('guesses') }
  const absences = new AbsenceChannel((report) => void tell(report))
  const system = new SystemChannel((question) => void tell(question), limits.systemMs)
  let app: App | undefined
  let stopping = false
  const reporter = new Reporter(metrics.registry, () => app?.status() ?? {}, tell)
  const report = (request?: number): Promise<void> =>
    reporter.report(request).catch((error: unknown) => log.error({ err: error }, 'the metrics could not be reported'))

  const stop = async (): Promise<void> => {
    if (stopping) return
    stopping = true
    void tell({ type: 'leaving' })
    // The primary kills what is late; this is for a worker that has lost its primary.
    setTimeout(() => process.exit(1), limits.stopMs + 1000).unref()
    try {
      await app?.close()
    } catch (error) {
      log.error({ err: error }, 'the stop was not clean')
    }
    await report()
    process.exit(0)
  }

  for (const signal of stopSignals) process.on(signal, () => void stop())
  process.prependListener('disconnect', () => {
    // Before node's own listener, which would end the process on the spot.
    if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
    if (!stopping) log.warn('the primary process is gone')
    void stop()
  })
  const share = (): void => {
    if (app?.handle && !stopping) void tell({ type: 'listener' }, app.handle)
  }
  process.on('message', (message: ToWorker, socket?: Socket) => {
    if (message.type === 'boot') boot.resolve(message.result)
    if (message.type === 'counted') desks[message.desk].heard(message)
    if (message.type === 'absences-of-all') absences.heard(message)
    if (message.type === 'so-is-all') system.heard(message)
    if (message.type === 'collect') void report(message.request)
    if (message.type === 'connection' && socket) app?.adopt(socket)
    if (message.type === 'share') share()
    if (message.type === 'stop') void stop()
  })
  const keepReporting = (): void => {
    const { least, most } = reportEveryMs
    setTimeout(() => void report().then(keepReporting), least + Math.random() * (most - least)).unref()
  }
  const keepAlive = (): void => {
    setTimeout(() => void tell({ type: 'alive' }).then(keepAlive), limits.aliveEveryMs).unref()
  }
  await tell({ type: 'hello' })
  keepAlive()
  // The first runs code that is not compiled yet: nobody is served yet.
  await report()
  keepReporting()

  try {
    const reportClicks = (news: ClicksReport): void => void tell(news)
    app = await startApp(config, {
      metrics,
      log,
      boot: boot.promise,
      counters: desks.rates,
      guesses: desks.guesses,
      absences,
      reportClicks,
      askSystem: system.ask,
    })
  } catch (error) {
    const sentence = refusal(error, config, 'public')
    if (sentence === undefined) throw error
    await tell({ type: 'refused', sentence })
    process.exit(1)
  }
  await tell({ type: 'serving', port: app.port })
  share()
}
