export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/**
 * The promise, or a rejection when it takes too long. What it started is not stopped: it may still have its effect.
 * An answer that is in the socket already counts as in time: a process that stood still finds its timers due before it
 * reads what arrived meanwhile, and would blame the other side for its own pause.
 */
export function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new DeadlineExceeded(`${what} took longer than ${ms} ms`)))
    }, ms)
    promise.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

/** By the global timer, which a model replaces by its own; those of `node:timers/promises` it could not. */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
