// What drills of a Redis Cluster share.
import type { RedisCluster } from '../faults/clusters.ts'
import { quantile } from '../measure/stats.ts'
import type { DrillContext } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'

export const clusterOf = ({ appliance }: DrillContext): RedisCluster => {
  if (!appliance.cluster) throw new Error('this drill needs a Redis Cluster')
  return appliance.cluster
}

/** How many partitions a worker did not trust while the fault lasted, in the median look: a moment's stall is no fault. */
export const medianUntrusted = ({ watch, moments: { landedMs, healedMs } }: Observed): number =>
  quantile(
    watch.looks
      .filter(({ atMs }) => atMs > landedMs && atMs < healedMs)
      .flatMap(({ workers }) => workers.map(({ redis }) => redis.untrusted ?? NaN)),
    0.5,
  )
