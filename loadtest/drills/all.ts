// The drills, in the order of `make drills`.
import type { Drill } from './engine/drill.ts'
import { clicksPostgresAway } from './clicks-postgres-away.ts'
import { clockJumps } from './clock-jumps.ts'
import { clusterFailover } from './cluster-failover.ts'
import { clusterReshard } from './cluster-reshard.ts'
import { hotKey } from './hot-key.ts'
import { logFull } from './log-full.ts'
import { logUnread } from './log-unread.ts'
import { namesHang } from './names-hang.ts'
import { postgresFull } from './postgres-full.ts'
import { postgresPartition } from './postgres-partition.ts'
import { postgresRefused } from './postgres-refused.ts'
import { postgresSlow } from './postgres-slow.ts'
import { primaryKilled } from './primary-killed.ts'
import { redisFailover } from './redis-failover.ts'
import { redisMemoryFull } from './redis-memory-full.ts'
import { redisPartition } from './redis-partition.ts'
import { redisRefused } from './redis-refused.ts'
import { redisSlow } from './redis-slow.ts'
import { replicaFrozen } from './replica-frozen.ts'
import { resurrection } from './resurrection.ts'
import { spoolFull } from './spool-full.ts'
import { stampede } from './stampede.ts'
import { workerHung } from './worker-hung.ts'
import { workerKilled } from './worker-killed.ts'
import { wrongData } from './wrong-data.ts'

export const drills: readonly Drill[] = [
  redisRefused,
  redisSlow,
  redisMemoryFull,
  redisFailover,
  redisPartition,
  clusterFailover,
  clusterReshard,
  postgresRefused,
  clicksPostgresAway,
  postgresSlow,
  postgresPartition,
  postgresFull,
  replicaFrozen,
  wrongData,
  hotKey,
  stampede,
  resurrection,
  workerHung,
  workerKilled,
  primaryKilled,
  spoolFull,
  logFull,
  logUnread,
  namesHang,
  clockJumps,
]
