// How hits ask Postgres: as a redirect does, through its breaker and within its deadline.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Sql } from '../connections/postgres.ts'
import { grantHits, readGranted, returnHits, type Grant, type Granted, type Step } from './hits-store.ts'

export interface AskPostgres {
  grant(linkId: number, step: Step, seen: number | null): Promise<Grant>
  granted(linkId: number): Promise<Granted>
  giveBack(linkId: number, month: string, units: number): Promise<void>
}

export function askPostgres(sql: Sql, breaker: Pick<Breaker, 'run'>, timeoutMs: number): AskPostgres {
  const ask = <T>(work: () => Promise<T>): Promise<T> => breaker.run(() => withDeadline(work(), timeoutMs, 'Postgres'))
  return {
    grant: (linkId, step, seen) => ask(() => grantHits(sql, linkId, step, seen)),
    granted: (linkId) => ask(() => readGranted(sql, linkId)),
    async giveBack(linkId, month, units) {
      await ask(() => returnHits(sql, linkId, month, units))
    },
  }
}
