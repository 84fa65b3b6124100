import { fullDisk } from './disks.ts'
import type { Drill } from './engine/drill.ts'
import { cold, countClicks, counted, hot, noClickTwice, noneLost, warm } from './links.ts'
import { bothDeadlinesMs, p99Below } from './promises.ts'

export const spoolFull: Drill = {
  name: 'spool-full',
  claim: 'The disk on which clicks are spooled is full. Every redirect goes on; clicks wait in memory, and all of them arrive when there is room.',
  settings: { smallDisk: 'spool' },
  load: { rate: 300, groups: [hot, warm, cold, counted] },
  ...fullDisk('the spool', 10),
  during: [
    // While it could be written, what was counted was on its way within a second.
    {
      what: 'clicks that arrived in Postgres meanwhile, of those that were made',
      figure: ({ grewDuringFault }) => (100 * grewDuringFault('quicklink_clicks_persisted_total')) / grewDuringFault('quicklink_redirects_total', { status: '302' }),
      unit: '%',
      atMost: 50,
    },
    p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
  ],
  atEnd: countClicks,
  after: [noneLost, noClickTwice],
  alerts: [],
} // prettier-ignore
