// How limits ask Redis: through the breaker, within the deadline, and after a failure not again for a moment, so that
// one create is never held up by more than one deadline.
import type { Breaker } from '../connections/breaker.ts'
import { DeadlineExceeded } from '../connections/deadline.ts'
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
        return await inTime(work(), timeoutMs)
      })
    } catch (error) {
      failedAtMs = nowMs()
      throw error
    }
  }
}

/** An answer that is in the socket already counts as in time: it is this process that was late to read it. */
function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(reject, new DeadlineExceeded(`Redis took longer than ${ms} ms`))
    }, ms)
    answer.then(resolve, reject).finally(() => {
      clearTimeout(timer)
    })
  })
}
