// Looks at QuickLink from outside, ten times a second, for as long as the drill lasts.
import { trusted, type Worker } from '../../measure/ops.ts'
import { repeat } from '../../measure/repeat.ts'
import type { Appliance } from './appliance.ts'
import { clockMs } from './load.ts'

export interface Look {
  readonly atMs: number
  /** Empty: it did not answer. */
  readonly workers: readonly Worker[]
}

const everyMs = 100

export type Watch = ReturnType<typeof startWatch>

export function startWatch(appliance: Appliance) {
  const looks: Look[] = []
  const beganMs = clockMs()
  const look = async (): Promise<void> => {
    const workers = (await appliance.status().catch(() => [])).flatMap((worker) => worker ?? [])
    looks.push({ atMs: clockMs(), workers })
  }
  return {
    looks: looks as readonly Look[],
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
    stop: repeat(everyMs, look),
  }
}
