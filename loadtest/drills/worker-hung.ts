import { setTimeout as pause } from 'node:timers/promises'
import type { Drill } from './engine/drill.ts'
import { total } from '../measure/ops.ts'
import { answersVisitors, brokenConnections, onConnections, replaced, replacedOnce, slots, visit } from './workers.ts'

const usual = { rate: 300, groups: onConnections }

let hung = 0

export const workerHung: Drill = {
  name: 'worker-hung',
  claim: `One worker hangs. New visitors are answered by the others, it is killed after 10 s, and another takes its place.`,
  load: usual,
  fault: {
    what: 'SIGSTOP for one worker',
    async inject(context) {
      const { appliance, load } = context
      // What a process counts goes with it when it is killed: let it tell everything first.
      load.set({ ...usual, rate: 1 })
      await pause(1500)
      const [first] = await slots(context)
      hung = first?.pid ?? 0
      await appliance.metrics()
      await appliance.signalWorker(hung, 'SIGSTOP')
      load.set(usual)
      await visit(context, 'at first')
    },
    landed: {
      what: 'its primary process counts one worker less',
      check: async ({ appliance }) =>
        total(await appliance.metrics(), 'quicklink_workers_serving') === appliance.workers - 1,
    },
    seconds: 11,
    fixed: true,
  },
  meanwhile: (context) => visit(context, 'later'),
  during: [
    ...answersVisitors('at first', ' in the moment when it hangs', 3000),
    ...answersVisitors('later', ' more', 1000),
    brokenConnections,
  ],
  heal: replaced('has killed it', () => hung),
  after: [replacedOnce],
  alerts: [],
}
