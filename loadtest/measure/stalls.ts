// How long this machine keeps a program waiting that wants to run: other machines on the same cores, or more to do here
// than there are cores. Nobody who measures latencies on it can be better than that.
import { Worker } from 'node:worker_threads'

export const everyMs = 5
/** Shorter is the usual turn-taking. */
export const worthMs = 5

export interface Stall {
  /** Unix time in ms. */
  readonly fromMs: number
  readonly ms: number
}

export function watchStalls(): { readonly seen: readonly Stall[]; stop(): Promise<void> } {
  const seen: Stall[] = []
  const watch = new Worker(new URL('stalls-run.ts', import.meta.url))
  watch.on('message', (stall: Stall) => seen.push(stall))
  return {
    seen,
    async stop() {
      await watch.terminate()
    },
  }
}
