import type { LogReader } from './engine/appliance.ts'
import type { Drill, DrillContext } from './engine/drill.ts'
import { hot, warm } from './links.ts'
import { endNoise, loud, makeNoise } from './noise.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

const readerOf = ({ appliance }: DrillContext): LogReader => {
  if (!appliance.logReader) throw new Error('this drill needs a reader of the log')
  return appliance.logReader
}

/** Bytes, until it hung. */
let taken = 0

export const logUnread: Drill = {
  name: 'log-unread',
  claim: 'The program that takes the log from a pipe hangs while there is much to say. Lines wait, no visitor notices, and none is lost.',
  settings: { ...loud, logReader: true },
  needsProxies: true,
  notInDocker: 'there its engine reads the log',
  load: { rate: 300, groups: [hot, warm] },
  fault: {
    what: 'SIGSTOP for the reader of the log, and connections to Redis break all the time, which it says',
    inject(context) {
      readerOf(context).pause()
      makeNoise(context)
      return Promise.resolve()
    },
    landed: { what: 'the kernel says that it is stopped', check: (context) => readerOf(context).isPaused() },
    seconds: 25,
    fixed: true,
  },
  during: [p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs)],
  heal: {
    what: 'SIGCONT for the reader',
    async undo(context) {
      await endNoise()
      taken = readerOf(context).bytes()
      readerOf(context).resume()
    },
    healed: { what: 'the kernel says that it runs', check: (context) => !readerOf(context).isPaused() },
  },
  atEnd: (context) => Promise.resolve(context.note('waited', (readerOf(context).bytes() - taken) / 1024)),
  after: [
    // A pipe holds 64 KB, so the rest has waited in the server.
    { what: 'of the log, what had waited and was taken then', figure: ({ noted }) => noted('waited'), unit: 'KB', atLeast: 100 },
    { what: 'lines of the log that were dropped', figure: ({ grew }) => grew('quicklink_log_dropped_total'), atMost: 0 },
    trustedWithin(5000),
  ],
  alerts: [],
  mayRing: consequences.redis,
} // prettier-ignore
