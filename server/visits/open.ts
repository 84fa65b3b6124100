// Visits of a worker, as its settings have them. Undefined where nothing but clicks is counted.
import type { Config } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import { Countries } from './countries.ts'
import { Salts } from './salts.ts'
import { Visits, type VisitsDeps } from './visits.ts'

interface OpenDeps extends Pick<VisitsDeps, 'onFolded'> {
  readonly sql: Sql
  readonly onError: (error: unknown, what: string) => void
}

export function openVisits(config: Config, { sql, onFolded, onError }: OpenDeps) {
  if (config.visits === 'off') return undefined
  const { geoipFile: file } = config
  const countries = file === undefined ? undefined : new Countries({ file, onError })
  const salts = new Salts({ sql, onError })
  const visits = new Visits(config, { countries, salts, onFolded })
  return {
    onVisit: visits.onVisit,
    fold: visits.fold.bind(visits),
    stop(): void {
      countries?.stop()
      salts.stop()
    },
  }
}
