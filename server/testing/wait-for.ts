import { setTimeout as sleep } from 'node:timers/promises'

interface Patience {
  readonly deadlineMs?: number
  readonly everyMs?: number
}

/**
 * The first truthy answer of the condition. A condition that throws is asked again; when the time is up, its last
 * error is the cause.
 */
export async function waitFor<T>(condition: () => T | Promise<T>, patience: Patience = {}): Promise<NonNullable<T>> {
  const { deadlineMs = 5000, everyMs = 10 } = patience
  const late = Symbol('late')
  const endMs = performance.now() + deadlineMs
  let cause: unknown
  for (let leftMs = deadlineMs; leftMs > 0; leftMs = endMs - performance.now()) {
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
    await sleep(everyMs)
  }
  throw new Error(`not so within ${deadlineMs} ms: ${condition.toString()}`, { cause })
}
