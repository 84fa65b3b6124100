// Visits of a worker, as its settings have them. Undefined where nothing but clicks is counted.
import type { Ground } from '../ground.ts'
import type { Sql } from '../connections/postgres.ts'
import { Countries } from './countries.ts'
import { Salts } from './salts.ts'
import { Visits } from './visits.ts'

export function openVisits({ config, metrics, troubles, onClose }: Ground, sql: Sql) {
  if (config.visits === 'off') return undefined
  const onError = (err: unknown, what: string): void => troubles.warn({ err }, what)
  const { geoipFile: file } = config
  const countries = file === undefined ? undefined : new Countries({ file, onError })
  const salts = new Salts({ sql, onError })
  onClose(() => {
    countries?.stop()
    salts.stop()
  })
  return new Visits(config, {
    countries,
    salts,
    onFolded(detailed, weighted, dropped, seconds) {
      metrics.visits.detailed.inc(detailed)
      metrics.visits.weighted.inc(weighted)
      metrics.visits.ringDropped.inc(dropped)
      metrics.visits.seconds.inc(seconds)
    },
  })
}
