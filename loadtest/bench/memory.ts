// What a million links take, in Redis, in Postgres, and in a worker; and what a larger tier 1 takes.
import { loadLinks, trusted, warmRedis, type Arena } from './arena.ts'
import { familyPids, residentBytes } from '../measure/cpu.ts'
import { infoOf, pipeToRedis } from '../measure/redis-pipe.ts'
import type { Table } from '../report/report.ts'
import { short } from '../report/text.ts'
import { withProbe } from './probe.ts'
import { measure, type Servers, type Subject } from './subjects.ts'
import { many } from './visitors.ts'

const links = Number(process.env['LINKS'] || 1_000_000)

export async function measureMemory(arena: Arena, servers: Servers, raw: Subject): Promise<Table> {
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
  const { sql, redis } = arena.stand
  await sql.query('truncate links, outbox')
  await loadLinks(arena.stand, links)
  await sql.query('vacuum analyze links')
  const [sizes] = await sql.query<{ rows: number; indexes: number; outbox: number }>(
    `select pg_table_size('links') as rows, pg_indexes_size('links') as indexes, pg_total_relation_size('outbox') as outbox`,
  )
  await pipeToRedis(redis.url, [['FLUSHALL', 'SYNC']])
  const emptyBytes = await infoOf(redis.url, 'memory', 'used_memory')
  await warmRedis(arena.stand, links)
  const fullBytes = await infoOf(redis.url, 'memory', 'used_memory')
  const each = (bytes: number | undefined): string[] => {
    const perLink = (bytes ?? NaN) / links
    return [`${short(perLink)} bytes`, `${short((perLink * 100e6) / 1e9)} GB`]
  }
  const worker = (what: string, bytes: number | undefined): string[] => [what, '', `${short((bytes ?? NaN) / 1e6)} MB`]
  return {
    title: 'Memory',
    note: `Measured with ${links.toLocaleString('en')} links, each with a URL of about 70 characters.`,
    head: ['where', 'a link', '100 M links, or all of it'],
    rows: [
      ['Redis, one key per link', ...each(fullBytes - emptyBytes)],
      ['Postgres, rows', ...each(sizes?.rows)],
      ['Postgres, indexes', ...each(sizes?.indexes)],
      ['Postgres, outbox (only of the changes of the last 48 hours)', ...each(sizes?.outbox)],
      worker('a worker at rest', idle),
      worker('a worker after full load', loaded),
      worker('heap of a worker after a collection, with a tier 1 of 1,000 links', tier1[0]),
      worker('heap of a worker after a collection, with a tier 1 of 10,000 links', tier1[1]),
    ],
  }
}

/** Of a worker after many links were asked for, as popular as Zipf's: what its tier 1 could hold, it holds. */
const tier1Heap = (arena: Arena, max: number): Promise<number> =>
  withProbe(
    arena,
    { REDIS_URL: arena.stand.redis.url, LOCAL_CACHE_MAX: String(max), QL_COLLECT: 'yes' },
    async (server, probe) => {
      await trusted(server)
      await measure(arena, { name: 'tier1', what: 'to fill tier 1', server, load: many }, 5)
      return (await probe())[0]?.heapBytes ?? NaN
    },
  )
