// What a database needs before this process may use it. The same steps for every process and every start, one process at
// a time; whatever is there already is left as it is.
import { ConfigError, type Config } from './config.ts'
import { limits } from './limits.ts'
import { withDatabaseLock } from './connections/migrate.ts'
import { sqlState, type Sql } from './connections/postgres.ts'
import { directDatabase, type DatabaseConfig } from './connections/target.ts'
import { adoptDatabase, postgresRunningSince } from './links/adopt.ts'
import type { Minting, Preparation } from './links/create-link.ts'
import { readHighWater } from './links/high-water.ts'
import { settleSalt, type Salt } from './links/salt.ts'
import { shortcodes } from './links/shortcode.ts'
import type { Lines } from './telemetry/sparing.ts'
import { ownerKeyFile, settleOwnerKey } from './tenants/owner-key.ts'

export type BootConfig = DatabaseConfig & Pick<Config, 'ownerKey' | 'codeSalt' | 'dataDir' | 'visitsTz'>

/** Plain data: the primary process finds it out, and sends it to its workers. */
export interface BootResult extends Salt {
  readonly postgresRunningSince: string
}

/**
 * Migrations, then the database's identity, the salt and the owner key.
 * A ConfigError is for a person to mend; where Postgres cannot be reached, it is for the caller to try again.
 * `goneBack`: the identity of a database that a Redis has seen a later state of.
 */
export function boot(config: BootConfig, log: Lines, goneBack?: string): Promise<BootResult> {
  const onInfo = (message: string): void => log.info({}, message)
  return withDatabaseLock({ ...directDatabase(config), connectMs: limits.bootConnectMs, onInfo }, async (sql) => {
    await probeTimeZone(sql, config.visitsTz)
    const highWater = await readHighWater(config.dataDir)
    const adoption = await adoptDatabase(sql, { highWater, goneBack })
    if (adoption === 'restored')
      log.warn({}, 'this database is a restored copy: the shortcode counter has jumped ahead')
    const salt = await settleSalt(sql, config.codeSalt)
    // Last, because it also writes a file: whatever can be refused has been refused by now.
    const ownerKey = await settleOwnerKey(sql, config.ownerKey, config.dataDir)
    const file = ownerKeyFile(config.dataDir)
    if (ownerKey === 'generated') log.info({ file }, 'generated the owner key')
    if (ownerKey === 'stale') {
      log.warn({ file }, "this file does not hold this database's owner key: to replace that key, set OWNER_KEY")
    }
    return { ...salt, postgresRunningSince: await postgresRunningSince(sql) }
  })
}

/** The lists of time zones of Node and of Postgres are not of the same day. */
async function probeTimeZone(sql: Sql, name: string): Promise<void> {
  try {
    await sql.query('select now() at time zone $1', [name])
  } catch (error) {
    if (sqlState(error) !== '22023') throw error
    throw new ConfigError(
      `VISITS_TZ is ${name}, a time zone that this Postgres does not know: name another, like UTC or Europe/Berlin.`,
    )
  }
}

/** What this process mints with, and the way to boot again when the database may be a restored copy. */
export function preparation(config: BootConfig, log: Lines, booted: BootResult): Preparation {
  const minting = ({ salt, ...rest }: BootResult): Minting => ({
    ...rest,
    mint: shortcodes(salt),
    counters: [],
  })
  let current = minting(booted)
  let underWay: Promise<Minting> | undefined
  const again = async (goneBack?: string): Promise<Minting> => (current = minting(await boot(config, log, goneBack)))
  return {
    current: () => current,
    // Those who ask at the same time share one.
    prepare: (goneBack) => (underWay ??= again(goneBack).finally(() => (underWay = undefined))),
  }
}
