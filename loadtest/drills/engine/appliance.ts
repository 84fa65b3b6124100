// A QuickLink to drill, as a drill sees it: the same in every mode.
import { randomBytes } from 'node:crypto'
import { makeDataDir } from '../../../embedded/paths.ts'
import { postgresUser } from '../../../embedded/postgres-binaries.ts'
import type { Postgres } from '../../../server/connections/postgres.ts'
import { makeRunDir } from '../../../embedded/temporary.ts'
import { ask } from '../../../embedded/ask.ts'
import type { Proxies } from '../../faults/proxies.ts'
import type { SentinelGroup } from '../../faults/sentinels.ts'
import type { Services } from '../../faults/services.ts'
import type { Grafana } from '../../report/grafana.ts'
import { parseSamples, type Sample } from '../../measure/ops.ts'
import { openCleanup, type Cleanup } from './cleanup.ts'

export type Dependency = 'redis' | 'postgres'

export interface Settings {
  /** Of the server. */
  readonly env?: Readonly<Record<string, string>>
  /** Lines of Redis' configuration. */
  readonly redis?: readonly string[]
  /** Redis is a primary with a replica, and three Sentinels watch them. */
  readonly sentinels?: boolean
  /** The folder with the server to drill: this project's, or a copy with a promise broken on purpose. */
  readonly sources: string
}

export interface Worker {
  readonly redis: { readonly breaker: string; readonly ready: boolean; readonly trusted: boolean }
  readonly postgres: { readonly breaker: string }
}

/** How it is reached, whoever started it. */
export interface ApplianceAccess {
  /** What it is made of, for the report. */
  readonly mode: string
  readonly url: string
  readonly opsUrl: string
  readonly services: Services
  /** SIGSTOP: it is there, and does nothing. By the pid that /statusz shows. */
  stopWorker(pid: number): Promise<void>
  readonly sentinels?: SentinelGroup | undefined
  readonly proxies: Proxies<Dependency>
  /** Past the proxies. */
  readonly ports: Readonly<Record<Dependency, number>>
  /** Past the proxies, as the owner of the database. Two connections. */
  readonly sql: Postgres
  /** One command, past the proxies; undefined without an answer. */
  redis(command: string): Promise<string | undefined>
  /** With the rules in a drill's time. Undefined: there is none. */
  readonly prometheusUrl?: string | undefined
  readonly grafana?: Grafana | undefined
  /** Of one whose settings are not the drill's. */
  readonly breakerOpenMs?: number
  close(): Promise<void>
}

export interface Appliance extends ApplianceAccess {
  readonly workers: number
  api(method: string, path: string, body?: unknown): Promise<{ status: number; text: string }>
  status(): Promise<Worker[]>
  metrics(): Promise<Sample[]>
}

export const workers = 2
export const silent = (): void => undefined
export const newKey = (): string => `ql_${randomBytes(24).toString('base64url')}`

export function prepareAppliance(): Cleanup {
  const dir = makeRunDir(postgresUser(), 'drill')
  const cleanup = openCleanup(dir)
  makeDataDir(cleanup.places)
  return cleanup
}

export function applianceAt(access: ApplianceAccess, ownerKey: string, workers: number): Appliance {
  const { url, opsUrl } = access
  return {
    ...access,
    workers,
    api: (method, path, body) =>
      ask(url, `/api/v1${path}`, {
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' },
      }),
    async status() {
      const { workers } = JSON.parse((await ask(opsUrl, '/statusz')).text) as { workers: { status: Worker | null }[] }
      return workers.flatMap(({ status }) => status ?? [])
    },
    metrics: async () => parseSamples((await ask(opsUrl, '/metrics')).text),
  }
}

export const trusted = (all: readonly Worker[], count: number): boolean =>
  all.length === count && all.every(({ redis }) => redis.trusted && redis.breaker === 'closed')
