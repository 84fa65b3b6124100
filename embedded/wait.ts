import { setTimeout as sleep } from 'node:timers/promises'

interface Patience {
  readonly deadlineMs?: number
  readonly everyMs?: number
  /** However slow the machine is, this many times the deadline is the end. */
  readonly stretch?: number
}

/**
 * The first truthy answer of the condition. A condition that throws is asked again; when the time is up, its last
 * error is the cause.
 *
 * The deadline is counted in turns rather than on the clock: where a pause of 10 ms takes 40, because the machine has other
 * work, what is waited for is as slow, and a second lasts four.
 */
export async function waitFor<T>(condition: () => T | Promise<T>, patience: Patience = {}): Promise<NonNullable<T>> {
  const { deadlineMs = 20_000, everyMs = 10, stretch = 10 } = patience
  const late = Symbol('late')
  let cause: unknown
  let leftMs = deadlineMs
  while (leftMs > 0) {
    const askedMs = performance.now()
    const timer = new AbortController()
    try {
      // A condition that never answers must not outlast the deadline either.
      const answer = await Promise.race([condition(), sleep(leftMs, late, { signal: timer.signal })])
      if (answer === late) break
      if (answer) return answer
    } catch (error) {
      cause = error
    } finally {
      timer.abort()
    }
    const answeredMs = performance.now()
    await sleep(everyMs)
    const nowMs = performance.now()
    // Timers are a millisecond late on any machine.
    const speed = Math.min(1, Math.max(1 / stretch, (everyMs + 2) / (nowMs - answeredMs)))
    leftMs -= (nowMs - askedMs) * speed
  }
  throw new Error(`not so within ${deadlineMs} ms: ${condition.toString()}`, { cause })
}

/** Whether it came true in time, by the clock: for what has a second answer, or a promise of so many seconds. */
export const until = (
  condition: () => boolean | Promise<boolean>,
  deadlineMs: number,
  everyMs = 50,
): Promise<boolean> => waitFor(condition, { deadlineMs, everyMs, stretch: 1 }).catch(() => false)
