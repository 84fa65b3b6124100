// Pools of their own, so that no kind of work can starve another: not the API redirects, nor limits, nor clicks, and none
// of them the passes.
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { DatabaseTarget } from './parameters.ts'
import { openPostgres, type PoolCounts, type Postgres } from './postgres.ts'
import { database, nearDatabase } from './target.ts'

/** Of a worker: 11. With 8 of them and the primary's 3 (health, upkeep, boot) 91; Postgres' default leaves 97 to us: 4 of them to exports. */
export const poolSizes = {
  redirects: limits.dbRedirectConnections,
  /** Keys, reads and writes of the API. */
  api: limits.dbApiConnections,
  /** What decides who may do how much: tenants, quotas. */
  limits: limits.dbLimitsConnections,
  clicks: limits.dbClicksConnections,
  passes: 1,
} satisfies Record<string, number>

export const connectionsPerWorker = Object.values<number>(poolSizes).reduce((sum, size) => sum + size)

export type Databases = ReturnType<typeof openDatabases>

/** To a standby near by, of a worker. Figures are asked for now and then. */
export const nearPoolSizes = { redirects: limits.dbRedirectConnections, figures: 2, passes: 1 } satisfies Record<
  string,
  number
>

export function openDatabases(config: Config, onError: (error: Error) => void) {
  const opener =
    <Name extends string>(target: DatabaseTarget, sizes: Record<Name, number>, server: string) =>
    (name: Name, queryMs: number, onlyIndexes = false): Postgres =>
      openPostgres({
        ...target,
        name: `${server}-${name}`,
        maxConnections: sizes[name],
        // Whoever may wait longer for an answer may wait as long for a connection.
        connectMs: Math.max(limits.dbConnectMs, queryMs),
        queryMs,
        onlyIndexes,
        onError,
      })
  const open = opener(database(config), poolSizes, 'quicklink')
  const pools = {
    redirects: open('redirects', config.dbTimeoutMs, true),
    api: open('api', config.apiDbTimeoutMs),
    limits: open('limits', config.apiDbTimeoutMs),
    clicks: open('clicks', config.apiDbTimeoutMs),
    passes: open('passes', limits.passStepMs, true),
  }
  const openNear = (url: string) => {
    const open = opener(nearDatabase(config, url), nearPoolSizes, 'quicklink-near')
    return {
      redirects: open('redirects', config.dbTimeoutMs, true),
      figures: open('figures', config.apiDbTimeoutMs),
      passes: open('passes', limits.passStepMs / 2, true),
    }
  }
  const near = config.databaseReadUrl === undefined ? undefined : openNear(config.databaseReadUrl)
  const all = [...Object.values(pools), ...Object.values(near ?? {})]
  // Open before they are needed: a lookup that has to connect first is late.
  for (const redirects of [pools.redirects, near?.redirects])
    for (let n = 0; n < poolSizes.redirects; n++) redirects?.query('select 1').catch(() => undefined)
  return {
    ...pools,
    /** Undefined: there is no standby. */
    near,
    counts: (): PoolCounts =>
      all
        .map((pool) => pool.counts())
        .reduce((a, b) => ({ active: a.active + b.active, idle: a.idle + b.idle, waiting: a.waiting + b.waiting })),
    async close(): Promise<void> {
      await Promise.all(all.map((pool) => pool.close()))
    },
  }
}
