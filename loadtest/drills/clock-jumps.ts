import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import type { Clock } from '../faults/clock.ts'
import type { Drill, DrillContext, DrillGroup } from './engine/drill.ts'
import { clockMs } from './engine/load.ts'
import { cold, hot, warm } from './links.ts'
import { bothDeadlinesMs, p99Below } from './promises.ts'

const clockOf = ({ appliance }: DrillContext): Clock => {
  if (!appliance.clock) throw new Error('this drill needs a clock that can jump')
  return appliance.clock
}

const hour = 3600
/** They end half an hour from now, by the clock of Postgres; and half an hour ago. */
const alive: DrillGroup = { name: 'alive', share: 2, prefix: 'alive-', count: 20, pick: 'uniform' }
const ended: DrillGroup = { name: 'ended', share: 2, prefix: 'ended-', count: 20, pick: 'uniform', cold: true }

async function setEnds({ appliance, load }: DrillContext): Promise<void> {
  const end = async (prefix: string, when: string): Promise<void> => {
    await appliance.sql.query(`update links set expires_at = now() ${when} where code like $1`, [`${prefix}%`])
  }
  const nowMs = clockMs()
  for (let n = 0; n < ended.count; n++) load.changed(`${ended.prefix}${n}`, nowMs, 404)
  await end(alive.prefix, "+ interval '30 minutes'")
  await end(ended.prefix, "- interval '30 minutes'")
}

/** By the Date of its own answers. */
async function aheadS({ appliance }: DrillContext): Promise<number> {
  const { headers } = await ask(appliance.opsUrl, '/livez', { timeoutMs: 1000 })
  return (Date.parse(headers.date ?? '') - Date.now()) / 1000
}

export const clockJumps: Drill = {
  name: 'clock-jumps',
  claim: 'The clock of QuickLink’s machine jumps an hour ahead, and then an hour behind. Nothing ends early, nothing that has ended comes back, and Redis stays trusted: what counts is the clock of Postgres.',
  settings: { clock: true },
  notInDocker: 'the clock of a container is that of the machine',
  load: { rate: 300, groups: [hot, warm, cold, alive, ended] },
  prepare: setEnds,
  fault: {
    what: 'the clock of QuickLink is an hour ahead, and then an hour behind',
    inject: (context) => Promise.resolve(clockOf(context).set(hour)),
    landed: { what: 'its answers are dated an hour from now', check: async (context) => Math.abs((await aheadS(context)) - hour) < 5 },
    seconds: 12,
    fixed: true,
  },
  async meanwhile(context) {
    await pause(6000)
    clockOf(context).set(-hour)
    context.mark('the clock is an hour behind')
    await pause(5000)
    context.note('behind', -(await aheadS(context)))
  },
  during: [
    { what: 'how far it was behind then', figure: ({ noted }) => noted('behind'), unit: 's', atLeast: hour - 5 },
    {
      what: 'looks at which a worker did not trust Redis',
      figure: ({ watch, moments: { injectedMs, healedMs } }) =>
        watch.looks.filter(({ atMs, workers }) => atMs > injectedMs && atMs < healedMs && workers.some(({ redis }) => !redis.trusted)).length,
      atMost: 0,
    },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  heal: {
    what: 'the clock is right again',
    undo: (context) => Promise.resolve(clockOf(context).set(0)),
    healed: { what: 'its answers are dated now', check: async (context) => Math.abs(await aheadS(context)) < 5 },
  },
  after: [
    { what: 'requests for links that had ended', figure: ({ all }) => all.of(ended.name).answers.length, atLeast: 100, evidence: true },
  ],
  alerts: [],
} // prettier-ignore
