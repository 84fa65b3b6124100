// What a million links take, in Redis, in Postgres, and in a worker; and what a larger tier 1 takes.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadLinks, trusted, warmRedis, type Arena } from './arena.ts'
import { familyPids, residentBytes } from '../measure/cpu.ts'
import { infoOf, pipeToRedis } from '../measure/redis-pipe.ts'
import type { MemoryResult } from './results.ts'
import { measure, type Servers, type Subject } from './subjects.ts'
import { many } from './visitors.ts'
import { waitFor } from '../../embedded/wait.ts'

const links = Number(process.env['LINKS'] || 1_000_000)

export async function measureMemory(
  arena: Arena,
  servers: Servers,
  raw: Subject,
  say: (line: string) => void,
): Promise<MemoryResult> {
  const tier1 = [await tier1Heap(arena, 1000), await tier1Heap(arena, 10_000)]
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
    tier1,
  }
}

/** Of a worker after many links were asked for, as popular as Zipf's: what its tier 1 could hold, it holds. */
export async function tier1Heap(arena: Arena, max: number): Promise<MemoryResult['tier1'][number]> {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const NODE_OPTIONS = `--import ${new URL('probe.ts', import.meta.url).href}`
  const env = { REDIS_URL: arena.stand.redis.url, LOCAL_CACHE_MAX: String(max), NODE_OPTIONS, QL_HEAP_DIR: dir }
  const server = await arena.quickLink(env)
  try {
    await trusted(server)
    await measure(arena, { name: 'tier1', what: 'to fill tier 1', server, load: many }, 5)
    const [worker = 0] = familyPids(server.pid).slice(1)
    process.kill(worker, 'SIGUSR2')
    const heapBytes = await waitFor(() => Number(readFileSync(join(dir, String(worker)), 'utf8')) || undefined)
    return { links: max, heapBytes }
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true })
  }
}

const flush = (url: string): Promise<unknown> => pipeToRedis(url, [['FLUSHALL', 'SYNC']])
