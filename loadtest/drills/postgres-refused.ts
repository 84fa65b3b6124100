import type { Drill, Promised } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'
import { killed } from './faults.ts'
import { cold, hot, warm } from './links.ts'
import { closesWithin, consequences, opensWithin, p99Below, trustedWithin } from './promises.ts'

const refusedUrl = 'https://example.org/created-while-postgres-was-away'

/** From the heal until a link that is in no cache led somewhere. */
const firstCold = ({ moments, recovery, after }: Observed): number => {
  const answers = [...recovery.answers, ...after.answers].filter(({ group, status }) => group === 'cold' && status === 302)
  return Math.min(...answers.map(({ dueMs, ms }) => dueMs + ms)) - moments.healedMs
} // prettier-ignore

const creates: Promised[] = [
  { what: 'status of a create while Postgres is away', figure: ({ noted }) => noted('create'), atMost: 503, atLeast: 503 },
  { what: 'links of that create when Postgres is back', figure: ({ noted }) => noted('half done'), atMost: 0 },
] // prettier-ignore

export const postgresRefused: Drill = {
  name: 'postgres-refused',
  claim: 'Postgres is killed. Links that a cache knows go on, others and creates are 503 in time, and all is back within 2 s.',
  load: { rate: 300, groups: [hot, warm, { ...cold, may: [503] }] },
  ...killed('postgres', 12),
  async meanwhile({ appliance, note }) {
    note('create', (await appliance.api('POST', '/links', { url: refusedUrl })).status)
  },
  recovered: {
    what: 'the links can be counted',
    async check({ appliance, note }) {
      const [row] = await appliance.sql.query<{ n: number }>('select count(*) as n from links where url = $1', [refusedUrl])
      note('half done', row?.n ?? NaN)
      return true
    },
  },
  during: [
    opensWithin('postgres', 1000),
    {
      what: '503 for links that no cache knows',
      figure: ({ fault }) => fault.of('cold').count(503),
      atLeast: 20,
      evidence: true,
    },
    ...creates,
    p99Below('p99 of links in a cache', ({ fault }) => fault.of('warm'), 160),
    p99Below('p99 of the 503s', ({ fault }) => fault.of('cold'), 260),
  ],
  after: [
    closesWithin('postgres', 2000),
    { what: 'first link out of Postgres after the heal', figure: firstCold, unit: 'ms', atMost: 2000 },
    trustedWithin(3000),
  ],
  alerts: ['QuickLinkPostgresDown', 'QuickLinkUnavailableAnswers'],
  mayRing: consequences.postgres,
} // prettier-ignore
