import type { Names } from '../faults/names.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { cold, hot, warm } from './links.ts'
import { closesWithin, consequences, opensWithin, p99Below, trustedWithin } from './promises.ts'

const namesOf = ({ appliance }: DrillContext): Names => {
  if (!appliance.names) throw new Error('this drill needs names of its own')
  return appliance.names
}

let askedBefore = 0

export const namesHang: Drill = {
  name: 'names-hang',
  claim: 'DNS hangs while all connections to Redis and Postgres break: neither can be found again. Popular links go on, all else is 503 in time, and it is all back soon after DNS answers.',
  settings: { names: true },
  needsProxies: true,
  notInDocker: 'its names are those of this machine',
  load: { rate: 300, groups: [{ ...hot, may: [503] }, { ...warm, may: [503] }, { ...cold, may: [503] }] },
  fault: {
    what: 'DNS takes questions and does not answer; connections to Redis and Postgres break',
    async inject(context) {
      askedBefore = namesOf(context).asked()
      namesOf(context).hang()
      await context.appliance.proxies.set('redis', 'cut')
      await context.appliance.proxies.set('postgres', 'cut')
    },
    landed: {
      what: 'QuickLink asks for a name, and a stranger who does so gets no answer within 500 ms',
      check: async (context) => namesOf(context).asked() > askedBefore && !(await namesOf(context).answers()),
    },
    seconds: 12,
  },
  during: [
    opensWithin('redis', 5000),
    opensWithin('postgres', 5000),
    { what: 'popular links that were answered 302 all the same', figure: ({ fault }) => (100 * fault.of('hot').count(302)) / fault.of('hot').answers.length, unit: '%', atLeast: 90 },
    p99Below('p99 of popular links', ({ fault }) => fault.of('hot'), 260),
    p99Below('p99 of the 503s', ({ fault }) => fault.of('cold'), 260),
  ],
  heal: {
    what: 'DNS answers again',
    undo: (context) => Promise.resolve(namesOf(context).answer()),
    healed: { what: 'a stranger is told an address', check: (context) => namesOf(context).answers() },
  },
  // A resolver asks again after 5 s, and the breaker of Postgres tries once more after that.
  after: [closesWithin('postgres', 12_000), trustedWithin(15_000)],
  alerts: ['QuickLinkRedisDown', 'QuickLinkPostgresDown', 'QuickLinkUnavailableAnswers'],
  mayRing: [...consequences.redis, ...consequences.postgres],
} // prettier-ignore
