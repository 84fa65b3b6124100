// One worker's app on a free port, booted like a real one.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { startApp } from '../server/app.ts'
import { boot } from '../server/boot.ts'
import { createClickBooks } from '../server/clicks/books.ts'
import { limits, loadConfig } from '../server/config.ts'
import type { App } from '../server/processes/worker.ts'
import { countInMemory } from '../server/rates/counters.ts'
import { AbsenceChannel, createAbsenceDesk } from '../server/rates/shared-absences.ts'
import { createLog } from '../server/telemetry/log.ts'
import { createMetrics, type Metrics } from '../server/telemetry/metrics.ts'
import { apiOf, created, send, type Answer, type Api } from './http.ts'

export { send, type Answer, type ApiAnswer } from './http.ts'

export interface TestApp {
  readonly url: string
  readonly key: string
  readonly metrics: Metrics
  readonly app: App
  get(path: string, headers?: Record<string, string>, method?: string): Promise<Answer>
  readonly api: Api
  /** A new link to `url`; its code. */
  create(url: string, more?: object): Promise<string>
  /** The sum of a metric's samples whose labels contain these. */
  metric(name: string, labels?: Record<string, string>): Promise<number>
  /** One line of the exposition, for what a metric family has beside it: `_sum`, `_count`. */
  sample(name: string): Promise<number>
  close(): Promise<void>
}

const apps: TestApp[] = []
afterAll(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

interface TestAppOptions {
  readonly databaseUrl: string
  readonly redisUrl?: string | undefined
  /** Further environment: `{ WORKERS: '2' }`. */
  readonly env?: Record<string, string>
  /** false: starts without having reached Postgres. */
  readonly booted?: boolean
  /** The key of an earlier app on the same database. */
  readonly key?: string
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
    ...options.env,
  })
  const log = createLog(config, process.stdout)
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
    absences,
    reportClicks: createClickBooks((what, clicks) => metrics.clicks[what].inc(clicks)).note,
  })
  const test = testApp(app, metrics, key, () => rmSync(dataDir, { recursive: true, force: true }))
  apps.push(test)
  return test
}

function testApp(app: App, metrics: Metrics, key: string, cleanUp: () => void): TestApp {
  let closed: Promise<void> | undefined
  const url = `http://127.0.0.1:${app.port}`
  const api = apiOf(url, key)
  return {
    url,
    key,
    app,
    metrics,
    get: (path, headers, method = 'GET') => send(url, method, path, undefined, headers),
    api,
    create: async (target, more = {}) => String((await created(api, '/links', { url: target, ...more }))['code']),
    async metric(name, labels = {}) {
      const all = await metrics.registry.getMetricsAsJSON()
      const values = (all.find((metric) => metric.name === name)?.values ?? []) as {
        labels: Record<string, string>
        value: number
      }[]
      return values
        .filter((sample) => Object.entries(labels).every(([label, value]) => String(sample.labels[label]) === value))
        .reduce((sum, sample) => sum + sample.value, 0)
    },
    async sample(name) {
      const line = (await metrics.registry.metrics()).split('\n').find((line) => line.startsWith(`${name} `))
      return Number(line?.split(' ')[1] ?? 0)
    },
    close: () => (closed ??= app.close().then(cleanUp)),
  }
}
