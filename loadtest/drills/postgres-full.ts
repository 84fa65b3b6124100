import { fullDisk } from './disks.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { cold, hot, warm } from './links.ts'
import { bothDeadlinesMs, closesWithin, consequences, p99Below, trustedWithin } from './promises.ts'

const creates = 400
const urlOf = (n: number): string => `https://example.org/${n}-on-a-full-disk/${'x'.repeat(4000)}`

/** Until there is no room for another one in what the files have left. */
async function createMany({ appliance, note, mark }: DrillContext): Promise<void> {
  const statuses: number[] = []
  for (let n = 0; n < creates; n++) statuses.push((await appliance.api('POST', '/links', { url: urlOf(n) })).status)
  const refused = statuses.filter((status) => status === 503).length
  note('made', statuses.filter((status) => status === 201).length)
  note('refused', refused)
  note('otherwise', statuses.filter((status) => status !== 201 && status !== 503).length)
  mark(`${refused} of ${creates} creates found no room`)
}

export const postgresFull: Drill = {
  name: 'postgres-full',
  claim: 'The disk of Postgres is full. Every redirect goes on; creates are 503 or durable and none is half done, and clicks wait on QuickLink’s own disk until there is room.',
  settings: { smallDisk: 'postgres' },
  load: { rate: 300, groups: [hot, warm, cold] },
  ...fullDisk('Postgres', 12),
  meanwhile: createMany,
  during: [
    { what: 'creates that were refused with 503', figure: ({ noted }) => noted('refused'), atLeast: 1 },
    { what: 'creates that were answered otherwise than 201 or 503', figure: ({ noted }) => noted('otherwise'), atMost: 0 },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  recovered: {
    what: 'the links can be counted',
    async check({ appliance, note }) {
      const [row] = await appliance.sql.query<{ n: number }>("select count(*)::int as n from links where url like '%-on-a-full-disk/%'")
      note('there', row?.n ?? NaN)
      return true
    },
  },
  after: [
    { what: 'links that are there, less those that were acknowledged', figure: ({ noted }) => noted('there') - noted('made'), atMost: 0, atLeast: 0 },
    closesWithin('postgres', 5000),
    trustedWithin(5000),
  ],
  alerts: [],
  mayRing: consequences.postgres,
} // prettier-ignore
