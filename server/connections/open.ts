// Postgres and Redis as one worker has them: a pool for each kind of work, a breaker before each of the two.
import type { Ground } from '../ground.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import { Unverified } from './certificates.ts'
import { openDatabases } from './databases.ts'
import { openRedis, type RedisConnection } from './redis.ts'

export function openConnections(ground: Ground) {
  const { config, metrics, log, onClose } = ground
  const databases = openDatabases(config, (err) => log.debug({ err }, 'a Postgres connection broke'))
  onClose(databases.close)
  metrics.onCollect(() => {
    const counts = databases.counts()
    for (const state of ['active', 'idle', 'waiting'] as const) metrics.dbPool.set({ state }, counts[state])
  })
  const breakers = {
    redis: openBreaker(ground, 'redis', config.breakerOpenMs),
    postgres: openBreaker(ground, 'postgres', config.dbBreakerOpenMs),
  }
  const redis = connectRedis(ground)
  for (const tier of ['local', 'postgres'] as const) metrics.tierConfigured.set({ tier }, 1)
  if (redis) metrics.tierConfigured.set({ tier: 'redis' }, 1)
  return { databases, breakers, redis }
}

function openBreaker({ config, metrics, log, onClose }: Ground, dependency: 'redis' | 'postgres', openMs: number) {
  const onState = (state: BreakerState): void => {
    metrics.breaker(dependency, state)
    log.info({ dependency, state }, `the breaker of ${dependency} is ${state.replace('_', ' ')}`)
  }
  metrics.breaker(dependency, 'closed')
  const { breakerFailures: failures, breakerWindowMs: windowMs } = config
  const breaker = new Breaker({ failures, windowMs, openMs, onState })
  onClose(() => breaker.shutdown())
  return breaker
}

/** The one connection of all who ask Redis. */
function connectRedis({ config, metrics, log, troubles, onClose }: Ground): RedisConnection | undefined {
  if (!config.redisUrl && !config.redisSentinels) return undefined
  const redis = openRedis(config, {
    onError: (err) =>
      err instanceof Unverified
        ? troubles.warn({ err }, 'Redis is not spoken to')
        : log.debug({ err }, 'a Redis connection broke'),
    onCommand: (command, seconds) => metrics.redisCommandDuration.observe({ command }, seconds),
  })
  onClose(redis.close)
  return redis
}
