// The real primary and the real workers around a stub for the app: what supervisor.integration.test.ts starts.
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { BootResult } from '../boot.ts'
import { loadConfig, type Config } from '../config.ts'
import { Refused } from './refusal.ts'
import type { ListenHandle } from './stand-in.ts'
import { supervise } from './supervisor.ts'
import { openLog, type OpenLog } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { work, type App, type AppDeps } from './worker.ts'

const config = loadConfig(process.env)
const { log, takeDropped, alone, write } = open()

function open(): OpenLog {
  try {
    return openLog(config)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exit(1)
  }
}

/** Postgres is away at the first two attempts. */
let attempts = 0
const boot = async (): Promise<BootResult> => {
  await pause(100)
  if (++attempts <= 2) throw Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' })
  return { salt: 'the salt', saltGeneration: 1, postgresRunningSince: '' }
}

const filler = 'x '.repeat(250)
const fail = (): never => {
  throw new Error('nobody catches this')
}
process.on('uncaughtException', (error) => {
  log.fatal({ err: error }, 'a mistake that nobody caught; this process ends')
  process.exit(1)
})

const openMetrics = (): Metrics => {
  const metrics = createMetrics()
  metrics.onCollect(() => metrics.logDropped.inc(takeDropped()))
  return metrics
}

const startApp = async (_config: Config, { metrics, boot }: AppDeps): Promise<App> => {
  const server = createServer((request, response) => {
    void (async () => {
      if (request.url === '/crash') process.exit(7)
      if (request.url === '/slow') await pause(500)
      const [, lines] = /^\/log\/(\d+)$/.exec(request.url ?? '') ?? []
      for (let n = 0; n < Number(lines ?? 0); n++) log.warn({ filler }, 'a line')
      if (request.url === '/wrong') setImmediate(fail)
      if (request.url === '/spin') {
        process.stderr.write('it spins\n')
        for (;;);
      }
      if (request.url === '/hang') await pause(60_000)
      if (request.url === '/boot') response.write((await boot).salt)
      metrics.redirect(302, 0.00003)
      response.end(` ${process.pid}`)
    })()
  })
  await new Promise<void>((resolve, reject) => {
    const { port, host } = config
    server.once('error', reject).listen({ port, host, reusePort: true, exclusive: true }, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    handle: (server as unknown as { _handle: ListenHandle })._handle,
    adopt: (socket) => server.emit('connection', socket),
    status: () => ({ pid: process.pid }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}

try {
  if (cluster.isPrimary) {
    await supervise(config, {
      log,
      relay: alone ? write : undefined,
      metrics: openMetrics(),
      build: { version: '0', commit: 'stub' },
      workerFile: import.meta.filename,
      boot,
      probes: { postgres: () => Promise.resolve(), redis: undefined },
    })
    process.exit(0)
  }
  await work(config, { log, metrics: openMetrics(), startApp })
} catch (error) {
  if (!(error instanceof Refused)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
