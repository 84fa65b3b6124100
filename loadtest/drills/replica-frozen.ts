import { setTimeout as pause } from 'node:timers/promises'
import type { Appliance } from './engine/appliance.ts'
import type { Drill, DrillContext, DrillGroup } from './engine/drill.ts'
import { clockMs } from './engine/load.ts'
import { cold, disableDoomed, doomed, hot } from './links.ts'
import { bothDeadlinesMs, p99Below } from './promises.ts'

/** No cache knows them, so that each is looked up. They are changed by hand in Postgres while the standby stands still. */
const moved: DrillGroup = { name: 'moved', share: 4, prefix: 'moved-', count: 1500, pick: 'uniform', cold: true }
const movedUrl = 'https://example.org/moved'

type Standby = NonNullable<Appliance['standby']>

const standbyOf = ({ appliance }: DrillContext): Standby => {
  if (!appliance.standby) throw new Error('this drill needs a standby')
  return appliance.standby
}

async function move({ appliance, load, mark }: DrillContext): Promise<void> {
  const codes = Array.from({ length: moved.count }, (_, n) => `${moved.prefix}${n}`)
  const beganMs = clockMs()
  for (const code of codes) load.beside(code, beganMs, movedUrl)
  // Few at a time: of a long list nobody reads who is in it, and then no answer of the standby counts.
  for (let at = 0; at < codes.length; at += 30) {
    const part = codes.slice(at, at + 30)
    await appliance.sql.query('update links set url = $1 where code = any ($2)', [movedUrl, part])
    const doneMs = clockMs()
    for (const code of part) load.changed(code, doneMs, movedUrl)
    await pause(50)
  }
  mark(`${moved.count} destinations are changed in Postgres, by hand`)
}

export const replicaFrozen: Drill = {
  name: 'replica-frozen',
  claim:
    'The standby near by stands still, and answers with what was. Links are changed and disabled meanwhile. A second later nobody is led to what was before, and no redirect fails.',
  settings: { standby: true },
  notInDocker: 'the compose file has one Postgres',
  load: { rate: 200, groups: [hot, cold, doomed, moved] },
  fault: {
    what: 'the standby replays no more of what the primary writes',
    inject: async (context) => void (await standbyOf(context).sql.query('select pg_wal_replay_pause()')),
    landed: {
      what: 'a stranger is told by the standby that its replay is paused, and the primary has written on',
      async check(context) {
        const [there] = await standbyOf(context).sql.query<{ is: string; lsn: string }>(
          'select pg_get_wal_replay_pause_state() as is, pg_last_wal_replay_lsn()::text as lsn',
        )
        const [here] = await context.appliance.sql.query<{ isAhead: boolean }>(
          'select pg_current_wal_lsn() > $1::pg_lsn as "isAhead"',
          [there?.lsn],
        )
        return there?.is === 'paused' && here?.isAhead === true
      },
    },
    // Longer than REPLICA_LAG_MAX_S: it is asked at first, and not any more.
    seconds: 10,
    fixed: true,
  },
  async meanwhile(context) {
    await move(context)
    await disableDoomed(context)
  },
  during: [
    {
      what: 'redirects to where a changed link leads now',
      figure: ({ fault }) => fault.of('moved').answers.filter(({ location }) => location === movedUrl).length,
      atLeast: 100,
      evidence: true,
    },
    {
      what: 'the standby was behind by',
      figure: ({ noted }) => noted('behind'),
      unit: 's',
      atLeast: 5,
      evidence: true,
    },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  heal: {
    what: 'it replays again',
    async undo(context) {
      const lag = (await context.appliance.metrics()).filter(({ name }) => name === 'quicklink_replica_lag_seconds')
      context.note('behind', Math.max(0, ...lag.map(({ value }) => value)))
      await standbyOf(context).sql.query('select pg_wal_replay_resume()')
    },
    healed: {
      what: 'the standby has what the primary had then',
      async check(context) {
        const [there] = await standbyOf(context).sql.query<{ url: string }>('select url from links where code = $1', [
          `${moved.prefix}${moved.count - 1}`,
        ])
        return there?.url === movedUrl
      },
    },
  },
  after: [],
  alerts: [],
  mayRing: ['QuickLinkReplicaLag'],
}
