import { expect, test } from 'vitest'
import { until, waitFor } from './wait.ts'

test('answers what the condition answers, once it is truthy', async () => {
  let asked = 0
  expect(await waitFor(() => (++asked === 3 ? 'here' : undefined))).toBe('here')
})

test('asks a condition that throws again, and shows its last error when the time is up', async () => {
  const failing = (): never => {
    throw new Error('not yet')
  }
  await expect(waitFor(failing, { deadlineMs: 30 })).rejects.toMatchObject({ cause: { message: 'not yet' } })
})

test('does not wait for a condition that never answers', async () => {
  await expect(waitFor(() => new Promise(() => undefined), { deadlineMs: 30 })).rejects.toThrow('not so within 30 ms')
})

test('until says whether it came true in time, and keeps to the clock', async () => {
  let asked = 0
  expect(await until(() => ++asked === 3, 5000, 1)).toBe(true)
  const beganMs = performance.now()
  const failing = (): Promise<boolean> => {
    // A machine on which a pause of 1 ms takes 30.
    const endMs = performance.now() + 30
    setImmediate(() => {
      while (performance.now() < endMs);
    })
    return Promise.reject(new Error('not yet'))
  }
  expect(await until(failing, 100, 1)).toBe(false)
  expect(performance.now() - beganMs).toBeLessThan(600)
})
