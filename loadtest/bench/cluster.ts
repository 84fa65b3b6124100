// What a redirect costs on a Redis Cluster beside a single Redis, in turns within one run; and how often a cluster's node is asked for a
// viral link that it has, at two rates. Ends with 1 where a redirect is dearer than wanted, or the node is asked more often for more visitors.
//   npm run -s bench:cluster          SECONDS=1.5 REPETITIONS=7 PARTITIONS=64
import { join } from 'node:path'
import { ask } from '../../embedded/ask.ts'
import { makeRunDir, removeDir } from '../../embedded/temporary.ts'
import { partitionOf, slotOf, tagsFor } from '../../server/connections/slots.ts'
import { limits } from '../../server/limits.ts'
import type { Code } from '../../server/link.ts'
import { keysIn } from '../../server/redis-keys.ts'
import { startRedisCluster, type RedisCluster } from '../faults/clusters.ts'
import { total } from '../measure/ops.ts'
import { countReads, infoOf } from '../measure/redis-pipe.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { hot, hotCode, loadLinks, openArena, trusted, type Arena } from './arena.ts'
import { drive } from './driver.ts'
import type { Load } from './loads.ts'
import type { BenchServer } from './stand.ts'
import { checkAll, measureAll, repetitionsRange, secondsRange } from './subjects.ts'

const partitions = numberOf(process.env, 'PARTITIONS', { from: 1, to: 1024 }) ?? 64
/** Fifty times what tier 1 holds. */
const links = 5000
/** Look-ups of one moment share a command, and none crosses partitions: under such a load nearly each has one of its own. */
const wanted: Readonly<Record<string, number>> = { 'in tier 1': 1.1, 'in Redis': 2 }
const loads: Readonly<Record<string, Load>> = {
  'in tier 1': hot,
  'in Redis': { paths: { kind: 'uniform', prefix: 'link-', count: links }, headers: [], status: 302 },
}
const rates = [200, 2000]
const viralS = 10

/** Each link is asked for, and by that in Redis. */
async function warm({ url, metrics }: BenchServer): Promise<void> {
  const at = 16
  const fromRedis = async (): Promise<number> => total(await metrics(), 'quicklink_lookups_total', { source: 'redis' })
  for (let times = 0; times < 3; times++) {
    const before = await fromRedis()
    const askFrom = async (first: number): Promise<void> => {
      for (let n = first; n < links; n += at) await ask(url, `/link-${n}`)
    }
    await Promise.all(Array.from({ length: at }, (_, n) => askFrom(n)))
    if ((await fromRedis()) - before > 0.95 * links) return
  }
  throw new Error('Redis does not keep the links.')
}

/** A second: one every few is due; where passes are late for a moment, nobody vouches for the copy, and it lives 100 ms. */
const mostLookups = 3

/** Whether its node is asked more often than that; the checker may look at it, too. */
async function isAskedTooOften({ cores }: Arena, { url, metrics }: BenchServer, cluster: RedisCluster, rate: number) {
  const key = keysIn(tagsFor(partitions)[partitionOf(hotCode, partitions)]!).link(hotCode as Code)
  const owner = (await cluster.ownerOf(slotOf(key)))!.server.url
  const figures = async (): Promise<readonly [number, number]> => [
    total(await metrics(), 'quicklink_lookups_total'),
    await infoOf(owner, 'stats', 'total_commands_processed'),
  ]
  const before = await figures()
  const order = { servers: [{ url, load: hot }], connections: 32, rate, slices: 1, sliceMs: viralS * 1000 }
  const { result, reads } = await countReads(owner, key, () => drive(order, cores?.generator))
  const { seconds, requests } = result.servers[0]!
  const [lookups, commands] = (await figures()).map((now, n) => (now - before[n]!) / seconds) as [number, number]
  console.log(`a viral link at ${Math.round(requests / seconds)} requests/s: looked up ${lookups.toFixed(1)} times a second; its node is asked for it ${(reads / seconds).toFixed(1)} times a second, and carries out ${Math.round(commands)} commands/s in all`) // prettier-ignore
  return lookups > mostLookups || reads / seconds > mostLookups + limits.checksPerSecond
}

await command(async () => {
  const how = {
    seconds: numberOf(process.env, 'SECONDS', secondsRange) ?? 1.5,
    repetitions: numberOf(process.env, 'REPETITIONS', repetitionsRange) ?? 7,
    warmUpS: 1,
  }
  const dir = makeRunDir('cluster')
  await using arena = await openArena()
  const cluster = await startRedisCluster(join(dir, 'cluster'))
  try {
    const first = await arena.quickLink({})
    await loadLinks(arena.stand, links)
    await first.stop()
    const env = { VISITS: 'off', LOCAL_CACHE_MAX: '100' }
    const single = await arena.quickLink({ ...env, REDIS_URL: arena.stand.redis.url })
    const clustered = await arena.quickLink({ ...env, ...cluster.env, REDIS_PARTITIONS: String(partitions) })
    for (const server of [single, clustered]) {
      await trusted(server)
      await warm(server)
    }
    const subjects = Object.entries(loads).flatMap(([where, load]) =>
      Object.entries({ single, cluster: clustered }).map(([kind, server]) => {
        const name = `${where}, ${kind}`
        return { name, what: name, server, load }
      }),
    )
    await checkAll(subjects)
    let dear = 0
    // First, while nothing else is still being looked up.
    for (const rate of rates) if (await isAskedTooOften(arena, clustered, cluster, rate)) dear++
    const results = await measureAll(arena, subjects, how, () => undefined)
    for (const [where, atMost] of Object.entries(wanted)) {
      const [alone, many] = ['single', 'cluster'].map((kind) => results[`${where}, ${kind}`]!)
      const ratio = many!.cpuUs.median / alone!.cpuUs.median
      if (ratio > atMost) dear++
      console.log(`${ratio > atMost ? 'DEARER' : 'good  '}  ${ratio.toFixed(3)} of a single Redis (wanted ${atMost}), a link ${where}: ${many!.cpuUs.median.toFixed(1)} µs of CPU per request on a cluster, ${alone!.cpuUs.median.toFixed(1)} without; ${many!.failed + alone!.failed} of ${many!.requests + alone!.requests} failed`) // prettier-ignore
    }
    return dear === 0 ? 0 : 1
  } finally {
    await cluster.close()
    removeDir(dir)
  }
})
