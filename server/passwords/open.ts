// Passwords of links in one worker: the thread that hashes, and who lets it.
import type { Breaker } from '../connections/breaker.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import { countersBy, countInMemory, insured } from '../rates/counters.ts'
import { createGuard } from './guard.ts'
import { Hasher } from './hasher.ts'

export function openPasswords(
  { config, metrics, guesses, onClose }: Ground,
  deps: { readonly sql: Sql; readonly breaker: Breaker },
) {
  const hasher = new Hasher()
  onClose(() => hasher.close())
  const counters = insured(countersBy(guesses), countersBy(countInMemory(limits.guessWindowS, limits.guessers)))
  const onBlocked = (): void => metrics.rateLimited.inc({ tier: 'address' })
  return { hasher, guard: createGuard({ ...deps, counters, hasher, config, onBlocked }) }
}
