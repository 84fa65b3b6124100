import { roundTripMs } from '../faults/probe.ts'
import { ask } from '../../embedded/ask.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import type { Primary } from './engine/appliance.ts'
import type { Observed } from './engine/observed.ts'
import { consequences } from './promises.ts'
import { countClicks, noClickTwice } from './links.ts'
import { onConnections } from './workers.ts'

const primaryOf = ({ appliance }: DrillContext): Primary => {
  if (!appliance.primary) throw new Error('this drill needs a server that it may start again')
  return appliance.primary
}

const isSilent = async ({ appliance }: DrillContext): Promise<boolean> =>
  ask(appliance.opsUrl, '/livez', { timeoutMs: 500 }).then(
    () => false,
    () => true,
  )

/** From when it was there again until a visitor was. */
const firstAnswerMs = ({ moments, recovery, after }: Observed): number => {
  const led = [...recovery.answers, ...after.answers].filter(({ status }) => status === 302)
  return Math.min(...led.map(({ dueMs, ms }) => dueMs + ms)) - moments.healedMs
}

export const primaryKilled: Drill = {
  name: 'primary-killed',
  claim: 'The primary process is killed. Its workers notice, write down what they have counted, and end; it is started again, and goes on as if nothing had been.',
  countsAnew: true,
  startsServer: true,
  notInDocker: 'an engine does not start again what it was told to kill',
  load: { rate: 300, groups: onConnections },
  fault: {
    what: 'kill -9 of the primary process',
    inject: (context) => primaryOf(context).kill(),
    landed: { what: 'nobody answers at the ops port', check: isSilent },
    // An init system, or the keeper of `make up`, is as slow at most.
    seconds: 3,
    fixed: true,
  },
  during: [
    { what: 'answers, while nobody is there, that say something else than usual', figure: ({ fault }) => fault.answers.filter(({ status }) => ![0, 302].includes(status)).length, atMost: 0 },
  ],
  heal: {
    what: 'it is started again, on the same ports',
    undo: (context) => primaryOf(context).start(),
    healed: { what: 'its ops port says that all is well', check: async ({ appliance }) => (await ask(appliance.opsUrl, '/readyz', { timeoutMs: 1000 })).text.includes('"ok"') },
  },
  recovered: { what: 'Redis and Postgres have not noticed', check: async ({ appliance }) => (await roundTripMs('postgres', appliance.ports.postgres, 1000)) !== undefined },
  atEnd: countClicks,
  after: [
    { what: 'a visitor was answered, after it was there', figure: firstAnswerMs, unit: 'ms', atMost: 500 },
    { what: 'clicks lost', figure: ({ noted }) => noted('lost clicks'), atMost: 5 },
    noClickTwice,
  ],
  alerts: [],
  mayRing: ['QuickLinkDown', 'QuickLinkNoWorkers', ...consequences.redis],
} // prettier-ignore
