// What a Redis Cluster must have, asked of a node by our own user: whoever runs the cluster is told what to change. Its settings are asked
// for only where this user may; `make doctor`, which is the operator, asks the nodes of the compose file for all of it.
import { singleKeys } from '../redis-keys.ts'
import type { RedisConnection } from './redis.ts'

type Asked = Pick<RedisConnection, 'clusterMap' | 'getEach' | 'info' | 'configured'>

/** A sentence for each thing that is not as it must be. */
export async function lacksOf(node: Asked): Promise<string[]> {
  const messageOf = (answer: Promise<unknown>): Promise<string> =>
    answer.then(
      () => '',
      (error: unknown) => (error as Error).message,
    )
  const [map, keys, memory, coverage, timeout] = await Promise.all([
    messageOf(node.clusterMap()),
    // Rights come before the question which node has a key.
    messageOf(node.getEach([singleKeys.cursor, singleKeys.hits('a', '2000-01')[0], singleKeys.quota('a', 'used')])),
    node.info('memory').catch(() => ''),
    ...(['cluster-require-full-coverage', 'cluster-node-timeout'] as const).map((name) =>
      node.configured(name).catch(() => undefined),
    ),
  ])
  const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'volatile-lru'
  const timeoutS = Number(timeout ?? 0) / 1000
  const lacks: [boolean, string][] = [
    [map.includes('cluster support disabled'), 'REDIS_CLUSTER names a Redis that is no cluster: set REDIS_URL instead'],
    [map.startsWith('NOPERM'), 'our user at the Redis Cluster may not ask which nodes there are: give it +cluster|slots and +cluster|info, as redis/quicklink.acl does'],
    [keys.startsWith('NOPERM'), 'our user at the Redis Cluster may not read our keys: give it ~ql:*, ~links:* and ~quota:* with the rights in redis/quicklink.acl'],
    [policy !== 'volatile-lru', `maxmemory-policy is ${policy} at a node of the Redis Cluster, but must be volatile-lru`],
    [coverage === 'yes', 'while one part of the Redis Cluster has no primary, the others stop answering, too: set cluster-require-full-coverage to no'],
    [timeoutS > longNodeTimeoutS, `a replica of the Redis Cluster takes the place of its primary after ${timeoutS} s: set cluster-node-timeout to 5000`],
  ] // prettier-ignore
  return lacks.flatMap(([is, sentence]) => (is ? [sentence] : []))
}

/** The default of Redis. */
const longNodeTimeoutS = 15
