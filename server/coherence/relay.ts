// Runs passes, one at a time: every `intervalMs`, and early when somebody nudges. A nudge is never the truth.
import type { Pass } from './pass.ts'

interface RelayOptions {
  readonly pass: Pass
  readonly intervalMs: number
  /** At most one early pass in this time, however much is written. */
  readonly gapMs: number
  readonly onFailure: (error: unknown) => void
}

export type Relay = ReturnType<typeof startRelay>

export function startRelay({ pass, intervalMs, gapMs, onFailure }: RelayOptions) {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let nudged = false
  let stopped = false
  let beganMs = -Infinity

  const schedule = (afterMs: number): void => {
    clearTimeout(timer)
    timer = setTimeout(run, afterMs)
  }

  const run = (): void => {
    beganMs = performance.now()
    nudged = false
    running = pass
      .run()
      .catch(onFailure)
      .then(() => {
        running = undefined
        if (!stopped) schedule(nudged ? gapMs : intervalMs)
      })
  }

  schedule(0)
  return {
    soon(): void {
      if (nudged || stopped) return
      nudged = true
      if (running === undefined) schedule(Math.max(0, gapMs - (performance.now() - beganMs)))
    },
    async stop(): Promise<void> {
      stopped = true
      clearTimeout(timer)
      await running
      await pass.settled()
    },
  }
}
