// One worker's app on a free port, booted like a real one.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { startApp } from '../server/app.ts'
import { boot } from '../server/boot.ts'
import { createClickBooks } from '../server/clicks/books.ts'
import { loadConfig } from '../server/config.ts'
import { limits } from '../server/limits.ts'
import type { App } from '../server/processes/worker.ts'
import { countInMemory } from '../server/rates/counters.ts'
import { AbsenceChannel, createAbsenceDesk } from '../server/rates/shared-absences.ts'
import { figuresOf } from '../server/system/figures.ts'
import { createLog } from '../server/telemetry/log.ts'
import { createMetrics, type Metrics } from '../server/telemetry/metrics.ts'
import { apiOf, created, send } from './http.ts'
import { patient } from './server-process.ts'

export { send, type Answer, type ApiAnswer } from './http.ts'

export type TestApp = ReturnType<typeof testApp>

const apps: TestApp[] = []
afterAll(() => Promise.all(apps.splice(0).map((app) => app.close())))

interface TestAppOptions {
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  /** Further environment: `{ WORKERS: '2' }`. */
  readonly env?: Record<string, string>
  /** false: starts without having reached Postgres. */
  readonly booted?: boolean
  /** The key of an earlier app on the same database. */
  readonly key?: string
  /** In place of standard output. */
  readonly logTo?: NodeJS.WritableStream
}

export async function startTestApp(options: TestAppOptions): Promise<TestApp> {
  const key = options.key ?? `ql_${randomBytes(24).toString('base64url')}`
  const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-test-'))
  const config = loadConfig({
    DATABASE_URL: options.databaseUrl,
    ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
    OWNER_KEY: key,
    DATA_DIR: dataDir,
    PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: process.env['QL_TEST_LOG'] ?? 'silent',
    ...patient,
    ...options.env,
  })
  const log = createLog(config, options.logTo ?? process.stdout)
  const metrics = createMetrics()
  const booted =
    options.booted === false ? new Promise<never>(() => undefined) : Promise.resolve(await boot(config, log))
  // As a primary process with this worker alone.
  const desk = createAbsenceDesk(limits.scanAddresses)
  const absences: AbsenceChannel = new AbsenceChannel((report) => absences.heard(desk(report)))
  const app = await startApp(config, {
    metrics,
    log,
    boot: booted,
    counters: countInMemory(limits.createWindowS),
    guesses: countInMemory(limits.guessWindowS),
    absences,
    reportClicks: createClickBooks((what, clicks) => metrics.clicks[what].inc(clicks)).note,
    askSystem: async () => ({
      ...figuresOf([await metrics.registry.getMetricsAsJSON()], []),
      uptimeS: 0,
      phase: 'serving',
      health: { status: 'ok', redis: 'up', postgres: 'up' },
    }),
  })
  const test = testApp(app, metrics, key, () => rmSync(dataDir, { recursive: true, force: true }))
  apps.push(test)
  return test
}

function testApp(app: App, metrics: Metrics, key: string, cleanUp: () => void) {
  let closed: Promise<void> | undefined
  const url = `http://127.0.0.1:${app.port}`
  const api = apiOf(url, key)
  return {
    url,
    key,
    app,
    metrics,
    get: (path: string, headers?: Record<string, string>, method = 'GET') =>
      send(url, method, path, undefined, headers),
    api,
    /** A new link to `url`; its code. */
    create: async (url: string, more = {}) => String((await created(api, '/links', { url, ...more }))['code']),
    /** The sum of a metric's samples whose labels contain these. */
    async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
      const all = await metrics.registry.getMetricsAsJSON()
      const values = (all.find((metric) => metric.name === name)?.values ?? []) as {
        labels: Record<string, string>
        value: number
      }[]
      return values
        .filter((sample) => Object.entries(labels).every(([label, value]) => String(sample.labels[label]) === value))
        .reduce((sum, sample) => sum + sample.value, 0)
    },
    /** One line of the exposition, for what a metric family has beside it: `_sum`, `_count`. */
    async sample(name: string): Promise<number> {
      const line = (await metrics.registry.metrics()).split('\n').find((line) => line.startsWith(`${name} `))
      return Number(line?.split(' ')[1] ?? 0)
    },
    close: () => (closed ??= app.close().then(cleanUp)),
  }
}
