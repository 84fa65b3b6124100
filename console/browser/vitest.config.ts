// The console in a real browser, on a real server: `.ci/console`. Not part of make test, because not everybody has a Chromium.
import { defineConfig } from 'vitest/config'
import { ClosingLine } from '../../testing/closing-line.ts'

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: [`console/browser/*.${process.env['BROWSER_RUN'] ?? 'test'}.ts`],
    globalSetup: ['testing/global-setup.ts'],
    setupFiles: ['testing/end-with-run.ts'],
    reporters: ['default', new ClosingLine()],
    // A browser takes a core for itself.
    maxWorkers: 1,
    // Against what hangs, not a claim.
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
})
