// The promise of coherence.model.test.ts, where some processes ask standbys: one of them its own, one two behind one address. They are
// behind by chance, stand still, or are away; so is the primary, for some.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fixedSeed, search, searches } from '../../testing/search.ts'
import { VirtualTime } from '../../testing/virtual-time.ts'
import type { Flaws } from './model/process.ts'
import { World, type Step } from './model/world.ts'

const runMs = 8000
const runs = 100
const standbys = 2

const when = fc.integer({ min: 200, max: runMs })
const pick = fc.integer({ min: 0, max: 999 }).map((n) => n / 1000)
const forMs = fc.oneof(fc.integer({ min: 20, max: 300 }), fc.integer({ min: 300, max: 6000 }))
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
  what: fc.constantFrom('pause', 'pause', 'noStandby', 'noPostgres', 'noPasses', 'refuse'),
})
const loss = fc.record({
  atMs: when,
  pick,
  which: pick,
  what: fc.constantFrom('flush', 'evict', 'evict', 'pushOut', 'pushOut', 'read', 'dump', 'restore'),
})
const at = (index: number) => ({ pick: (index + 0.5) / 97 })
const byHand = { pick: 0.1, openMs: 1 }
/** Whoever has nothing asks: nothing but Postgres knows the link. */
const askedAnew = (atMs: number, which: number, indexes: readonly number[]): object[] => [
  { pick: 0, which, atMs, what: 'evict' },
  ...indexes.flatMap((index) => [
    { ...at(index), which, atMs: atMs + 0.1, what: 'pushOut' },
    { ...at(index), which, atMs: atMs + 0.2, what: 'read' },
  ]),
]
/** A standby stands still, a link changes, and whoever heard of it is asked. */
const frozen = fc
  .record({ atMs: fc.integer({ min: 200, max: runMs - 4000 }), which: pick, pick, forMs })
  .map(({ atMs, which, pick, forMs }) => [
    { pick, which, atMs, forMs, what: 'pause' },
    { ...byHand, which, atMs: atMs + 10, what: 'update' },
    ...[300, 700, 1200, 1500, 2000].flatMap((afterMs) => askedAnew(atMs + afterMs, which, [1, 2, 3])),
  ])
/** A transaction is open for a while, and when it ends the standbys stand still: others that began later are all that they have. */
const slow = fc
  .record({
    atMs: fc.integer({ min: 200, max: runMs - 4000 }),
    which: pick,
    openMs: fc.integer({ min: 300, max: 900 }),
  })
  .map(({ atMs, which, openMs }) => [
    { pick: 0.1, which, atMs, openMs, what: 'update' },
    { ...byHand, which: (which + 0.4) % 1, atMs: atMs + 100, what: 'update' },
    ...[0.1, 0.6].map((pick) => ({ pick, which, atMs: atMs + openMs - 50, forMs: 3000, what: 'pause' })),
    ...[1100, 1300, 1500].flatMap((afterMs) => askedAnew(atMs + openMs + afterMs, which, [1, 2, 3])),
  ])
/** A process changes a link, and asks before the standby has heard of it. */
const ownChange = fc
  .record({
    atMs: fc.integer({ min: 200, max: runMs - 3000 }),
    which: pick,
    index: fc.integer({ min: 1, max: 3 }),
    pick,
  })
  .map(({ atMs, which, index, pick }) => [
    { pick, which, atMs: atMs - 50, forMs: 1000, what: 'pause' },
    { pick: (28.5 + index) / 97, which, atMs, openMs: 1, what: 'update' },
    ...Array.from({ length: 10 }, (_, n) => [
      { pick: 0, which, atMs: atMs + 3 + n * 8, what: 'evict' },
      { ...at(index), which, atMs: atMs + 3.1 + n * 8, what: 'read' },
    ]).flat(),
  ])
/** The primary is away for one that follows its standby, while a transaction of others is open. */
const followed = fc
  .record({
    atMs: fc.integer({ min: 200, max: runMs - 6000 }),
    which: pick,
    index: fc.integer({ min: 1, max: 3 }),
    openMs: fc.integer({ min: 500, max: 1500 }),
  })
  .map(({ atMs, which, index, openMs }) => [
    { pick: (index + 0.5) / 4, which, atMs, forMs: 2500, what: 'noPostgres' },
    { pick: 0.1, which, atMs: atMs + 900, openMs, what: 'update' },
    ...[1000, 1200, 1400, 1600].map((afterMs) => ({
      ...byHand,
      which: (which + 0.4) % 1,
      atMs: atMs + afterMs,
      what: 'update',
    })),
  ])
/** Much changes, so that Redis is made fresh by more than a process' own passes have heard, and then it is filled. */
const overtaken = fc
  .record({ atMs: fc.integer({ min: 200, max: runMs - 3000 }), which: pick, afterMs: fc.integer({ min: 0, max: 300 }) })
  .map(({ atMs, which, afterMs }) => [
    ...Array.from({ length: 40 }, (_, n) => ({
      ...byHand,
      which: (which + 0.4) % 1,
      atMs: atMs + n * 11,
      what: 'update',
    })),
    { pick: 0, which, atMs: atMs + afterMs - 1, what: 'evict' },
    { ...byHand, which, atMs: atMs + afterMs, what: 'update' },
    ...Array.from({ length: 12 }, (_, n) =>
      [1, 2].flatMap((index) => [
        { ...at(index), which, atMs: atMs + afterMs + n * 15, what: 'pushOut' },
        { ...at(index), which, atMs: atMs + afterMs + n * 15 + 0.1, what: 'read' },
      ]),
    ).flat(),
  ])
const plots = fc.oneof(frozen, slow, ownChange, followed, overtaken)
const script = fc
  .tuple(
    fc.array(
      fc.oneof({ weight: 5, arbitrary: change }, { weight: 3, arbitrary: outage }, { weight: 4, arbitrary: loss }),
      { minLength: 5, maxLength: 30 },
    ),
    fc.array(plots, { maxLength: 4 }),
  )
  .map(([steps, plots]) => [...steps, ...plots.flat()]) as fc.Arbitrary<Step[]>
const only = (plot: fc.Arbitrary<object[]>) =>
  fc.array(plot, { minLength: 3, maxLength: 8 }).map((plots) => plots.flat()) as fc.Arbitrary<Step[]>

const holds = (scripts: fc.Arbitrary<Step[]>, flaws: Flaws = {}) =>
  fc.asyncProperty(fc.integer(), scripts, async (worldSeed, steps) => {
    const time = new VirtualTime(worldSeed)
    const { violations, reads } = await time.run(async () => {
      const world = new World(time, flaws, standbys)
      await world.run(steps, runMs)
      return world
    })
    expect(reads).toBeGreaterThan(100)
    if (violations.length > 0) throw new Error(violations.join('\n'))
  })

describe('coherence beside standbys, as a model', () => {
  it('serves nothing older than a second, however far behind they are', searches, () =>
    search('standbys', holds(script), runs),
  )

  it.each<[string, Flaws, fc.Arbitrary<Step[]>]>([
    ['what passes have heard (a standby that stands still is believed)', { nearKnowsAll: true }, only(frozen)],
    ["the primary's snapshot (a standby's own instead), in lookups", { ownSnapshot: true }, only(slow)],
    ["the primary's snapshot (a standby's own instead), in passes", { ownSnapshot: true }, only(followed)],
    [
      'the one statement (another server behind the same address answers for it)',
      { nearByAnother: true },
      only(frozen),
    ],
    ['what this process has just changed', { nearIsTruth: true }, only(ownChange)],
  ])('finds the bug when %s is taken out', { timeout: 600_000 }, async (_, flaws, scripts) => {
    const lookFor = (flaws: Flaws, numRuns: number) =>
      fc.check(holds(scripts, flaws), { seed: fixedSeed, numRuns, endOnFailure: true })
    expect((await lookFor(flaws, 10 * runs)).failed).toBe(true)
    // The script alone finds nothing: it is the flaw.
    expect((await lookFor({}, 20)).failed).toBe(false)
  })
})
