import { expect, test } from 'vitest'
import { createHealth } from './health.ts'

const up = (): Promise<void> => Promise.resolve()
const down = (): Promise<void> => Promise.reject(new Error('no'))
const silent = (): Promise<void> => new Promise(() => undefined)

test.each([
  ['ok', 'up', 'up', up, up],
  ['degraded', 'up', 'down', up, down],
  ['degraded', 'down', 'up', down, up],
  ['degraded', 'down', 'down', down, silent],
  ['ok', 'up', 'off', up, undefined],
] as const)('%s: postgres %s, redis %s', async (status, postgres, redis, postgresProbe, redisProbe) => {
  const health = createHealth({ postgres: postgresProbe, redis: redisProbe }, { deadlineMs: 20 })
  expect(await health()).toEqual({ status, postgres, redis })
})

test('asks at most once within a second, and askers share', async () => {
  let asked = 0
  let nowMs = 0
  const probe = (): Promise<void> => {
    asked++
    return Promise.resolve()
  }
  const health = createHealth({ postgres: probe, redis: undefined }, { nowMs: () => nowMs })
  await Promise.all([health(), health(), health()])
  expect(asked).toBe(1)
  nowMs = 999
  await health()
  expect(asked).toBe(1)
  nowMs = 1000
  await health()
  expect(asked).toBe(2)
})

test('a probe that throws at once is down', async () => {
  const thrower = (): Promise<void> => {
    throw new Error('closed')
  }
  const health = createHealth({ postgres: thrower, redis: undefined })
  expect((await health()).postgres).toBe('down')
})
