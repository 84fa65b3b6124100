import type { Drill, Promised } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'
import { countClicks, counted, noClickTwice } from './links.ts'
import { answersVisitors, brokenConnections, onConnections, replaced, replacedOnce, slots, visit } from './workers.ts'

let killed = 0

const longestSilenceMs = ({ fault, recovery }: Observed): number =>
  Math.max(0, ...[...fault.answers, ...recovery.answers].filter(({ status }) => status === 0).map(({ ms }) => ms))

/** What one worker had counted since it last wrote it down, in seconds of its clicks. */
const lostSeconds = ({ noted, baseline, workers }: Observed): number => {
  const { answers } = baseline.of(counted.name)
  const perSecond = answers.length / ((baseline.toMs - baseline.fromMs) / 1000)
  return Math.max(0, noted('lost clicks')) / (perSecond / workers)
}

const silence: Promised = {
  what: 'longest wait of a visitor whose connection broke',
  figure: longestSilenceMs,
  unit: 'ms',
  atMost: 1000,
  latency: true,
}

export const workerKilled: Drill = {
  name: 'worker-killed',
  claim: 'One worker is killed under load. Who was connected to it is told so at once, new visitors are answered, another takes its place, and what it had counted a second ago is not lost.',
  countsAnew: true,
  load: { rate: 300, groups: onConnections },
  fault: {
    what: 'kill -9 of one worker',
    async inject(context) {
      const [first] = await slots(context)
      killed = first?.pid ?? 0
      await context.appliance.signalWorker(killed, 'SIGKILL')
    },
    landed: {
      what: 'its primary process names it no more',
      check: async (context) => (await slots(context)).every(({ pid }) => pid !== killed),
    },
    seconds: 4,
  },
  meanwhile: (context) => visit(context, 'later'),
  during: [...answersVisitors('later', '', 1000), brokenConnections, silence],
  heal: replaced('starts another', () => killed),
  atEnd: countClicks,
  after: [
    replacedOnce,
    { what: 'clicks lost, in seconds of what one worker counts', figure: lostSeconds, unit: 's', atMost: 2 },
    noClickTwice,
  ],
  alerts: [],
} // prettier-ignore
