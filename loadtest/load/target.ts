// Which QuickLink is loaded, and how it is looked into meanwhile: the one that `make up` started here, or another one
// whose owner says so. Load is never sent to a stranger by mistake.
import { handsOff } from '../../embedded/keeper.ts'
import { Refusal, readText, type Places } from '../../embedded/paths.ts'
import { postgresDaemon } from '../../embedded/postgres.ts'
import { runningPrometheus } from '../../embedded/monitoring.ts'
import { redisDaemon, redisOperatorUrl } from '../../embedded/redis.ts'
import { runningServer } from '../../embedded/server.ts'
import { openPostgres, type Postgres } from '../../server/connections/postgres.ts'
import { opsAt, type Ops, type Sample } from '../measure/ops.ts'
import { embeddedServices, type Service } from '../faults/services.ts'
import { pipeToRedis } from '../measure/redis-pipe.ts'
import { dockerTarget } from './target-docker.ts'

export interface Target {
  readonly what: string
  /** Where k6 sends its requests. */
  readonly url: string
  readonly ownerKey: string | undefined
  /** None for a target that shows only its front. */
  readonly database: Database | undefined
  /** Commands whose answers are one line each. */
  readonly redis: ((commands: readonly (readonly string[])[]) => Promise<string[]>) | undefined
  /** For MONITOR; only where Redis can be reached by a socket. */
  readonly redisUrl: string | undefined
  readonly redisService: Service | undefined
  /** What `/metrics` says; nothing where the ops port cannot be reached. */
  metrics(): Promise<Sample[]>
  readonly status: Ops['status'] | undefined
  /** Where k6 may send its own figures, as it reaches it. */
  readonly metricsSink?: string | undefined
  /** Of those that run here, so that their CPU can be measured. */
  readonly pids: Readonly<Record<string, () => number | undefined>>
  close(): Promise<void>
}

export type Database = Pick<Postgres, 'query'>

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

export async function findTarget(env: NodeJS.ProcessEnv, places: Places): Promise<Target> {
  if (env['TARGET']) return givenTarget(env['TARGET'], env)
  const server = runningServer(places)
  if (server !== undefined) return embeddedTarget(places, server)
  const docker = await dockerTarget()
  if (docker !== undefined) return docker
  throw new Refusal('No QuickLink is running here: `make up` first, or TARGET=http://… for another one.')
}

/** By the environment alone: DATABASE_URL makes the links, OPS_URL and REDIS_URL are looked into if they are given. */
function givenTarget(given: string, env: NodeJS.ProcessEnv): Target {
  const url = new URL(given)
  if (!loopback.test(url.hostname) && env['I_MAY_LOAD_THIS'] !== 'yes') {
    throw new Refusal(`${url.host} is not this machine: I_MAY_LOAD_THIS=yes says that you may load it.`)
  }
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, OPS_URL: opsUrl } = env
  return openTarget({ what: url.host, url: url.origin, ownerKey: env['OWNER_KEY'], databaseUrl, redisUrl, opsUrl })
}

function embeddedTarget(places: Places, server: { pid: number; localUrl: string; opsUrl: string }): Target {
  const prometheus = runningPrometheus(places)
  const handsOn = handsOff(places)
  const target = openTarget({
    what: 'embedded',
    url: server.localUrl.replace('localhost', '127.0.0.1'),
    opsUrl: server.opsUrl,
    ownerKey: readText(places.ownerKeyFile)?.trim(),
    databaseUrl: readText(places.databaseUrlFile)?.trim(),
    redisUrl: redisOperatorUrl(places),
    redisService: embeddedServices(places).redis,
    metricsSink: prometheus === undefined ? undefined : `${prometheus.url}/api/v1/write`,
    pids: { server: () => server.pid, Postgres: postgresDaemon(places).pid, Redis: redisDaemon(places).pid },
  })
  return {
    ...target,
    async close() {
      await target.close()
      handsOn()
    },
  }
}

type Optional = 'ownerKey' | 'redisUrl' | 'redisService' | 'metricsSink' | 'pids'
type Access = Pick<Target, 'what' | 'url'> &
  Partial<Pick<Target, Optional>> & { readonly databaseUrl?: string | undefined; readonly opsUrl?: string | undefined }

/** One whose parts are reached by their URLs. */
export function openTarget({ databaseUrl, redisUrl, opsUrl, ...access }: Access): Target {
  const onError = (): undefined => undefined
  const limits = { maxConnections: 1, connectMs: 5000, queryMs: 300_000, onError }
  const database = databaseUrl === undefined ? undefined : openPostgres({ url: databaseUrl, name: 'load', ...limits })
  return {
    ownerKey: undefined,
    redisService: undefined,
    pids: {},
    ...access,
    database,
    redisUrl,
    redis: redisUrl === undefined ? undefined : (commands) => pipeToRedis(redisUrl, commands),
    ...(opsUrl === undefined ? { metrics: () => Promise.resolve([]), status: undefined } : opsAt(opsUrl)),
    close: async () => {
      await database?.close()
    },
  }
}
