// Promise 4: one second after a change was acknowledged, no process that Postgres answers serves what was before.
// Random scripts of changes and disasters run against the real code in virtual time. A failure prints its seed and
// script; testing/search.ts says how to look further.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixedSeed, search, searches } from '../testing/search.ts'
import { VirtualTime } from '../testing/virtual-time.ts'
import { World, type Flaws, type Step } from './model/world.ts'

const runMs = 8000
const runs = 150

const when = fc.integer({ min: 200, max: runMs })
const pick = fc.double({ min: 0, max: 0.999, noNaN: true })
const openMs = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.integer({ min: 50, max: 3000 }))
const forMs = fc.oneof(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 300, max: 3000 }))

const change = fc.record({
  atMs: when,
  pick,
  which: pick,
  openMs,
  what: fc.constantFrom('update', 'disable', 'enable', 'delete', 'create', 'expire', 'rollback'),
})
const outage = fc.record({
  atMs: when,
  pick,
  which: pick,
  forMs,
  what: fc.constantFrom('refuse', 'hole', 'noPostgres'),
})
const disaster = fc.record({
  atMs: when,
  pick,
  which: pick,
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
    which: pick,
    change: fc.constantFrom('update', 'disable', 'delete'),
    back: fc.constantFrom('restart', 'failover', 'split'),
  })
  .map(({ atMs, change, back, ...more }) => [
    { ...more, atMs, openMs: 1, what: 'update' },
    { ...more, atMs: atMs + 30, what: 'read' },
    { ...more, atMs: atMs + 80, what: 'snapshot' },
    { ...more, atMs: atMs + 100, openMs: 1, what: change },
    { ...more, atMs: atMs + 1500, what: back },
    // Asked of all three processes.
    ...[1535, 1555, 1600].map((afterMs, n) => ({
      ...more,
      atMs: atMs + afterMs,
      pick: (more.pick + n / 97) % 1,
      what: 'read',
    })),
  ])
/** The other classic: a reader has read Postgres just before a hand in psql changes it, and fills Redis just after. */
const lateFill = fc
  .record({
    atMs: when,
    pick,
    which: pick,
    afterMs: fc.integer({ min: 1, max: 40 }),
    change: fc.constantFrom('update', 'create'),
  })
  .map(({ atMs, afterMs, change, pick, which }) => [
    { pick, which, atMs, what: 'evict' },
    { pick, which, atMs: atMs + 1, what: 'read' },
    { pick: 0.1, which, atMs: atMs + afterMs, openMs: 1, what: change },
  ])
const random = fc.oneof(
  { weight: 5, arbitrary: change },
  { weight: 2, arbitrary: outage },
  { weight: 4, arbitrary: disaster },
)
const script = fc
  .tuple(
    fc.array(random, { minLength: 5, maxLength: 40 }),
    fc.array(fc.oneof(resurrection, lateFill), { maxLength: 4 }),
  )
  .map(([steps, plots]) => [...steps, ...plots.flat()]) as fc.Arbitrary<Step[]>

function live(worldSeed: number, steps: readonly Step[], flaws: Flaws = {}): Promise<World> {
  const time = new VirtualTime(worldSeed)
  return time.run(async () => {
    const world = new World(time, flaws)
    await world.run(steps, runMs)
    expect(world.reads).toBeGreaterThan(100)
    return world
  })
}

const holds = (scripts = script, flaws: Flaws = {}) =>
  fc.asyncProperty(fc.integer(), scripts, async (worldSeed, steps) => {
    const { violations } = await live(worldSeed, steps, flaws)
    if (violations.length > 0) throw new Error(violations.join('\n'))
  })
const lookFor = (scripts: fc.Arbitrary<Step[]>, flaws: Flaws, numRuns: number) =>
  fc.check(holds(scripts, flaws), { seed: fixedSeed, numRuns, endOnFailure: true })

const only = (plot: fc.Arbitrary<object[]>) =>
  fc.array(plot, { minLength: 3, maxLength: 10 }).map((plots) => plots.flat()) as fc.Arbitrary<Step[]>

describe('coherence, as a model', () => {
  it('serves nothing older than a second, whatever dies or races', searches, () => search('coherence', holds(), runs))

  it('lives the same script with the same seed the same way twice', async () => {
    for (const [worldSeed, steps] of fc.sample(fc.tuple(fc.integer(), script), { seed: fixedSeed, numRuns: 5 })) {
      const [one, other] = [await live(worldSeed, steps), await live(worldSeed, steps)]
      expect(other.time.trace).toEqual(one.time.trace)
    }
  })

  // Each with the kind of script in which it matters, so that the search is short.
  it.each<[string, Flaws, fc.Arbitrary<Step[]>]>([
    ['the version check', { noVersionCheck: true }, script],
    ['the snapshot cursor (a highest id instead)', { maxIdCursor: true }, script],
    ['distrust of a new connection', { blindTrust: true }, only(resurrection)],
    ['the guard of the fill', { noGuard: true }, only(lateFill)],
    ['the rule in tier 1', { tier1KeepsLast: true }, script],
    ['the cursor of before (that of after instead)', { lateCursor: true }, only(lateFill)],
    ['the doubt in nudges', { nudgeIsTruth: true }, script],
    ['the version drawn under the lock', { earlyVersion: true }, only(change.map((one) => [one]))],
  ])('finds the bug when %s is taken out', { timeout: 600_000 }, async (_, flaws, scripts) => {
    expect((await lookFor(scripts, flaws, 10 * runs)).failed).toBe(true)
    // The script alone finds nothing: it is the flaw.
    expect((await lookFor(scripts, {}, 20)).failed).toBe(false)
  })
})
