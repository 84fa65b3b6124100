import { setTimeout as pause } from 'node:timers/promises'
import type { Drill, DrillContext } from './engine/drill.ts'
import { takesAtLeast, throughProxy } from './faults.ts'
import { cold, hot, warm } from './links.ts'
import { closesWithin, consequences, opensWithin, p99Below, trustedWithin } from './promises.ts'

const slowS = 6
const lockedS = 6

/** The links are locked, as by a careless ALTER TABLE; meanwhile, who hangs on to Postgres. */
async function lockLinks({ appliance, note, mark }: DrillContext): Promise<void> {
  mark('instead of the delay: an exclusive lock on the links')
  let most = 0
  let orphans = 0
  await appliance.sql.transaction(async (sql) => {
    await sql.query('lock table links in access exclusive mode')
    const endMs = performance.now() + lockedS * 1000
    while (performance.now() < endMs) {
      // Not in this transaction: it sees others as they were when it first looked.
      const all = await appliance.sql.query<{ name: string; query: string; old: boolean }>(
        `select application_name as name, left(query, 80) as query,
           state = 'active' and clock_timestamp() - query_start > interval '3 s' as old
         from pg_stat_activity where usename = 'quicklink' and application_name <> 'drill'`,
      )
      const old = all.filter((each) => each.old)
      if (orphans === 0) for (const { name, query } of old) mark(`left behind by ${name}: ${query}`)
      most = Math.max(most, all.length)
      orphans = Math.max(orphans, old.length)
      await pause(200)
    }
  })
  mark('the lock is released')
  note('backends', most)
  note('orphans', orphans)
}

export const postgresSlow: Drill = {
  name: 'postgres-slow',
  claim:
    'Each answer of Postgres takes 500 ms more, then its links are locked. Nobody waits longer than 100 ms, and no statement is left behind.',
  load: { rate: 300, groups: [hot, warm, { ...cold, may: [503] }] },
  ...throughProxy(
    'postgres',
    { mode: 'delay', ms: 500 },
    {
      what: '500 ms are added to each answer of Postgres; then the table of the links is locked',
      seconds: slowS + lockedS,
      fixed: true,
      landed: takesAtLeast('postgres', 500),
    },
    'the delay is taken away; the lock was released before',
  ),
  async meanwhile(context) {
    await pause(slowS * 1000)
    await context.appliance.proxies.set('postgres', 'pass')
    await lockLinks(context)
  },
  during: [
    opensWithin('postgres', 2000),
    {
      what: '503 for links that no cache knows',
      figure: ({ fault }) => fault.of('cold').count(503),
      atLeast: 20,
      evidence: true,
    },
    p99Below('p99 of the 503s', ({ fault }) => fault.of('cold'), 260),
    p99Below('p99 of links in a cache', ({ fault }) => fault.of('warm'), 260),
    {
      what: 'connections to Postgres at most, 10 for each worker and some for health',
      figure: ({ noted }) => noted('backends'),
      atMost: 25,
    },
    { what: 'statements that ran on for more than 3 s', figure: ({ noted }) => noted('orphans'), atMost: 0 },
  ],
  after: [closesWithin('postgres', 5000), trustedWithin(5000)],
  alerts: ['QuickLinkUnavailableAnswers'],
  mayRing: consequences.postgres,
}
