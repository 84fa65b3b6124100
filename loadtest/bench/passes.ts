// What the relay passes cost at rest, and how long a burst of changes keeps Redis from being trusted.
//   npm run bench:passes
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { askRedis } from '../../embedded/redis-process.ts'
import { waitFor } from '../../embedded/wait.ts'
import { cpuS, load, openStand, quantile, type BenchServer, type Stand } from './stand.ts'

const rows = Number(process.env['ROWS'] ?? 100_000)
const restS = Number(process.env['REST_S'] ?? 15)
const baselineMs = 8000
const perSecond = 400
const hotLinks = 1000
const trustedEveryMs = 100
const knowsEveryMs = 25

interface Burst {
  readonly what: string
  readonly statementMs: number
  /** From the commit until the last change was applied to Redis. */
  readonly appliedMs: number
  /** From the commit until every worker trusted Redis again, and the whole time without trust. */
  readonly trustedMs: number
  readonly untrustedMs: number
  readonly p99Ms: { readonly before: number; readonly meanwhile: number }
  readonly failed: number
}

interface Rest {
  readonly what: string
  readonly transactionsPerS: number
  readonly cpuPercent: { readonly server: number; readonly postgres: number; readonly redis: number }
}

async function trusted(servers: readonly BenchServer[]): Promise<boolean> {
  const workers = (await Promise.all(servers.map((server) => server.status()))).flat()
  return workers.every(({ status }) => status?.redis?.trusted === true)
}

/** Has this Redis been given what the transaction wrote? */
async function knows({ redis }: Stand, xid: number): Promise<boolean> {
  const answer = await askRedis(redis.port, decodeURIComponent(new URL(redis.url).password), 'GET ql:v1:cursor')
  const text = answer?.split('\r\n')[1]
  if (text === undefined) return false
  const { snapshot, to } = JSON.parse(text) as { snapshot: string; to?: string }
  const [, xmax, running = ''] = snapshot.split(':')
  return to === undefined && xid < Number(xmax) && !running.split(',').includes(String(xid))
}

async function burst(stand: Stand, servers: readonly BenchServer[], what: string, statement: string): Promise<Burst> {
  await waitFor(() => trusted(servers), { deadlineMs: 60_000 })
  const paths = Array.from({ length: hotLinks }, (_, n) => `/hot-${n}`)
  const loading = load(servers, paths, perSecond)
  await pause(3000)
  const beganMs = performance.now()
  // Looked at before the burst as well as in it: every worker writes a report for it, and both figures should have that.
  const looking = async (look: () => Promise<unknown>, everyMs: number): Promise<void> => {
    while (performance.now() < beganMs + baselineMs) await Promise.all([look(), pause(everyMs)])
  }
  await Promise.all([looking(() => trusted(servers), trustedEveryMs), looking(() => knows(stand, 0), knowsEveryMs)])

  const statementMs = performance.now()
  const [row] = await stand.sql.query<{ xid: number }>(
    `with changed as (${statement} returning 1) select pg_current_xact_id()::text::bigint as xid, count(*) from changed`,
  )
  const committedMs = performance.now()
  let lastUntrustedMs = committedMs
  let untrustedMs = 0
  let appliedMs = 0
  const watching = (async () => {
    let beforeMs = performance.now()
    for (;;) {
      const good = await trusted(servers)
      const nowMs = performance.now()
      if (!good) {
        untrustedMs += nowMs - beforeMs
        lastUntrustedMs = nowMs
      }
      if (appliedMs > 0 && good) return
      beforeMs = nowMs
      await pause(trustedEveryMs)
    }
  })()
  await waitFor(() => knows(stand, row?.xid ?? NaN), { deadlineMs: 120_000, everyMs: knowsEveryMs })
  appliedMs = performance.now()
  await watching
  const endMs = Math.max(appliedMs, lastUntrustedMs)
  await loading.stop()
  const p99 = (fromMs: number, toMs: number): number => quantile(loading.between(fromMs, toMs), 0.99)
  return {
    what,
    statementMs: committedMs - statementMs,
    appliedMs: appliedMs - committedMs,
    trustedMs: lastUntrustedMs - committedMs,
    untrustedMs,
    p99Ms: {
      before: p99(beganMs, statementMs),
      meanwhile: p99(statementMs, endMs),
    },
    failed: loading.between(beganMs, endMs).filter(({ ok }) => !ok).length,
  }
}

async function rest(stand: Stand, what: string, env: Record<string, string>): Promise<Rest> {
  const server = await stand.startServer({ WORKERS: '8', ...env })
  await pause(5000)
  const count = async (): Promise<number> => {
    const [row] = await stand.sql.query<{ n: number }>(
      'select xact_commit + xact_rollback as n from pg_stat_database where datname = current_database()',
    )
    return row?.n ?? NaN
  }
  const used = (): number[] => [server.pid, stand.postgres.pid, stand.redis.pid].map(cpuS)
  const [transactions, before] = [await count(), used()]
  await pause(restS * 1000)
  // Idle backends tell of their transactions with a delay of up to a second.
  const [after, transactionsAfter] = [used(), await count()]
  const [ofServer, postgres, redis] = after.map((each, n) => (100 * (each - (before[n] ?? 0))) / restS)
  await server.stop()
  return {
    what,
    transactionsPerS: (transactionsAfter - transactions) / restS,
    cpuPercent: { server: ofServer ?? NaN, postgres: postgres ?? NaN, redis: redis ?? NaN },
  }
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`

function markdown(bursts: readonly Burst[], rests: readonly Rest[]): string {
  const lines = [
    `| burst of ${rows.toLocaleString('en')} changes, 2 processes, ${perSecond} redirects/s | statement | applied after | trusted after | untrusted for | p99 before | p99 meanwhile | failed |`,
    '|---|---|---|---|---|---|---|---|',
    ...bursts.map(
      ({ what, statementMs, appliedMs, trustedMs, untrustedMs, p99Ms, failed }) =>
        `| ${what} | ${[statementMs, appliedMs, trustedMs, untrustedMs, p99Ms.before, p99Ms.meanwhile].map(ms).join(' | ')} | ${failed} |`,
    ),
    '',
    '| at rest, 8 workers | Postgres transactions/s | CPU server | CPU Postgres | CPU Redis |',
    '|---|---|---|---|---|',
    ...rests.map(
      ({ what, transactionsPerS, cpuPercent: { server, postgres, redis } }) =>
        `| ${what} | ${transactionsPerS.toFixed(0)} | ${[server, postgres, redis].map((each) => `${each.toFixed(1)} %`).join(' | ')} |`,
    ),
  ]
  return lines.join('\n')
}

const stand = await openStand()
try {
  const REDIS_URL = stand.redis.url
  const machine = { cores: availableParallelism(), model: cpus()[0]?.model ?? '', loadBefore: loadavg()[0] }
  const servers = [await stand.startServer({ REDIS_URL }), await stand.startServer({ REDIS_URL })]
  await stand.sql.query(
    `insert into links (code, url) select 'hot-' || n, 'https://example.org/' || n from generate_series(0, $1 - 1) n`,
    [hotLinks],
  )
  const bursts = [
    await burst(stand, servers, 'INSERT', `insert into links (code, url)
      select 'bulk-' || n, 'https://example.org/' || n from generate_series(1, ${rows - hotLinks}) n`),
    await burst(stand, servers, 'UPDATE', `update links set url = url || '?again'`),
  ] // prettier-ignore
  await Promise.all(servers.map((server) => server.stop()))
  const rests = [await rest(stand, 'with passes', { REDIS_URL }), await rest(stand, 'no Redis tier, so none', {})]
  console.log(markdown(bursts, rests))
  const folder = new URL('../results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  const result = { at: new Date().toISOString(), machine, rows, perSecond, bursts, rests }
  writeFileSync(new URL('passes.json', folder), `${JSON.stringify(result, null, 2)}\n`)
} finally {
  await stand.close()
}
