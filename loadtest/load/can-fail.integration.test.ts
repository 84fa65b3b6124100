// A check that cannot fail proves nothing: every scenario runs against a QuickLink with a fault, by the real k6.
// CAN_FAIL=all tries every scenario with every fault (some minutes); else each scenario has one, and steady all.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectDir } from '../../embedded/paths.ts'
import { onPath } from '../../embedded/redis-process.ts'
import { openStand, type BenchServer, type Stand } from '../bench/stand.ts'
import type { Report } from '../report/report.ts'
import { faults, startBrokenProxy, type Fault } from './broken-proxy.stub.ts'
import { findK6 } from './k6-program.ts'
import { quick } from './quick.ts'
import { runScenario } from './run.ts'
import { scenarios } from './scenarios.ts'
import { openTarget, type Target } from './target.ts'

const ownerKey = `ql_${randomBytes(24).toString('base64url')}`
const hasK6 = onPath('k6') !== undefined || existsSync(`${projectDir}/.cache/k6/k6`)

let stand: Stand
let server: BenchServer
let target: Target
const said: string[] = []

async function run(name: string, url: string, recoveryS = 1): Promise<Report> {
  const settings = { RATE: '150', SCAN_RATE: '150', WRITE_RATE: '20', TIMES: '2', SECONDS: '3', WARM_UP_S: '1', RECOVERY_S: String(recoveryS) }
  const order = { name, target, k6: findK6(false), links: 1100, seed: '1', url, settings }
  return runScenario(order, (line) => said.push(line))
} // prettier-ignore

const broken = ({ checks }: Report): string[] => checks.filter(({ ok }) => !ok).map(({ claim }) => claim)

const shows: Readonly<Record<Fault, RegExp>> = {
  'wrong-location': /wrong answers/,
  'some-500s': /failed answers/,
  slow: /p99 of visitors/,
  dropped: /failed answers/,
}

const names = Object.keys(scenarios)
const pairs = names.flatMap((name, n) =>
  faults
    .filter((_, i) => process.env['CAN_FAIL'] === 'all' || name === 'steady' || n % faults.length === i)
    .map((fault) => [name, fault] as const),
)

// k6 is external: `make k6` builds it, and without it there is nothing to judge.
describe.skipIf(!hasK6)('with k6', () => {
  beforeAll(async () => {
    stand = await openStand()
    // A breaker that is open from one scenario is waited for by the next: not for half a minute here. And a machine that other
    // tests keep busy is no outage of its databases.
    const patient = { BREAKER_OPEN_MS: '2000', REDIS_TIMEOUT_MS: '300', DB_TIMEOUT_MS: '1000' }
    server = await stand.startServer({ OWNER_KEY: ownerKey, REDIS_URL: stand.redis.url, ...patient })
    const redis = stand.redis
    target = openTarget({
      what: 'a stand of its own',
      url: server.url,
      opsUrl: server.opsUrl,
      ownerKey,
      databaseUrl: stand.postgres.url,
      redisUrl: redis.url,
      redisService: {
        kill: () => redis.kill(),
        start: () => redis.restart(),
        pause: () => redis.pause(),
        resume: () => redis.resume(),
        answers: () => Promise.resolve(true),
      },
    })
  })
  afterAll(async () => {
    await target.close()
    await stand.close()
  })

  test('a sound QuickLink breaks no promise about its answers', async () => {
    const report = await run('steady', server.url)
    expect(broken(report).filter((claim) => claim.includes('answers'))).toEqual([])
    expect(report.tables.find(({ title }) => title === 'Who answered')?.rows).toHaveLength(1)
  })

  test('quick tells rate, percentiles below a millisecond, and statuses', async () => {
    const order = { name: 'quick', target, links: 1100, seed: '1', settings: { SECONDS: '2' } }
    const { verdict, headline, figures } = await quick(order, (line) => said.push(line))
    expect(verdict).toBe('PASS')
    expect(headline).toMatch(
      /^[\d,]+\/s: p50 [\d.]+ ms, p99 [\d.]+ ms, p99.9 [\d.]+ ms; [\d,]+ × 302; 0 wrong, 0 without an answer\.$/,
    )
    const value = (name: string): number => figures.find((each) => each.name === name)?.value ?? NaN
    expect(value('p50')).toBeGreaterThan(0)
    expect(value('p50')).toBeLessThanOrEqual(value('p99.9'))
    expect(value('p50') % 1).not.toBe(0)
  })

  const back = 'Redis is back: it answers look-ups again after'

  test('redis-down asks that Redis answers again: sooner than the breaker lets it, it does not', async () => {
    expect(broken(await run('redis-down', server.url, 1))).toContain(back)
    const { checks } = await run('redis-down', server.url, 8)
    expect(checks.find(({ claim }) => claim === back)).toMatchObject({ ok: true })
  })

  test.each(pairs)('%s finds the fault: %s', async (name, fault) => {
    const proxy = await startBrokenProxy(server.url, fault)
    try {
      const report = await run(name, proxy.url)
      expect(broken(report).join('\n')).toMatch(shows[fault])
      // Latency on a machine that others keep busy proves nothing; what a visitor was told does.
      expect(fault === 'slow' ? ['FAIL', 'INCONCLUSIVE'] : ['FAIL']).toContain(report.verdict)
    } finally {
      await proxy.close()
    }
  })
})
