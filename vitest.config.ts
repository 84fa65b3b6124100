import { defineConfig } from 'vitest/config'
import { ClosingLine } from './server/testing/closing-line.ts'

const everywhere = ['**/node_modules/**', '**/.quicklink/**']

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLine()],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['*.test.ts', '{server,appliance,embedded,loadtest,scripts,grafana,prometheus}/**/*.test.ts'],
          // A search takes its time: the model runs beside the integration tests.
          exclude: [...everywhere, '**/*.integration.test.ts', '**/*.model.test.ts'],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['{server,embedded,loadtest}/**/*.{integration,model}.test.ts', 'contract/**/*.test.ts'],
          exclude: everywhere,
          globalSetup: ['server/testing/global-setup.ts'],
          // Servers, databases and load share the machine: more files at once would measure each other.
          maxWorkers: 2,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
