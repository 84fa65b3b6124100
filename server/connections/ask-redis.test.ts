import { expect, test } from 'vitest'
import { Breaker } from './breaker.ts'
import { askRedis } from './ask-redis.ts'
import { isAnswer } from './redis-answers.ts'

const wrongType = 'WRONGTYPE Operation against a key holding the wrong kind of value script: 1a2b, on @user_script:3.'

test.each([
  [
    'a key of another type is an answer: the breaker stays closed, and others are asked for at once',
    wrongType,
    'closed',
    'asked',
  ],
  ['a failure is one: others wait a moment, and the breaker opens', 'OOM command not allowed', 'open', 'waits'],
])('%s', async (_, message, state, other) => {
  let now = 0
  const nowMs = (): number => now
  const breaker = new Breaker({ failures: 5, windowMs: 100_000, openMs: 60_000, nowMs, isAnswer })
  const ask = askRedis({ ready: true }, breaker, 1000, nowMs)
  for (let n = 0; n < 7; n++) {
    now += 2000
    await expect(ask(() => Promise.reject(new Error(message)))).rejects.toThrow(/WRONGTYPE|OOM|open/i)
    const [heard] = await Promise.allSettled([ask(() => Promise.resolve('heard'))])
    expect(heard.status === 'fulfilled' ? 'asked' : 'waits').toBe(other)
  }
  expect(breaker.state).toBe(state)
  breaker.shutdown()
})
