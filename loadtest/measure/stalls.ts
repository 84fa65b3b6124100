// How long this machine keeps a program waiting that wants to run: other machines on the same cores, or more to do here
// than there are cores. Nobody who measures latencies on it can be better than that.
import { isMainThread, parentPort, Worker } from 'node:worker_threads'

const everyMs = 5
/** Shorter is the usual turn-taking. */
const worthMs = 5

export interface Stall {
  /** Unix time in ms. */
  readonly fromMs: number
  readonly ms: number
}

export function watchStalls(): { readonly seen: readonly Stall[]; stop(): Promise<unknown> } {
  const seen: Stall[] = []
  const watch = new Worker(new URL(import.meta.url))
  watch.on('message', (stall: Stall) => seen.push(stall))
  return { seen, stop: () => watch.terminate() }
}

/** The thread that wants to run 200 times a second, and says when it could not. */
function beThere(port: NonNullable<typeof parentPort>): void {
  let dueMs = performance.now() + everyMs
  setInterval(() => {
    const nowMs = performance.now()
    const ms = nowMs - dueMs
    if (ms >= worthMs) port.postMessage({ fromMs: Date.now() - ms, ms } satisfies Stall)
    dueMs = nowMs + everyMs
  }, everyMs)
}

if (!isMainThread && parentPort !== null) beThere(parentPort)
