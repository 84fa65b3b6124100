// One loop for all that is watched while something runs.
import { setTimeout as pause } from 'node:timers/promises'

/** Looks again and again, at its times, until it is stopped; then the look that is under way is waited for. */
export function repeat(everyMs: number, look: () => Promise<void>): () => Promise<void> {
  const over = new AbortController()
  const looking = (async () => {
    for (let dueMs = performance.now(); !over.signal.aborted;) {
      await look()
      const nowMs = performance.now()
      dueMs = Math.max(dueMs + everyMs, nowMs)
      await pause(dueMs - nowMs, undefined, { signal: over.signal }).catch(() => undefined)
    }
  })()
  return () => {
    over.abort()
    return looking
  }
}
