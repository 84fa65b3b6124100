// A steady trickle of checked requests, for tests that break something meanwhile.
import { setTimeout as pause } from 'node:timers/promises'
import { send, type Answer } from './app.ts'

export interface LoadAnswer extends Answer {
  readonly path: string
  /** When it was asked for, since the load began. */
  readonly atMs: number
  /** The same on the clock of `performance.now()`, to compare with other moments of a test. */
  readonly startedMs: number
}

export interface LoadResult {
  readonly answers: readonly LoadAnswer[]
  readonly failures: readonly string[]
  p(share: number): number
}

/** Asks for the paths in turn, `perSecond` of them, whether earlier ones have been answered or not. */
export async function steadily(
  base: () => string,
  paths: readonly string[],
  perSecond: number,
  until: Promise<unknown>,
): Promise<LoadResult> {
  const answers: LoadAnswer[] = []
  const failures: string[] = []
  const under: Promise<void>[] = []
  const over = { yet: false }
  void until.finally(() => {
    over.yet = true
  })
  const beganMs = performance.now()
  for (let n = 0; !over.yet; n++) {
    const dueMs = beganMs + (n * 1000) / perSecond
    const aheadMs = dueMs - performance.now()
    if (aheadMs > 1) await pause(aheadMs)
    const path = paths[n % paths.length] ?? '/'
    const startedMs = performance.now()
    const atMs = startedMs - beganMs
    under.push(
      send(base(), 'GET', path).then(
        (answer) => void answers.push({ ...answer, path, atMs, startedMs }),
        (error: unknown) => void failures.push(`${path} at ${atMs.toFixed(0)} ms: ${String(error)}`),
      ),
    )
  }
  await Promise.all(under)
  const sorted = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    answers,
    failures,
    p: (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0,
  }
}
