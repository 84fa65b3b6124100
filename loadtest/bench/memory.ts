// What a million links take, in Redis, in Postgres, and in a worker.
import { loadLinks, warmRedis, type Arena } from './arena.ts'
import { familyPids, residentBytes } from '../measure/cpu.ts'
import { infoOf, pipeToRedis } from '../measure/redis-pipe.ts'
import type { MemoryResult } from './results.ts'
import { measure, type Servers, type Subject } from './subjects.ts'

const links = Number(process.env['LINKS'] || 1_000_000)

export async function measureMemory(
  arena: Arena,
  servers: Servers,
  raw: Subject,
  say: (line: string) => void,
): Promise<MemoryResult> {
  const fresh = await arena.quickLink({ REDIS_URL: arena.stand.redis.url })
  const workers = (): number[] => familyPids(fresh.pid).slice(1)
  const rss = (): number => Math.max(...workers().map(residentBytes))
  const idle = rss()
  await measure(arena, { ...raw, server: fresh }, 8)
  const loaded = rss()
  // Their passes would work off a million changes meanwhile, which is not what is measured here.
  const { cut: _, ...started } = servers
  await Promise.all([fresh, ...Object.values(started)].map((server) => server.stop()))
  say(`loading ${links.toLocaleString('en')} links`)
  const { sql, redis } = arena.stand
  await sql.query('truncate links, outbox')
  await loadLinks(arena.stand, links)
  await sql.query('vacuum analyze links')
  const [sizes] = await sql.query<{ rows: number; indexes: number; outbox: number }>(
    `select pg_table_size('links') as rows, pg_indexes_size('links') as indexes, pg_total_relation_size('outbox') as outbox`,
  )
  await flush(redis.url)
  const emptyBytes = await infoOf(redis.url, 'memory', 'used_memory')
  await warmRedis(arena.stand, links)
  const fullBytes = await infoOf(redis.url, 'memory', 'used_memory')
  return {
    links,
    redisBytesPerKey: (fullBytes - emptyBytes) / links,
    postgresBytesPerRow: {
      table: (sizes?.rows ?? NaN) / links,
      indexes: (sizes?.indexes ?? NaN) / links,
      outbox: (sizes?.outbox ?? NaN) / links,
    },
    workerBytes: { idle, loaded },
  }
}

const flush = (url: string): Promise<void> => pipeToRedis(url, [['FLUSHALL', 'SYNC']])
