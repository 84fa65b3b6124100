import { fullDisk } from './disks.ts'
import type { Drill } from './engine/drill.ts'
import { hot, warm } from './links.ts'
import { endNoise, loud, makeNoise } from './noise.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

const { fault, heal, notInDocker } = fullDisk('the log', 10)

export const logFull: Drill = {
  name: 'log-full',
  claim:
    'The disk of the log is full while there is much to say. Lines are dropped and counted, and no visitor notices.',
  settings: { ...loud, smallDisk: 'log' },
  needsProxies: true,
  ...(notInDocker && { notInDocker }),
  load: { rate: 300, groups: [hot, warm] },
  fault: {
    ...fault,
    what: `${fault.what}, and connections to Redis break all the time, which it says`,
    async inject(context) {
      await fault.inject(context)
      makeNoise(context)
    },
    fixed: true,
  },
  during: [
    {
      what: 'lines of the log that found no room, counted',
      figure: ({ grewDuringFault }) => grewDuringFault('quicklink_log_dropped_total'),
      atLeast: 1,
    },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  heal: {
    ...heal,
    async undo(context) {
      await endNoise()
      await heal.undo(context)
    },
  },
  after: [trustedWithin(5000)],
  alerts: ['QuickLinkLogDropped'],
  mayRing: consequences.redis,
}
