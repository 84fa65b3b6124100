// npm run migrate: what a start does to the tables of the database, for those whose server runs as a role that may not.
import './node-version.js'
import { ConfigError, loadConfig } from './config.ts'
import { limits } from './limits.ts'
import { buildIndexes } from './connections/indexes.ts'
import { withDatabaseLock } from './connections/migrate.ts'
import { directDatabase } from './connections/target.ts'
import { chooseIndexes } from './links/upkeep.ts'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

try {
  const terms = { ...directDatabase(loadConfig(process.env)), connectMs: 5000 }
  await withDatabaseLock({ ...terms, onInfo: say }, () => Promise.resolve())
  const built = await buildIndexes({ ...terms, buildMs: limits.indexMs }, chooseIndexes)
  if (built.length > 0) say(`built indexes: ${built.join(', ')}`)
  say('The database has all tables and indexes of this version.')
} catch (error) {
  if (!(error instanceof ConfigError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
