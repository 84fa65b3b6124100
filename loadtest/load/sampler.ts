// Once a second: what the server counts, and the CPU time of everybody here.
import { availableParallelism, cpus } from 'node:os'
import { repeat } from '../measure/repeat.ts'
import { total, type Sample } from '../measure/ops.ts'
import { cpuSecondsOf } from '../measure/cpu.ts'
import type { Target } from './target.ts'

export interface Moment {
  readonly atMs: number
  readonly samples: readonly Sample[]
  /** Seconds of CPU so far, by name. */
  readonly cpu: Readonly<Record<string, number>>
  readonly idleS: number
}

const everyMs = 1000
export const cores = availableParallelism()

export function startSampler(target: Target, generatorPid: () => number | undefined): { stop(): Promise<Moment[]> } {
  const moments: Moment[] = []
  const pids: Target['pids'] = { ...target.pids, generator: generatorPid }
  const look = async (): Promise<void> => {
    // A server that does not answer its metrics is looked at again.
    const samples = await target.metrics().catch(() => undefined)
    if (samples !== undefined) moments.push({ atMs: Date.now(), samples, ...clocks(pids) })
  }
  const stop = repeat(everyMs, look)
  let stopped: Promise<void> | undefined
  return {
    async stop() {
      await (stopped ??= stop().then(look))
      return moments
    },
  }
}

function clocks(pids: Target['pids']): Pick<Moment, 'cpu' | 'idleS'> {
  const names = Object.keys(pids)
  const seconds = cpuSecondsOf(names.map((name) => pids[name]?.()))
  return {
    cpu: Object.fromEntries(names.map((name, n) => [name, seconds[n] ?? 0])),
    idleS: cpus().reduce((sum, { times }) => sum + times.idle, 0) / 1000,
  }
}

export const totalOf = (moment: Moment, name: string, labels?: Readonly<Record<string, string>>): number =>
  total(moment.samples, name, labels)

/** How much it grew. A process that was replaced begins at nothing again. */
export const growth = (from: Moment, to: Moment, name: string, labels?: Readonly<Record<string, string>>): number =>
  Math.max(0, totalOf(to, name, labels) - totalOf(from, name, labels))

/** Cores in use, by name. */
export function coresUsed(from: Moment, to: Moment): Record<string, number> {
  const seconds = Math.max(0.001, (to.atMs - from.atMs) / 1000)
  return Object.fromEntries(
    Object.entries(to.cpu).map(([name, s]) => [name, Math.max(0, s - (from.cpu[name] ?? 0)) / seconds]),
  )
}

/** All that kept the cores busy, by name: ours, and what nobody here has started. */
export function coresTaken(from: Moment, to: Moment): Record<string, number> {
  const ours = coresUsed(from, to)
  const sum = Object.values(ours).reduce((all, each) => all + each, 0)
  return { ...ours, [othersOf(to)]: Math.max(0, cores * (1 - idleShare(from, to)) - sum) }
}

/** What runs elsewhere, or in containers, cannot be told from the others. */
export const othersOf = ({ cpu }: Moment): string =>
  'server' in cpu ? 'other programs' : 'QuickLink in its containers and other programs'

/** From 0 to 1, of the whole machine. */
export const idleShare = (from: Moment, to: Moment): number =>
  (1000 * (to.idleS - from.idleS)) / Math.max(1, to.atMs - from.atMs) / cores
