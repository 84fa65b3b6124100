import { defineConfig } from 'vitest/config'
import { ClosingLine } from '../../testing/closing-line.ts'

// Not a part of `make test`: it needs an engine, and about 10 minutes, most of them waiting for alerts.
export default defineConfig({
  test: {
    include: ['appliance/acceptance/acceptance.ts'],
    reporters: ['verbose', new ClosingLine()],
    testTimeout: 900_000,
    hookTimeout: 900_000,
  },
})
