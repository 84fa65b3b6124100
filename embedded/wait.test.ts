import { expect, test } from 'vitest'
import { waitFor } from './wait.ts'

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
