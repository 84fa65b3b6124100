import { setTimeout as pause } from 'node:timers/promises'
import type { Drill } from './engine/drill.ts'
import { total } from '../measure/ops.ts'
import { onConnections, slots, visit, visitors } from './workers.ts'

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
    {
      what: `new visitors without an answer, of ${visitors} in the moment when it hangs`,
      figure: ({ noted }) => noted('unanswered at first'),
      atMost: 0,
    },
    {
      what: 'the slowest of them',
      figure: ({ noted }) => noted('slowest at first'),
      unit: 'ms',
      atMost: 3000,
      latency: true,
    },
    {
      what: `new visitors without an answer, of ${visitors} more`,
      figure: ({ noted }) => noted('unanswered later'),
      atMost: 0,
    },
    {
      what: 'the slowest of them',
      figure: ({ noted }) => noted('slowest later'),
      unit: 'ms',
      atMost: 1000,
      latency: true,
    },
    {
      what: 'requests on its connections that got no answer, of 256 connections',
      figure: ({ fault }) => fault.count(0),
      atMost: 128,
    },
  ],
  heal: {
    what: 'nothing: its primary process has killed it',
    undo: () => Promise.resolve(),
    healed: {
      what: 'all workers serve, and it is none of them',
      check: async (context) => (await slots(context)).every(({ pid, serving }) => serving && pid !== hung),
    },
  },
  after: [
    {
      what: 'workers that were replaced',
      figure: ({ grew }) => grew('quicklink_worker_restarts_total'),
      atMost: 1,
      atLeast: 1,
    },
  ],
  alerts: [],
}
