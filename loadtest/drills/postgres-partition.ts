import type { Drill } from './engine/drill.ts'
import type { Phase, Observed } from './engine/observed.ts'
import { throughProxy, unreachable } from './faults.ts'
import { cold, hot } from './links.ts'
import { closesWithin, consequences, opensWithin, p99Below, trustedWithin } from './promises.ts'

const lifeS = 6
const staleS = 14
/** A copy lives up to 8 % longer or shorter than it is told. */
const longest = 1.08 * lifeS

/** Of the fault, by seconds since it began. */
function between({ fault }: Observed, fromS: number, toS: number): Phase['answers'] {
  const since = (dueMs: number): number => (dueMs - fault.fromMs) / 1000
  return fault.of('hot').answers.filter(({ dueMs }) => since(dueMs) >= fromS && since(dueMs) < toS)
}

export const postgresPartition: Drill = {
  name: 'postgres-partition',
  claim: `The network swallows everything to and from Postgres. Hot links live on past their ${lifeS} s, as stale answers, for ${staleS} s more and not for ever.`,
  settings: {
    env: { LINK_TTL_S: String(lifeS), NOT_FOUND_TTL_S: '3', STALE_MAX_S: String(staleS) },
  },
  load: {
    rate: 300,
    groups: [
      { ...hot, count: 40, pick: 'uniform', may: [503] },
      { ...cold, may: [503] },
    ],
  },
  ...throughProxy(
    'postgres',
    { mode: 'black-hole', undo: 'strand' },
    {
      what: 'a black hole between QuickLink and Postgres',
      seconds: longest + staleS + 6,
      fixed: true,
      landed: unreachable('postgres'),
    },
    'the network is back; connections from before stay open, and dead',
  ),
  during: [
    opensWithin('postgres', 2000),
    {
      what: `hot links answered 503 within ${staleS - 1} s, most of them after their own end`,
      figure: (observed) => between(observed, 0, staleS - 1).filter(({ status }) => status !== 302).length,
      atMost: 0,
    },
    {
      what: 'lookups answered by a stale copy',
      figure: ({ grewDuringFault }) => grewDuringFault('quicklink_lookups_total', { source: 'stale' }),
      atLeast: 100,
      evidence: true,
    },
    {
      what: `redirects by copies ${staleS} s past their end`,
      figure: (observed) => between(observed, longest + staleS + 1, Infinity).filter(({ status }) => status === 302).length,
      atMost: 0,
    },
    p99Below('p99 of hot links', ({ fault }) => fault.of('hot'), 260),
  ],
  after: [closesWithin('postgres', 5000), trustedWithin(5000)],
  alerts: ['QuickLinkPostgresDown', 'QuickLinkUnavailableAnswers'],
  mayRing: consequences.postgres,
} // prettier-ignore
