import { defineConfig } from 'vitest/config'
import { ClosingLine } from './testing/closing-line.ts'
import { LongestFirst } from './testing/longest-first.ts'

const everywhere = ['**/node_modules/**', '**/.quicklink/**']

export default defineConfig({
  test: {
    // Against what hangs, as below.
    teardownTimeout: 60_000,
    tags: [{ name: 'search', description: 'models and fuzzers, which `npm run -s search` lets look further' }],
    reporters: ['default', new ClosingLine()],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          setupFiles: ['testing/end-with-run.ts'],
          include: [
            '*.test.ts',
            '{server,testing,appliance,embedded,loadtest,scripts,grafana,prometheus,clients,cli}/**/*.test.ts',
          ],
          // A search takes its time: the model runs beside the integration tests.
          exclude: [...everywhere, '**/*.integration.test.ts', '**/*.model.test.ts'],
          // Against what hangs, not a claim: a busy machine takes its time.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: [
            '{server,testing,embedded,appliance,loadtest,cli}/**/*.{integration,model}.test.ts',
            'contract/**/*.test.ts',
          ],
          exclude: everywhere,
          setupFiles: ['testing/end-with-run.ts'],
          globalSetup: ['testing/global-setup.ts'],
          // A third of the time is waiting, so that two cores have work for three. Tests of deadlines allow for it.
          maxWorkers: 3,
          // Against what hangs, not a claim: a busy machine takes its time.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
})
