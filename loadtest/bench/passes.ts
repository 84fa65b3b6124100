// What passes cost on a Redis Cluster: commands that Redis carries out, and CPU of Postgres, Redis and QuickLink, while
// nobody visits; at rest and with changes, with a single Redis beside it. And what a link takes there.
//   npm run -s bench:passes          SECONDS=10 WORKERS=1,4,8 CHANGES=100
import { join } from 'node:path'
import { makeRunDir, removeDir } from '../../embedded/temporary.ts'
import { partitionOf, slotOf, tagsFor } from '../../server/connections/slots.ts'
import { keysIn } from '../../server/redis-keys.ts'
import type { Code } from '../../server/link.ts'
import { startRedisCluster, type RedisCluster } from '../faults/clusters.ts'
import { cpuSecondsOf } from '../measure/cpu.ts'
import { infoOf } from '../measure/redis-pipe.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { loadLinks, openArena, trusted, type Arena } from './arena.ts'

const partitions = 64
const links = 1000

interface Subject {
  readonly name: string
  readonly env: Readonly<Record<string, string>>
  /** Its primaries. */
  readonly servers: readonly { readonly url: string; readonly pid: number }[]
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))

/** So many links a second, each by a statement of its own. */
async function change({ stand }: Arena, perS: number, seconds: number): Promise<void> {
  const beganMs = performance.now()
  for (let n = 0; n < perS * seconds; n++) {
    const earlyMs = beganMs + (n * 1000) / perS - performance.now()
    if (earlyMs > 0) await pause(earlyMs)
    await stand.sql.query('update links set url = $1 where code = $2', [
      `https://example.org/${n}`,
      `link-${n % links}`,
    ])
  }
}

async function cost(arena: Arena, { servers }: Subject, pid: number, perS: number, seconds: number): Promise<string> {
  const commands = async () =>
    sum(await Promise.all(servers.map(({ url }) => infoOf(url, 'stats', 'total_commands_processed'))))
  const cpu = () => {
    const [postgres = 0, quicklink = 0, ...redis] = cpuSecondsOf([arena.stand.postgres.pid, pid, ...servers.map((server) => server.pid)]) // prettier-ignore
    return [postgres, quicklink, sum(redis)] as const
  }
  const [commandsBefore, cpuBefore, beganMs] = [await commands(), cpu(), performance.now()]
  await (perS > 0 ? change(arena, perS, seconds) : pause(seconds * 1000))
  const took = (performance.now() - beganMs) / 1000
  const after = await commands()
  const [postgres, quicklink, redis] = cpu().map((now, n) => `${((100 * (now - cpuBefore[n]!)) / took).toFixed(1)} %`)
  return `${Math.round((after - commandsBefore) / took)} commands/s; of a processor: Postgres ${postgres}, Redis ${redis}, QuickLink ${quicklink}`
}

/** Bytes of a link, as a node counts them, and how many of them are its partition's tag. */
async function memory({ tell, ownerOf }: RedisCluster): Promise<string> {
  const code = 'abc1234' as Code
  const tag = tagsFor(partitions)[partitionOf(code, partitions)]!
  const key = keysIn(tag).link(code)
  const link = { u: `https://example.org/${'x'.repeat(50)}`, p: false, t: 1_700_000_000, v: 1_000_000, i: 1_000_000 }
  const owner = (await ownerOf(slotOf(key)))!
  const bytes = async (key: string): Promise<number> => {
    await tell(owner, `SET ${key} ${JSON.stringify(JSON.stringify(link))} PX 3600000`)
    return Number((await tell(owner, `MEMORY USAGE ${key}`)).slice(1))
  }
  // The same slot, and a key that is shorter by a tag.
  const [tagged, shorter] = [
    await bytes(key),
    await bytes(`{${tag.slice(1, -1)}}${'x'.repeat(key.length - 2 * tag.length)}`),
  ]
  return `a link: ${tagged} bytes; ${shorter} with a key that is shorter by its partition's tag of ${tag.length} letters`
}

await command(async () => {
  const seconds = numberOf(process.env, 'SECONDS', { from: 1, to: 600 }) ?? 10
  const perS = numberOf(process.env, 'CHANGES', { from: 1, to: 1000 }) ?? 100
  const workers = (process.env['WORKERS'] ?? '1,4,8').split(',').map(Number)
  const dir = makeRunDir('passes')
  await using arena = await openArena()
  const cluster = await startRedisCluster(join(dir, 'cluster'))
  try {
    const first = await arena.quickLink({})
    await loadLinks(arena.stand, links)
    await first.stop()
    const subjects: Subject[] = [
      { name: 'a single Redis', env: { REDIS_URL: arena.stand.redis.url }, servers: [arena.stand.redis] },
      {
        name: `a cluster, ${partitions} partitions on 3 nodes`,
        env: { ...cluster.env, REDIS_PARTITIONS: String(partitions) },
        servers: cluster.nodes.slice(0, 3).map(({ server }) => server),
      },
    ]
    for (const count of workers) {
      for (const subject of subjects) {
        const server = await arena.quickLink({ ...subject.env, WORKERS: String(count) }, undefined)
        await trusted(server)
        for (const rate of [0, perS]) {
          const what = `${subject.name}, ${count} workers, ${rate} changes/s`
          console.log(`${what}: ${await cost(arena, subject, server.pid, rate, seconds)}`)
        }
        await server.stop()
      }
    }
    console.log(await memory(cluster))
    return 0
  } finally {
    await cluster.close()
    removeDir(dir)
  }
})
