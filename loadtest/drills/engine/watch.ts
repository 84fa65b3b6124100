// Looks at QuickLink from outside, ten times a second, for as long as the drill lasts.
import { trusted, type Appliance, type Worker } from './appliance.ts'
import { clockMs } from './load.ts'

export interface Look {
  readonly atMs: number
  /** Empty: it did not answer. */
  readonly workers: readonly Worker[]
}

export interface Watch {
  readonly looks: readonly Look[]
  /** When it was first so for all workers, from a moment on; undefined: not yet. */
  first(fromMs: number, isSo: (worker: Worker) => boolean): number | undefined
  /** Everything is as it should be, by the latest look. */
  sound(): boolean
  /** Nobody has answered for this long. */
  silentMs(): number
  stop(): Promise<void>
}

const everyMs = 100

export function startWatch(appliance: Appliance): Watch {
  const looks: Look[] = []
  const over = new AbortController()
  const beganMs = clockMs()
  const look = async (): Promise<void> => {
    const workers = await appliance.status().catch(() => [])
    looks.push({ atMs: clockMs(), workers })
  }
  const looking = (async () => {
    while (!over.signal.aborted) {
      const endMs = clockMs() + everyMs
      await look()
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, endMs - clockMs())))
    }
  })()
  return {
    looks,
    first: (fromMs, isSo) =>
      looks.find(({ atMs, workers }) => atMs >= fromMs && workers.length > 0 && workers.every(isSo))?.atMs,
    sound() {
      const { workers = [] } = looks.at(-1) ?? {}
      return trusted(workers, appliance.workers) && workers.every(({ postgres }) => postgres.breaker === 'closed')
    },
    silentMs: () => clockMs() - (looks.findLast(({ workers }) => workers.length > 0)?.atMs ?? beganMs),
    async stop() {
      over.abort()
      await looking
    },
  }
}
