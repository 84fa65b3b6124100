/** By the global timer, which a model replaces by its own; those of `node:timers/promises` it could not. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
