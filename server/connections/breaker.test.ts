import { expect, test, vi } from 'vitest'
import { Breaker, BreakerOpen, type BreakerState } from './breaker.ts'

function setUp({ openMs = 20, failures = 2 } = {}) {
  const states: BreakerState[] = []
  const clock = { nowMs: 0 }
  const nowMs = (): number => clock.nowMs
  const breaker = new Breaker({ failures, windowMs: 1000, openMs, onState: (state) => states.push(state), nowMs })
  const fail = async (): Promise<void> => {
    clock.nowMs += 10
    await breaker.run(() => Promise.reject(new Error('no'))).catch(() => undefined)
  }
  const open = async (): Promise<void> => {
    for (let n = 0; n <= failures; n++) await fail()
  }
  const untilHalfOpen = (): Promise<void> => vi.waitFor(() => expect(breaker.state).toBe('half_open'))
  return { breaker, clock, states, fail, open, untilHalfOpen }
}

test('opens with more failures than are allowed in the window, and no sooner', async () => {
  const { breaker, clock, states, fail } = setUp({ openMs: 60_000 })
  await fail()
  await fail()
  clock.nowMs += 1000
  await fail()
  await fail()
  expect(breaker.state).toBe('closed')
  await fail()
  expect(states).toEqual(['open'])
  await expect(breaker.run(() => expect.unreachable())).rejects.toThrow(BreakerOpen)
  breaker.shutdown()
})

test('failures that overlap in time are one', async () => {
  const { breaker, clock } = setUp()
  const stall = Promise.withResolvers<never>()
  const all = Array.from({ length: 100 }, () => breaker.run(() => stall.promise))
  clock.nowMs += 60
  stall.reject(new Error('a pause'))
  await Promise.allSettled(all)
  expect(breaker.state).toBe('closed')
  breaker.shutdown()
})

test.each([
  ['succeeds, and it is closed', true, ['open', 'half_open', 'closed']],
  ['fails, and it is open again', false, ['open', 'half_open', 'open']],
] as const)('half open, one call is the trial, the others are refused: it %s', async (_, succeeds, expected) => {
  const { breaker, states, open, untilHalfOpen } = setUp()
  await open()
  await untilHalfOpen()
  const trial = Promise.withResolvers<string>()
  const tried = breaker.run(() => trial.promise)
  await expect(breaker.run(() => expect.unreachable())).rejects.toThrow(BreakerOpen)
  if (succeeds) trial.resolve('yes')
  else trial.reject(new Error('no'))
  await Promise.allSettled([tried])
  expect(states).toEqual(expected)
  breaker.shutdown()
})

test.each(['succeeds', 'fails'] as const)('a call that began before it opened and %s is no trial', async (how) => {
  const { breaker, states, open, untilHalfOpen } = setUp()
  const early = Promise.withResolvers<string>()
  const begun = breaker.run(() => early.promise)
  await open()
  await untilHalfOpen()
  if (how === 'succeeds') early.resolve('late')
  else early.reject(new Error('late'))
  const [ended] = await Promise.allSettled([begun])
  expect(ended.status).toBe(how === 'succeeds' ? 'fulfilled' : 'rejected')
  expect(states).toEqual(['open', 'half_open'])
  expect(await breaker.run(() => Promise.resolve('tried'))).toBe('tried')
  expect(breaker.state).toBe('closed')
  breaker.shutdown()
})
