// How limits ask Redis: through the breaker, within the deadline, and after a failure not again for a moment, so that
// one create is never held up by more than one deadline.
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { RedisConnection } from '../connections/redis.ts'
import type { AskRedis } from './counters.ts'

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
    try {
      return await breaker.run(async () => {
        if (!redis.ready) throw new Error('Redis is not connected')
        return await withDeadline(work(), timeoutMs, 'Redis')
      })
    } catch (error) {
      failedAtMs = nowMs()
      throw error
    }
  }
}
