// Postgres and Redis as one worker has them: a pool for each kind of work, a breaker before each of the two.
import { hasRedis, type Config, type HostPort } from '../config.ts'
import type { Ground } from '../ground.ts'
import { Breaker, type BreakerState } from './breaker.ts'
import { Unverified } from './certificates.ts'
import { lacksOf } from './cluster-needs.ts'
import { openCluster, type Cluster } from './cluster.ts'
import { openDatabases } from './databases.ts'
import { Partitions } from './partitions.ts'
import { isAnswer } from './redis-answers.ts'
import {
  nodeTarget,
  openRedis,
  type CommandKind,
  type PartitionRedis,
  type RedisConnection,
  type RedisHooks,
} from './redis.ts'
import { tagsFor } from './slots.ts'
import { keysIn, singleKeys, type Keys } from '../redis-keys.ts'

export function openConnections(ground: Ground) {
  const { config, metrics, log, onClose } = ground
  const databases = openDatabases(config, (err) => log.debug({ err }, 'a Postgres connection broke'))
  onClose(databases.close)
  metrics.onCollect(() => {
    const counts = databases.counts()
    for (const state of ['active', 'idle', 'waiting'] as const) metrics.dbPool.set({ state }, counts[state])
  })
  const breakers = {
    postgres: openBreaker(ground, 'postgres', config.dbBreakerOpenMs),
  }
  const redis = connectRedis(ground)
  for (const tier of ['local', 'postgres'] as const) metrics.tierConfigured.set({ tier }, 1)
  if (redis) metrics.tierConfigured.set({ tier: 'redis' }, 1)
  return { databases, breakers, redis }
}

function makeBreaker(config: Config, openMs: number, onState: (state: BreakerState) => void): Breaker {
  const { breakerFailures: failures, breakerWindowMs: windowMs } = config
  return new Breaker({ failures, windowMs, openMs, onState, isAnswer })
}

function openBreaker({ config, metrics, log, onClose }: Ground, dependency: 'redis' | 'postgres', openMs: number) {
  const onState = (state: BreakerState): void => {
    metrics.breaker(dependency, state)
    log.info({ dependency, state }, `the breaker of ${dependency} is ${state.replace('_', ' ')}`)
  }
  metrics.breaker(dependency, 'closed')
  const breaker = makeBreaker(config, openMs, onState)
  onClose(() => breaker.shutdown())
  return breaker
}

/** Where keys are: a single Redis, or a partition of a cluster. */
export interface RedisPartition {
  readonly redis: PartitionRedis
  readonly keys: Keys
  readonly breaker: Pick<Breaker, 'run' | 'state'>
}

/** Redis as all who ask it have it. */
export interface SharedRedis {
  readonly partitions: Partitions<RedisPartition>
  /** Servers that are connected. */
  nodes(): readonly RedisConnection[]
  /** The state of the worst breaker. */
  breaker(): BreakerState
  /** Rejects where nobody is connected. */
  publish(channel: string, message: string): Promise<unknown>
  subscribe(channel: string, onMessage: (message: string) => void): void
}

function connectRedis(ground: Ground): SharedRedis | undefined {
  const { config, metrics, log, troubles, onClose } = ground
  const hooks = {
    onError: (err: Error) =>
      err instanceof Unverified
        ? troubles.warn({ err }, 'Redis is not spoken to')
        : log.debug({ err }, 'a Redis connection broke'),
    onCommand: (command: CommandKind, seconds: number) => metrics.redisCommandDuration.observe({ command }, seconds),
  }
  if (config.redisCluster) return connectCluster(ground, config.redisCluster, hooks)
  if (!hasRedis(config)) return undefined
  const breaker = openBreaker(ground, 'redis', config.breakerOpenMs)
  const redis = openRedis(config, hooks)
  onClose(redis.close)
  const nodes = () => (redis.ready ? [redis] : [])
  const partitions = new Partitions([{ redis, keys: singleKeys, breaker }])
  return { partitions, nodes, breaker: () => breaker.state, publish: redis.publish, subscribe: redis.subscribe }
}

/** Whether all of it answers, over connections of its own; undefined: there is none. `onLack`: a cluster is not as it must be. */
export function redisProbe(
  config: Config,
  onLack: (details: { readonly node: string }, sentence: string) => void,
): (() => Promise<unknown>) | undefined {
  const ignore = (): void => undefined
  const hooks = { onError: ignore, onCommand: ignore }
  const look = async (redis: RedisConnection, node: string): Promise<void> => {
    for (const sentence of await lacksOf(redis)) onLack({ node }, sentence)
  }
  if (config.redisCluster)
    return clusterOf(config, config.redisCluster, hooks, ignore, (redis, node) => void look(redis, node)).ping
  return hasRedis(config) ? openRedis(config, hooks).ping : undefined
}

const clusterOf = (
  config: Config,
  seeds: readonly HostPort[],
  hooks: RedisHooks,
  onState: (state: BreakerState, node: string) => void,
  onMet?: (redis: RedisConnection, node: string) => void,
): Cluster =>
  openCluster({
    seeds: seeds.map(({ host, port }) => `${host}:${port}`),
    tags: tagsFor(config.redisPartitions),
    open: (address) => ({
      redis: openRedis(nodeTarget(config, address), hooks),
      breaker: makeBreaker(config, config.breakerOpenMs, (state) => onState(state, address)),
    }),
    onMet,
  })

const worstFirst = ['open', 'half_open', 'closed'] as const

function connectCluster(ground: Ground, seeds: readonly HostPort[], hooks: RedisHooks): SharedRedis {
  const { config, metrics, log, onClose } = ground
  let before: BreakerState = 'closed'
  const worst = (): BreakerState => {
    const states = cluster.nodes().map(({ breaker }) => breaker.state)
    return worstFirst.find((state) => states.includes(state)) ?? 'closed'
  }
  const count = (): void => {
    if (before !== worst()) metrics.breaker('redis', (before = worst()))
  }
  metrics.breaker('redis', before)
  const cluster = clusterOf(config, seeds, hooks, (state, node) => {
    log.info({ dependency: 'redis', node, state }, `a breaker of redis is ${state.replace('_', ' ')}`)
    count()
  })
  // Also when a node goes whose breaker was open.
  metrics.onCollect(count)
  onClose(cluster.close)
  const keys = tagsFor(config.redisPartitions).map((tag) => keysIn(tag))
  return {
    partitions: new Partitions(cluster.partitions.map((partition, n) => ({ ...partition, keys: keys[n]! }))),
    nodes: () => cluster.nodes().flatMap(({ redis }) => (redis.ready ? [redis] : [])),
    breaker: worst,
    publish: cluster.publish,
    subscribe: cluster.subscribe,
  }
}
