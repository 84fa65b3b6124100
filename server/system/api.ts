// For the owner: how the server is. The figures of `/metrics`, for who has no way to the ops port.
import { z } from 'zod'
import { count } from '../api/fields.ts'
import { operationsOf, route, type Route } from '../api/operation.ts'
import type { Config } from '../config.ts'
import { unavailable } from '../errors.ts'
import { readBuild } from '../telemetry/build.ts'
import type { SystemReport } from './channel.ts'

const operation = operationsOf('System')

const breaker = z
  .enum(['closed', 'half_open', 'open'])
  .nullable()
  .meta({ description: 'null: the worker did not answer in time, or there is no Redis.' })
const seconds = z.number().min(0).nullable()
const url = z.string().nullable()

const system = z
  .object({
    version: z.string(),
    commit: z.string(),
    node: z.string(),
    uptimeS: count,
    phase: z.enum(['starting', 'serving', 'no_workers', 'draining']),
    health: z.object({
      status: z.enum(['ok', 'degraded']),
      redis: z.enum(['up', 'down', 'off']),
      postgres: z.enum(['up', 'down']),
    }),
    frontDoor: z.enum(['raw', 'http']),
    workers: z.array(
      z.object({
        number: count,
        serving: z.boolean(),
        restarts: count,
        redis: breaker,
        postgres: breaker,
        trusted: z.boolean().nullable().meta({ description: 'Whether it trusts Redis now.' }),
      }),
    ),
    redirects: count.meta({ description: 'Answers of the redirect path. All counts are since the start.' }),
    answered: z
      .object({ tier1: count, redis: count, postgres: count })
      .meta({ description: 'Redirects by the tier that answered; the last had to ask Postgres.' }),
    lookups: z
      .object({ redis: count, postgres: count, stale: count, none: count })
      .meta({ description: 'Lookups that left tier 1, by who answered.' }),
    fallbacks: z
      .object({ error: count, timeout: count, open: count, untrusted: count })
      .meta({ description: 'Lookups that went to Postgres because Redis could not answer.' }),
    handovers: z
      .object({
        ...{ api: count, console: count, aside: count },
        ...{ method: count, body: count, unrecognised: count, partial: count },
      })
      .meta({ description: 'Requests that the front door left to node:http, by what they are.' }),
    vouchedCopies: count.meta({ description: 'Copies in tier 1 that passes vouch for.' }),
    trustAgeS: seconds.meta({ description: 'Since Redis was last made fresh, of the worker that is worst off.' }),
    changes: z
      .object({ seen: count, p99AtMostS: seconds })
      .meta({ description: 'From the commit of a change until a process has it: 99 of 100 within so many seconds.' }),
    clicks: z.object({ accepted: count, persisted: count, dropped: count, spooled: count }),
    staleAnswersFound: count,
    shed: count,
    upkeepFailures: count,
    logDropped: count,
    workerRestarts: count,
    links: z
      .object({ grafana: url, runbook: url })
      .meta({ description: 'GRAFANA_URL and RUNBOOK_URL; null: not set.' }),
  })
  .meta({ id: 'System' })

export const readSystem = operation('readSystem', 'get', '/system', 'owner', {
  summary: 'How the server is',
  about: 'Of all workers together, as `/metrics` of the ops port has it, and each worker with its breakers. Ask every few seconds at most: it costs what a scrape costs.',
  answer: { status: 200, what: 'The figures of this moment.', schema: system },
}) // prettier-ignore

const build = readBuild()

interface SystemDeps {
  readonly config: Pick<Config, 'frontDoor' | 'grafanaUrl' | 'runbookUrl'>
  /** Rejects when nobody says so in time. */
  readonly ask: () => Promise<SystemReport>
}

export const systemRoutes = ({ config, ask }: SystemDeps): Route[] => [
  route(readSystem, async () => {
    const report = await ask().catch((error: unknown) => {
      throw unavailable('The primary process does not answer: try again in a moment.', error)
    })
    const links = { grafana: config.grafanaUrl ?? null, runbook: config.runbookUrl ?? null }
    return { body: { ...build, node: process.versions.node, frontDoor: config.frontDoor, ...report, links } }
  }),
]
