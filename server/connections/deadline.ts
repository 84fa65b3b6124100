export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded'
}

/** The promise, or a rejection when it takes too long. What it started is not stopped: it may still have its effect. */
export function withDeadline<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new DeadlineExceeded(`${what} took longer than ${ms} ms`))
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
