// Pools of their own: the API cannot starve redirects, and neither of them the passes.
import { limits, type Config } from '../config.ts'
import { openPostgres, type Postgres, type PoolCounts } from './postgres.ts'

export interface Databases {
  readonly redirects: Postgres
  readonly api: Postgres
  readonly passes: Postgres
  counts(): PoolCounts
  close(): Promise<void>
}

export function openDatabases(config: Config, onError: (error: Error) => void): Databases {
  const open = (name: string, maxConnections: number, queryMs: number, onlyIndexes = true): Postgres =>
    openPostgres({
      url: config.databaseUrl,
      name: `quicklink-${name}`,
      maxConnections,
      connectMs: limits.dbConnectMs,
      queryMs,
      onlyIndexes,
      onError,
    })
  const redirects = open('redirects', limits.dbRedirectConnections, config.dbTimeoutMs)
  const api = open('api', limits.dbApiConnections, config.apiDbTimeoutMs, false)
  const passes = open('passes', 1, limits.passStepMs)
  const pools = [redirects, api, passes]
  // Open before they are needed: a lookup that has to connect first is late.
  for (let n = 0; n < limits.dbRedirectConnections; n++) redirects.query('select 1').catch(() => undefined)
  return {
    redirects,
    api,
    passes,
    counts: () =>
      pools
        .map((pool) => pool.counts())
        .reduce((a, b) => ({ active: a.active + b.active, idle: a.idle + b.idle, waiting: a.waiting + b.waiting })),
    async close() {
      await Promise.all(pools.map((pool) => pool.close()))
    },
  }
}
