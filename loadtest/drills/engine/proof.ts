import { setTimeout as pause } from 'node:timers/promises'

/** Ends a drill early, without a verdict about QuickLink. */
export class Doubt extends Error {}

/** In time. A look that fails is one that does not prove it. */
export async function proven(check: () => Promise<boolean> | boolean, deadlineMs: number): Promise<boolean> {
  const endMs = performance.now() + deadlineMs
  for (;;) {
    if (
      await Promise.resolve()
        .then(check)
        .catch(() => false)
    )
      return true
    if (performance.now() > endMs) return false
    await pause(20)
  }
}
