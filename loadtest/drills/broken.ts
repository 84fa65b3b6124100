// For each drill a promise that is broken on purpose, and the check that must name it. By configuration where that can
// break it, else by a change of one line in a copy of the sources: the product itself has no such switch.
export interface Broken {
  readonly drill: string
  readonly how: string
  /** What the broken check says. */
  readonly named: RegExp
  readonly env?: Readonly<Record<string, string>>
  readonly redis?: readonly string[]
  readonly patch?: { readonly file: string; readonly from: string; readonly to: string }
}

const passesChangeNothing = {
  file: 'coherence/freshen.ts',
  from: 'advance(held, text, changes, forget)',
  to: 'advance(held, text, [], [])',
}

export const broken: readonly Broken[] = [
  {
    drill: 'redis-refused',
    how: 'breaker off',
    env: { BREAKER_FAILURES: '1000', BREAKER_WINDOW_MS: '100' },
    named: /^breaker of redis open/,
  },
  {
    drill: 'redis-slow',
    how: 'deadline of Redis off',
    env: { REDIS_TIMEOUT_MS: '10000' },
    named: /^median of links in Redis \(warm\)/,
  },
  {
    drill: 'redis-memory-full',
    how: 'Redis may not evict',
    redis: ['maxmemory-policy noeviction'],
    named: /^keys evicted/,
  },
  {
    drill: 'redis-partition',
    how: 'deadline of Redis off',
    env: { REDIS_TIMEOUT_MS: '10000' },
    named: /^p99 of all links/,
  },
  {
    drill: 'postgres-refused',
    how: 'breaker of Postgres is not tried again',
    env: { DB_BREAKER_OPEN_MS: '600000' },
    named: /^first link out of Postgres/,
  },
  {
    drill: 'clicks-postgres-away',
    how: 'clicks that have waited are written without what is told of them',
    patch: {
      file: 'clicks/sender.ts',
      from: 'if (applied) await foldVisits(sql, hours)',
      to: 'if (applied && batches.length === 1) await foldVisits(sql, hours)',
    },
    named: /^visits lost/,
  },
  {
    drill: 'postgres-slow',
    how: 'deadline of Postgres off',
    env: { DB_TIMEOUT_MS: '10000', API_DB_TIMEOUT_MS: '10000' },
    named: /^p99 of the 503s/,
  },
  {
    drill: 'postgres-partition',
    how: 'no stale answers',
    env: { STALE_MAX_S: '0' },
    named: /^hot links answered 503/,
  },
  {
    drill: 'replica-frozen',
    how: 'a standby is believed whatever passes have heard',
    patch: {
      file: 'coherence/news.ts',
      from: 'return heard === undefined || compareSnapshots(snapshot, heard) >= 0',
      to: 'return heard === undefined || true',
    },
    named: /^answers that led to a wrong place/,
  },
  {
    drill: 'wrong-data',
    how: 'checker off',
    patch: { file: 'coherence/checker.ts', from: 'deps.onStale(code, ...found)', to: 'return' },
    named: /^the checker finds one/,
  },
  {
    drill: 'hot-key',
    how: 'tier 1 lives 1 ms, and nobody vouches for it',
    env: { LOCAL_CACHE_TTL_MS: '1' },
    patch: { file: 'redirect/resolve.ts', from: 'tier1.get(code) ?? livingOn(code)', to: 'tier1.get(code)' },
    named: /^lookups of the one link/,
  },
  {
    drill: 'stampede',
    how: 'single flight off',
    patch: { file: 'redirect/resolve.ts', from: 'if (underWay) return underWay', to: 'void underWay' },
    named: /^lookups in Postgres that/,
  },
  {
    drill: 'resurrection',
    how: 'passes move the cursor, but change nothing',
    patch: passesChangeNothing,
    named: /wrong place/,
  },
  {
    drill: 'redis-failover',
    how: 'passes move the cursor, but change nothing',
    patch: passesChangeNothing,
    named: /wrong place/,
  },
  {
    drill: 'cluster-failover',
    how: 'passes move the cursor, but change nothing',
    patch: passesChangeNothing,
    named: /wrong place/,
  },
  {
    drill: 'cluster-reshard',
    how: 'passes move the cursor, but change nothing',
    patch: passesChangeNothing,
    named: /wrong place/,
  },
  {
    drill: 'worker-hung',
    how: 'nobody accepts in its place',
    patch: { file: 'processes/crew.ts', from: 'standIn?.accept()', to: 'void standIn' },
    named: /^new visitors without an answer/,
  },
  {
    drill: 'worker-killed',
    how: 'clicks are written down once a minute',
    patch: { file: 'limits.ts', from: 'clicksEveryMs: 1000', to: 'clicksEveryMs: 60_000' },
    named: /^clicks lost/,
  },
  {
    drill: 'primary-killed',
    how: 'workers that lose their primary end on the spot',
    patch: { file: 'processes/worker.ts', from: "log.warn('the primary process is gone')", to: 'process.exit(1)' },
    named: /^clicks lost/,
  },
  {
    drill: 'spool-full',
    how: 'what cannot be written down is given up',
    patch: {
      file: 'clicks/writer.ts',
      from: 'if (this.#doubtful) await this.#put(this.#doubtful)',
      to: 'this.#doubtful = undefined',
    },
    named: /^clicks lost/,
  },
  {
    drill: 'postgres-full',
    how: 'a full disk is taken for a mistake of our own',
    patch: { file: 'connections/postgres.ts', from: '(08|53|57|40)', to: '(08|57|40)' },
    named: /^creates that were answered otherwise/,
  },
  {
    drill: 'log-full',
    how: 'a line that finds no room ends its process',
    patch: {
      file: 'telemetry/log-writer.ts',
      from: 'if (failure) {',
      to: "if (failure?.code === 'ENOSPC' && process.send) process.exit(1)\n    if (failure) {",
    },
    named: /^answers outside the promised ones/,
  },
  {
    drill: 'log-unread',
    how: 'who logs waits for the reader',
    patch: { file: 'telemetry/log-writer.ts', from: 'O_WRONLY | O_NONBLOCK | O_NOCTTY', to: 'O_WRONLY | O_NOCTTY' },
    named: /^answers outside the promised ones/,
  },
  {
    drill: 'names-hang',
    how: 'no deadline for a connection to Postgres',
    env: { DB_TIMEOUT_MS: '10000', API_DB_TIMEOUT_MS: '10000' },
    named: /^p99 of the 503s/,
  },
  {
    drill: 'clock-jumps',
    how: 'the end of a link goes by the own clock',
    patch: { file: 'redirect/prepared.ts', from: 'const now = nowMs()', to: 'const now = Date.now()' },
    named: /wrong place/,
  },
]
