// npm run rotate-salt: new links get their codes from another salt. Old links keep theirs. CODE_SALT, if set, is the new
// salt, and every start from now on needs it; without it one is generated and kept in the database.
import { ConfigError, loadConfig } from '../config.ts'
import { limits } from '../limits.ts'
import { withDatabaseLock } from '../connections/migrate.ts'
import { directDatabase } from '../connections/target.ts'
import { rotateSalt } from './salt.ts'

try {
  const config = loadConfig(process.env)
  const { saltGeneration } = await withDatabaseLock(
    {
      ...directDatabase(config),
      connectMs: limits.dbConnectMs,
      onInfo: (message) => process.stdout.write(`${message}\n`),
    },
    (sql) => rotateSalt(sql, config.codeSalt),
  )
  process.stdout.write(
    `The salt is now generation ${saltGeneration}: restart every replica, which mints with the old one until then.\n`,
  )
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
