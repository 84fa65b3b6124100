// Imports in one worker, put together: files that come to it, and the part of the work that it does.
import type { Route } from '../api/operation.ts'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Databases } from '../connections/databases.ts'
import { openPostgres } from '../connections/postgres.ts'
import { database } from '../connections/target.ts'
import { bodyBounds, importRoutes, type ImportsApiDeps } from './api.ts'
import { startImporter, type JobDeps } from './job.ts'
import type { Places } from './places.ts'

interface ImportsDeps
  extends
    Pick<ImportsApiDeps, 'names' | 'directory' | 'cursors'>,
    Pick<JobDeps, 'quota' | 'preparation' | 'isFresh' | 'onTrouble'> {
  readonly databases: Databases
  readonly places: Places
}

export interface Imports {
  readonly routes: readonly Route[]
  stop(): Promise<void>
}

export function openImports(config: Config, deps: ImportsDeps): Imports {
  const { databases } = deps
  const importer = startImporter({
    ...deps,
    tiers: config.tiers,
    sql: databases.api,
    open: () =>
      openPostgres({
        ...database(config),
        name: 'quicklink-imports',
        maxConnections: 1,
        connectMs: limits.dbConnectMs,
        queryMs: limits.importStepMs,
        onError: () => undefined,
      }),
  })
  return {
    routes: importRoutes({
      ...deps,
      tiers: config.tiers,
      db: databases.api,
      bounds: bodyBounds(config.importMaxMb),
      onQueued: importer.soon,
    }),
    stop: importer.stop,
  }
}
