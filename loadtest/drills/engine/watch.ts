// Looks at QuickLink from outside, ten times a second, for as long as the drill lasts; at its counters once a second.
import { trusted, type Sample, type Worker } from '../../measure/ops.ts'
import { repeat } from '../../measure/repeat.ts'
import type { Appliance } from './appliance.ts'
import { clockMs } from './load.ts'

export interface Look {
  readonly atMs: number
  /** Empty: it did not answer. */
  readonly workers: readonly Worker[]
}

export interface Counted {
  readonly atMs: number
  readonly samples: readonly Sample[]
}

const everyMs = 100
const countEveryMs = 1000

export type Watch = ReturnType<typeof startWatch>

export function startWatch(appliance: Appliance) {
  const looks: Look[] = []
  const beganMs = clockMs()
  const look = async (): Promise<void> => {
    const workers = (await appliance.status().catch(() => [])).flatMap((worker) => worker ?? [])
    looks.push({ atMs: clockMs(), workers })
  }
  const counted: Counted[] = []
  const count = async (): Promise<void> => {
    const samples = await appliance.metrics().catch(() => undefined)
    if (samples !== undefined) counted.push({ atMs: clockMs(), samples })
  }
  const stops = [repeat(everyMs, look), repeat(countEveryMs, count)]
  return {
    looks: looks as readonly Look[],
    counted: counted as readonly Counted[],
    /** When it was first so for all workers, from a moment on; undefined: not yet. */
    first: (fromMs: number, isSo: (worker: Worker) => boolean): number | undefined =>
      looks.find(({ atMs, workers }) => atMs >= fromMs && workers.length > 0 && workers.every(isSo))?.atMs,
    /** Everything is as it should be, by the latest look. */
    sound(): boolean {
      const { workers = [] } = looks.at(-1) ?? {}
      return trusted(workers, appliance.workers) && workers.every(({ postgres }) => postgres.breaker === 'closed')
    },
    /** Nobody has answered for this long. */
    silentMs: (): number => clockMs() - (looks.findLast(({ workers }) => workers.length > 0)?.atMs ?? beganMs),
    stop: async (): Promise<void> => {
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}
