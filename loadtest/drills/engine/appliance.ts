// A QuickLink to drill, as a drill sees it: the same in every mode.
import { randomBytes } from 'node:crypto'
import { makeDataDir } from '../../../embedded/paths.ts'
import { openPostgres, type Postgres } from '../../../server/connections/postgres.ts'
import { makeRunDir } from '../../../embedded/temporary.ts'
import { ask, type Answer } from '../../../embedded/ask.ts'
import { waitFor } from '../../../embedded/wait.ts'
import type { Clock } from '../../faults/clock.ts'
import type { RedisCluster } from '../../faults/clusters.ts'
import type { Names } from '../../faults/names.ts'
import type { Proxies } from '../../faults/proxies.ts'
import type { SentinelGroup } from '../../faults/sentinels.ts'
import type { Services } from '../../faults/services.ts'
import type { SmallDisk } from '../../faults/small-disk.ts'
import type { Grafana } from '../../report/grafana.ts'
import { opsAt, trusted } from '../../measure/ops.ts'
import { openCleanup, type Cleanup } from './cleanup.ts'

export type Dependency = 'redis' | 'postgres'

export interface Settings {
  /** Of the server. */
  readonly env?: Readonly<Record<string, string>>
  /** Lines of Redis' configuration. */
  readonly redis?: readonly string[]
  /** Redis is a primary with a replica, and three Sentinels watch them. */
  readonly sentinels?: boolean
  /** Redis is a cluster: three primaries with a replica each. */
  readonly cluster?: boolean
  /** It has a disk of its own, which can be full: the spool of clicks, the log, or all of Postgres. */
  readonly smallDisk?: 'spool' | 'log' | 'postgres'
  /** Its log goes to a program that reads it, by a pipe. */
  readonly logReader?: boolean
  /** It finds Redis and Postgres by their names. */
  readonly names?: boolean
  /** Postgres has a standby near by, which is asked first. */
  readonly standby?: boolean
  /** Its clock can jump. */
  readonly clock?: boolean
  /** The folder with the server to drill: this project's, or a copy with a promise broken on purpose. */
  readonly sources: string
}

export interface Primary {
  /** kill -9 of the primary process alone. */
  kill(): Promise<void>
  /** Again, on the same ports. */
  start(): Promise<void>
}

export interface LogReader {
  pause(): void
  resume(): void
  /** As the kernel sees it. */
  isPaused(): boolean
  /** That it has taken so far. */
  bytes(): number
}

/** How it is reached, whoever started it. */
interface Access {
  /** What it is made of, for the report. */
  readonly mode: string
  readonly url: string
  readonly opsUrl: string
  readonly workers: number
  readonly services: Services
  /** By the pid that /statusz shows. SIGSTOP: it is there, and does nothing. */
  signalWorker(pid: number, signal: 'SIGSTOP' | 'SIGKILL'): Promise<void>
  /** Of a server that nobody else starts again. */
  readonly primary?: Primary | undefined
  readonly disk?: SmallDisk | undefined
  readonly logReader?: LogReader | undefined
  readonly names?: Names | undefined
  readonly clock?: Clock | undefined
  readonly sentinels?: SentinelGroup | undefined
  readonly cluster?: RedisCluster | undefined
  /** By its operator, past everything. */
  readonly standby?: { readonly sql: Postgres } | undefined
  readonly proxies: Proxies<Dependency>
  /** Past the proxies. */
  readonly ports: Readonly<Record<Dependency, number>>
  /** Past the proxies, as the owner of the database. Closed with the rest. */
  readonly sql: Postgres
  /** One command, past the proxies; undefined without an answer. Of a cluster, at its first node. */
  redis(command: string): Promise<string | undefined>
  /** With the rules in a drill's time. Undefined: there is none. */
  readonly prometheusUrl?: string | undefined
  /** False: that Prometheus hears of Redis and Postgres by QuickLink alone. */
  readonly hasExporters?: boolean
  readonly grafana?: (Grafana & { readonly container: string }) | undefined
  /** Of one whose settings are not the drill's. */
  readonly breakerOpenMs?: number
  close(): Promise<void>
}

export type Appliance = Awaited<ReturnType<typeof applianceAt>>

export const workers = 2
export const silent = (): void => undefined
export const newKey = (): string => `ql_${randomBytes(24).toString('base64url')}`

export function prepareAppliance(): Cleanup {
  const dir = makeRunDir('drill')
  const cleanup = openCleanup(dir)
  makeDataDir(cleanup.places)
  return cleanup
}

export const openSql = (url: string): Postgres =>
  openPostgres({ url, name: 'drill', maxConnections: 2, connectMs: 5000, queryMs: 60_000, onError: silent })

/** When its workers trust Redis. */
export async function applianceAt(access: Access, ownerKey: string) {
  const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
  const appliance = {
    ...access,
    ...opsAt(access.opsUrl),
    api: (method: string, path: string, body?: unknown): Promise<Answer> =>
      ask(access.url, `/api/v1${path}`, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    async close() {
      await access.sql.close()
      await access.close()
    },
  }
  const ready = async (): Promise<boolean> => trusted(await appliance.status(), access.workers)
  await waitFor(ready, { deadlineMs: 30_000, everyMs: 50 })
  return appliance
}
