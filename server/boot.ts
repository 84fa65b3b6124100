// What a database needs before this process may use it. The same steps for every process and every start, one process at
// a time; whatever is there already is left as it is.
import type { Log } from './api/http.ts'
import { limits, type Config } from './config.ts'
import { withDatabaseLock } from './connections/migrate.ts'
import { adoptDatabase } from './links/adopt.ts'
import type { Minting, Preparation } from './links/change-link.ts'
import { settleSalt, type Salt } from './links/salt.ts'
import { shortcodes } from './links/shortcode.ts'
import { ownerKeyFile, settleOwnerKey } from './tenants/owner-key.ts'

export type BootConfig = Pick<Config, 'databaseUrl' | 'ownerKey' | 'codeSalt' | 'dataDir'>

/** Plain data: the primary process finds it out, and sends it to its workers. */
export type BootResult = Salt

/**
 * Migrations, then the database's identity, the salt and the owner key.
 * A ConfigError is for a person to mend; where Postgres cannot be reached, it is for the caller to try again.
 */
export function boot(config: BootConfig, log: Log): Promise<BootResult> {
  const onInfo = (message: string): void => {
    log.info({}, message)
  }
  return withDatabaseLock({ url: config.databaseUrl, connectMs: limits.dbConnectMs, onInfo }, async (sql) => {
    const adoption = await adoptDatabase(sql)
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
    return salt
  })
}

/** What this process mints with, and the way to boot again when the database turns out to be a restored copy. */
export function preparation(config: BootConfig, log: Log, booted: BootResult): Preparation {
  const minting = ({ salt, saltGeneration }: BootResult): Minting => ({ mint: shortcodes(salt), saltGeneration })
  let current = minting(booted)
  let underWay: Promise<Minting> | undefined
  const again = async (): Promise<Minting> => (current = minting(await boot(config, log)))
  return {
    current: () => current,
    // Those who ask at the same time share one.
    prepare: () =>
      (underWay ??= again().finally(() => {
        underWay = undefined
      })),
  }
}
