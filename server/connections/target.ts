// Where the database is, as the settings say. A URL that stands in a file is read again for each connection.
import { again, type Config } from '../config.ts'
import type { DatabaseTarget } from './parameters.ts'

export type DatabaseConfig = Pick<Config, 'databaseUrl'> & Partial<Pick<Config, 'databaseDirectUrl' | 'files'>>

/** For the work of every day. Where the direct URL leads to another host or port, there is a pooler at this one. */
export const database = (config: DatabaseConfig): DatabaseTarget => ({
  url: () => again(config, 'databaseUrl', config.databaseUrl),
  pooled: config.databaseDirectUrl !== undefined && placeOf(config.databaseDirectUrl) !== placeOf(config.databaseUrl),
  setting: 'DATABASE_URL',
})

/** For what needs a session of its own, or the rights to change tables: migrations, indexes. */
export function directDatabase(config: DatabaseConfig): DatabaseTarget {
  const { databaseDirectUrl } = config
  if (databaseDirectUrl === undefined) return { ...database(config), pooled: false }
  return { url: () => again(config, 'databaseDirectUrl', databaseDirectUrl), setting: 'DATABASE_DIRECT_URL' }
}

/** For what may be read from a standby; behind a pooler, if the primary is. */
export const nearDatabase = (config: DatabaseConfig, databaseReadUrl: string): DatabaseTarget => ({
  url: () => again(config, 'databaseReadUrl', databaseReadUrl),
  pooled: database(config).pooled ?? false,
  setting: 'DATABASE_READ_URL',
})

function placeOf(url: string): string {
  const { hostname, port, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? hostname}:${searchParams.get('port') ?? (port || '5432')}`
}
