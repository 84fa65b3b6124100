// Promise 4: one second after a change was acknowledged, no process that Postgres answers serves what was before.
// Random scripts of changes and disasters run against the real code in virtual time. A failure prints its seed and
// script; QL_MODEL_SEED replays it, QL_MODEL_RUNS makes it search longer.
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { VirtualTime } from './model/virtual-time.ts'
import { World, type Flaws, type Step } from './model/world.ts'

const runMs = 8000
const seed = Number(process.env['QL_MODEL_SEED'] ?? 20_240_611)
const runs = Number(process.env['QL_MODEL_RUNS'] ?? 150)

const when = fc.integer({ min: 200, max: runMs })
const pick = fc.double({ min: 0, max: 0.999, noNaN: true })
const openMs = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.integer({ min: 50, max: 3000 }))
const forMs = fc.oneof(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 300, max: 3000 }))

const change = fc.record({
  atMs: when,
  pick,
  openMs,
  what: fc.constantFrom('update', 'disable', 'enable', 'delete', 'create', 'expire', 'rollback'),
})
const outage = fc.record({ atMs: when, pick, forMs, what: fc.constantFrom('refuse', 'hole', 'noPostgres') })
const disaster = fc.record({
  atMs: when,
  pick,
  what: fc.constantFrom(
    'flush',
    'evict',
    'evict',
    'snapshot',
    'snapshot',
    'restart',
    'failover',
    'split',
    'dump',
    'restore',
  ),
})
/** The classic: Redis comes back with what it knew before the change. */
const resurrection = fc
  .record({
    atMs: fc.integer({ min: 200, max: runMs - 3000 }),
    pick,
    change: fc.constantFrom('update', 'disable', 'delete'),
    back: fc.constantFrom('restart', 'failover', 'split'),
  })
  .map(({ atMs, pick, change, back }) => [
    { atMs, pick, what: 'snapshot' },
    { atMs: atMs + 100, pick: pick * 0.24, openMs: 1, what: change },
    { atMs: atMs + 1500, pick, what: back },
  ])
const random = fc.oneof(
  { weight: 5, arbitrary: change },
  { weight: 2, arbitrary: outage },
  { weight: 4, arbitrary: disaster },
)
const script = fc
  .tuple(fc.array(random, { minLength: 5, maxLength: 40 }), fc.array(resurrection, { maxLength: 2 }))
  .map(([steps, plots]) => [...steps, ...plots.flat()]) as fc.Arbitrary<Step[]>

let uninstall: () => void

async function violationsOf(worldSeed: number, steps: readonly Step[], flaws: Flaws = {}): Promise<string[]> {
  const time = new VirtualTime()
  uninstall()
  uninstall = time.install()
  const world = new World(time, worldSeed, flaws)
  await world.run(steps, runMs)
  expect(world.reads).toBeGreaterThan(100)
  return world.violations
}

beforeEach(() => {
  uninstall = () => undefined
})
afterEach(() => {
  uninstall()
})

const search = (flaws: Flaws, numRuns: number) =>
  fc.check(
    fc.asyncProperty(fc.integer(), script, async (worldSeed, steps) => {
      const violations = await violationsOf(worldSeed, steps, flaws)
      if (violations.length > 0) throw new Error(violations.join('\n'))
    }),
    { seed, numRuns, endOnFailure: Object.keys(flaws).length > 0 },
  )

describe('coherence, as a model', () => {
  it('serves nothing older than a second, whatever dies or races', { timeout: 600_000 }, async () => {
    const result = await search({}, runs)
    if (result.failed) throw new Error(`${fc.defaultReportMessage(result)}\n${String(result.errorInstance)}`)
  })

  it.each<[string, Flaws]>([
    ['the version check', { noVersionCheck: true }],
    ['the snapshot cursor (a highest id instead)', { maxIdCursor: true }],
    ['distrust of a new connection', { blindTrust: true }],
    ['the guard of the fill', { noGuard: true }],
    ['the rule in tier 1', { tier1KeepsLast: true }],
    ['the version drawn under the lock', { earlyVersion: true }],
  ])('finds the bug when %s is taken out', { timeout: 600_000 }, async (_, flaws) => {
    expect((await search(flaws, 10 * runs)).failed).toBe(true)
  })
})
