// The promise of coherence.model.test.ts on a Redis Cluster: partitions on two nodes, of which either dies or comes back as it was, and slots
// that are half at each of two for a while.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixedSeed, search, searches } from '../../testing/search.ts'
import { VirtualTime } from '../../testing/virtual-time.ts'
import type { Flaws } from './model/process.ts'
import { World, type Step } from './model/world.ts'

const runMs = 8000
const runs = 100
const partitions = 4

const when = fc.integer({ min: 200, max: runMs })
const pick = fc.integer({ min: 0, max: 999 }).map((n) => n / 1000)
const forMs = fc.oneof(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 300, max: 3000 }))
const openMs = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 0, max: 8 }) }, fc.integer({ min: 50, max: 3000 }))

const change = fc.record({
  atMs: when,
  pick,
  which: pick,
  openMs,
  what: fc.constantFrom('update', 'disable', 'enable', 'delete', 'create', 'rollback', 'gone', 'bulk', 'many'),
})
const outage = fc.record({
  atMs: when,
  pick,
  which: pick,
  forMs,
  what: fc.constantFrom('move', 'move', 'refuse', 'hole', 'noPostgres', 'noPasses'),
})
const disaster = fc.record({
  atMs: when,
  pick,
  which: pick,
  what: fc.constantFrom('flush', 'evict', 'pushOut', 'snapshot', 'snapshot', 'restart', 'failover', 'dump', 'restore'),
})
const at = (index: number) => ({ pick: (index + 0.5) / 97 })
const byHand = { pick: 0.1, openMs: 1 }
/** Of each process in turn: it has nothing in tier 1, and is asked. */
const askedAnew = (atMs: number, which: number): object[] =>
  [0, 1, 2].flatMap((index) => [
    { ...at(index), which, atMs, what: 'pushOut' },
    { ...at(index), which, atMs: atMs + 0.1, what: 'read' },
  ])
/** A node dies, and its replica has not heard of a change. */
const promoted = fc
  .record({ atMs: fc.integer({ min: 200, max: runMs - 4000 }), which: pick, pick })
  .map(({ atMs, which, pick }) => [
    ...askedAnew(atMs, which),
    { pick, which, atMs: atMs + 60, what: 'snapshot' },
    { ...byHand, which, atMs: atMs + 100, what: 'update' },
    { pick, which, atMs: atMs + 1500, what: 'failover' },
    ...[1520, 1560, 1600, 1700, 1900].flatMap((afterMs) => askedAnew(atMs + afterMs, which)),
  ])
/** A link changes while it is half there, and is asked for when all of it has moved. */
const resharded = fc
  .record({
    atMs: fc.integer({ min: 200, max: runMs - 4000 }),
    which: pick,
    pick,
    forMs: fc.integer({ min: 300, max: 900 }),
  })
  .map(({ atMs, which, pick, forMs }) => [
    ...askedAnew(atMs, which),
    { pick, which, atMs: atMs + 60, forMs, what: 'move' },
    { ...byHand, which, atMs: atMs + 100, what: 'update' },
    ...[1300, 1500, 2000].flatMap((afterMs) => askedAnew(atMs + afterMs, which)),
  ])
const script = fc
  .tuple(
    fc.array(
      fc.oneof({ weight: 5, arbitrary: change }, { weight: 3, arbitrary: outage }, { weight: 4, arbitrary: disaster }),
      { minLength: 5, maxLength: 40 },
    ),
    fc.array(fc.oneof(promoted, resharded), { maxLength: 4 }),
  )
  .map(([steps, plots]) => [...steps, ...plots.flat()]) as fc.Arbitrary<Step[]>
const only = (plot: fc.Arbitrary<object[]>) =>
  fc.array(plot, { minLength: 3, maxLength: 8 }).map((plots) => plots.flat()) as fc.Arbitrary<Step[]>

const holds = (scripts: fc.Arbitrary<Step[]>, flaws: Flaws = {}) =>
  fc.asyncProperty(fc.integer(), scripts, async (worldSeed, steps) => {
    const time = new VirtualTime(worldSeed)
    const { violations, reads } = await time.run(async () => {
      const world = new World(time, flaws, 0, partitions)
      await world.run(steps, runMs)
      return world
    })
    expect(reads).toBeGreaterThan(100)
    if (violations.length > 0) throw new Error(violations.join('\n'))
  })

describe('coherence on a Redis Cluster, as a model', () => {
  it('serves nothing older than a second, whatever dies or moves', searches, () =>
    search('cluster', holds(script), runs),
  )

  it.each<[string, Flaws, fc.Arbitrary<Step[]>]>([
    ['the look at where each partition stands', { freshenAnyCursor: true }, only(promoted)],
    ['distrust of a partition at another node', { blindTrust: true }, only(promoted)],
    ['the keys that a script declares (half a slot is taken for all of it)', { halfIsWhole: true }, only(resharded)],
  ])('finds the bug when %s is taken out', { timeout: 600_000 }, async (_, flaws, scripts) => {
    const lookFor = (flaws: Flaws, numRuns: number) =>
      fc.check(holds(scripts, flaws), { seed: fixedSeed, numRuns, endOnFailure: true })
    expect((await lookFor(flaws, 10 * runs)).failed).toBe(true)
    // The script alone finds nothing: it is the flaw.
    expect((await lookFor({}, 20)).failed).toBe(false)
  })
})
