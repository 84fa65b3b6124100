// How limits ask Redis: through the breaker, within the deadline, and after a failure not again for a moment, so that
// one create is never held up by more than one deadline.
import type { Breaker } from './breaker.ts'
import { withDeadline } from './deadline.ts'
import { isAnswer } from './redis-answers.ts'
import type { RedisConnection } from './redis.ts'

/** Rejects when it cannot be asked. */
export type AskRedis = <T>(work: () => Promise<T>) => Promise<T>

const pauseMs = 1000

export function askRedis(
  redis: Pick<RedisConnection, 'ready'>,
  breaker: Pick<Breaker, 'run'>,
  timeoutMs: number,
  nowMs: () => number = () => performance.now(),
): AskRedis {
  let failedAtMs = -Infinity
  return async (work) => {
    if (nowMs() - failedAtMs < pauseMs) throw new Error('Redis has just failed')
    return breaker
      .run(async () => {
        if (!redis.ready) throw new Error('Redis is not connected')
        return await withDeadline(work(), timeoutMs, 'Redis')
      })
      .catch((error: unknown) => {
        if (!isAnswer(error)) failedAtMs = nowMs()
        throw error
      })
  }
}
