// The last line of `npm test`: `N passed, N failed`, and `, N skipped` when there are any.
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

export class ClosingLine implements Reporter {
  #line = '0 passed, 0 failed'
  #registered = false
  #chosen = false

  onInit({ config }: Vitest): void {
    this.#chosen = config.tagsFilter !== undefined
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    // An error outside any test, or a thousand of them, is one thing more that failed.
    const counts = { passed: 0, failed: unhandled.length > 0 ? 1 : 0, skipped: 0, pending: 0 }
    for (const module of modules) {
      let failedHere = 0
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        counts[state]++
        if (state === 'failed') failedHere++
      }
      // A file that could not be loaded, or whose hooks failed, has failed although none of its tests has.
      if (!module.ok() && failedHere === 0) counts.failed++
    }
    // A test that never got an answer has not passed.
    counts.failed += counts.pending
    // What was not chosen has not been skipped.
    const skipped = counts.skipped > 0 && !this.#chosen ? `, ${counts.skipped} skipped` : ''
    this.#line = `${counts.passed} passed, ${counts.failed} failed${skipped}`
    if (counts.failed > 0) process.exitCode = 1
    this.#printAtTheEnd()
  }

  /** After everything that others still have to say, the shutdown of the services included. */
  #printAtTheEnd(): void {
    if (this.#registered) return
    this.#registered = true
    process.once('exit', () => console.log(this.#line))
  }
}
