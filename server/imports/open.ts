// Imports in one worker, put together: files that come to it, and the part of the work that it does.
import type { Route } from '../api/operation.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Databases } from '../connections/databases.ts'
import { openPostgres } from '../connections/postgres.ts'
import { database } from '../connections/target.ts'
import { bodyBounds, importRoutes, type ImportsApiDeps } from './api.ts'
import { startImporter, type JobDeps } from './job.ts'
import type { Places } from './places.ts'

interface ImportsDeps
  extends Pick<ImportsApiDeps, 'names' | 'directory' | 'cursors'>, Pick<JobDeps, 'quota' | 'preparation' | 'isFresh'> {
  readonly databases: Databases
  readonly places: Places
}

export function openImports({ config, troubles, onClose }: Ground, deps: ImportsDeps): Route[] {
  const { databases } = deps
  const importer = startImporter({
    ...deps,
    tiers: config.tiers,
    sql: databases.api,
    onTrouble: (err, what) => troubles.warn({ err }, what),
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
  onClose(importer.stop)
  return importRoutes({
    ...deps,
    tiers: config.tiers,
    db: databases.api,
    bounds: bodyBounds(config.importMaxMb),
    onQueued: importer.soon,
  })
}
