// Promise 7: of a link's hits in a month never more are served than were granted, and never more are granted than its
// limit, whatever is lost, repeated, killed or exchanged. Random scripts against the real hit quota in virtual time; a
// failure prints its seed and script. testing/search.ts says how to look
// further.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { connectRedis, freshRedis } from '../../testing/services.ts'
import { fixedSeed, search, searches } from '../../testing/search.ts'
import { VirtualTime } from '../../testing/virtual-time.ts'
import { World, type Flaws, type Step } from './hits.model.stub.ts'

const runMs = 3000
const limit = 200
/** Of this many a process holds some, and has some to give back. */
const largeLimit = 3000

const when = fc.integer({ min: 20, max: runMs })
const which = fc.nat(3)
const asked = <T extends string>(what: T) =>
  fc.record({ atMs: when, which, what: fc.constant(what), amount: fc.integer({ min: 1, max: 60 }) })
const hits = asked('hits')
const heads = asked('heads')
const event = fc.record({
  atMs: when,
  which,
  what: fc.constantFrom(
    'evict', 'flush', 'snapshot', 'restore', 'kill', 'stop', 'recreate', 'lossy', 'lossy', 'noPostgres',
  ),
  amount: fc.integer({ min: 1, max: 40 }),
}) // prettier-ignore
const change = fc.record({
  atMs: when,
  which,
  what: fc.constant('limit' as const),
  amount: fc.integer({ min: 1, max: limit }),
})
/** The classic: a counter comes back as it was before its hits were handed out. */
const repetition = fc.integer({ min: 50, max: runMs - 500 }).map((atMs): Step[] => [
  { atMs, which: 0, what: 'hits', amount: 1 },
  { atMs: atMs + 30, which: 0, what: 'snapshot', amount: 1 },
  { atMs: atMs + 40, which: 1, what: 'hits', amount: 60 },
  { atMs: atMs + 120, which: 0, what: 'restore', amount: 1 },
  { atMs: atMs + 130, which: 2, what: 'hits', amount: 60 },
])
const script = fc
  .tuple(
    fc.array(fc.oneof({ weight: 5, arbitrary: hits }, { weight: 1, arbitrary: heads }), {
      minLength: 10,
      maxLength: 40,
    }),
    fc.array(fc.oneof({ weight: 6, arbitrary: event }, { weight: 1, arbitrary: change }), { maxLength: 12 }),
    fc.option(repetition, { nil: [] }),
  )
  .map(([many, events, classic]): Step[] => [...many, ...events, ...classic].sort((a, b) => a.atMs - b.atMs))

const redis = await connectRedis(await freshRedis())

interface Told {
  readonly served: number
  readonly problem: string | undefined
}

async function tell(time: VirtualTime, steps: readonly Step[], flaws: Flaws, limit: number): Promise<Told> {
  const world = new World(time, redis, limit, flaws)
  for (const step of steps) time.at(step.atMs, () => void world.do(step))
  const pass = (): void => {
    void world.passes()
    time.at(time.nowMs + 200, pass)
  }
  pass()
  await time.runUntil(runMs + 2000)
  void world.close()
  await time.runUntil(runMs + 3000)
  const leftOf = await world.left()
  let served = 0
  let problem: string | undefined
  for (const key of new Set([...world.served.keys(), ...leftOf.keys()])) {
    const [count, left] = [world.served.get(key) ?? 0, leftOf.get(key) ?? 0]
    served += count
    const granted = world.granted.get(key) ?? 0
    if (count + left > granted) problem = `${key}: ${count} served and ${left} left, ${granted} granted`
    if (granted > limit) problem = `${key}: ${granted} granted of ${limit}`
  }
  return { served, problem }
}

function live(
  steps: readonly Step[],
  salt: number,
  flaws: Flaws = {},
  most = limit,
): Promise<Told & { trace: readonly string[] }> {
  const time = new VirtualTime(salt)
  return time.run(async () => ({ ...(await tell(time, steps, flaws, most)), trace: time.trace }))
}

const holds = (flaws: Flaws = {}) =>
  fc.asyncProperty(script, fc.nat(), fc.constantFrom(limit, largeLimit), async (steps, salt, most) => {
    const { problem } = await live(steps, salt, flaws, most)
    if (problem !== undefined) throw new Error(problem)
  })

describe('hits', () => {
  it('are served at most as often as they were granted, and granted at most up to the limit', searches, () =>
    search('hits', holds(), 60),
  )

  it('are all served when nothing goes wrong, and one by one', async () => {
    const steps = Array.from({ length: 28 }, (_, n): Step => ({
      atMs: 20 + 40 * n,
      which: n,
      what: 'hits',
      amount: 10,
    }))
    expect(await live(steps, 1)).toMatchObject({ served: limit, problem: undefined })
  })

  it('are told the same way twice by the same script and seed', async () => {
    for (const [steps, salt] of fc.sample(fc.tuple(script, fc.nat()), { seed: fixedSeed, numRuns: 10 })) {
      const [one, other] = [await live(steps, salt), await live(steps, salt)]
      expect(other.trace).toEqual(one.trace)
    }
  })

  /** Visitors come to one process, HEADs to all. */
  const beside = (flaws: Flaws = {}) =>
    fc.asyncProperty(fc.array(heads, { minLength: 20, maxLength: 60 }), fc.nat(), async (many, salt) => {
      const gets = Array.from({ length: 28 }, (_, n): Step => ({
        atMs: 20 + 40 * n,
        which: 0,
        what: 'hits',
        amount: 10,
      }))
      const { served } = await live([...gets, ...many], salt, flaws)
      if (served !== limit) throw new Error(`${served} served of ${limit}`)
    })

  it('are all served however often, and wherever, HEAD asks meanwhile', searches, () =>
    search('hits beside HEADs', beside(), 60),
  )

  it('would not all be served if HEAD took what it asks for: the search finds it', async () => {
    const flawed = beside({ looksByTaking: true })
    expect((await fc.check(flawed, { seed: fixedSeed, numRuns: 100, endOnFailure: true })).failed).toBe(true)
  })

  it.each<[string, Flaws]>([
    ['believed whatever a Redis says, also one that repeats itself', { noRunCheck: true }],
    ['resent commands that were not answered', { resends: true }],
    ['spent hits before they were granted', { spendsFirst: true }],
    ['left a code the counter of its predecessor', { inherits: true }],
    ['gave a bundle and did not count it down', { script: (lua) => lua.replace('if bundle > 0', 'if false') }],
    [
      'put back what was taken of another link',
      { script: (lua) => lua.replace("of[1] ~= ARGV[3] .. ':' .. ARGV[2] or ", '') },
    ],
    [
      'gave back what was left of other terms, and kept it',
      { script: (lua) => lua.replace('ours, surplus = false, left', 'surplus = left') },
    ],
  ])(
    'would be served too often if one %s: the search finds it',
    async (_, flaws) => {
      const found = await fc.check(holds(flaws), { seed: fixedSeed, numRuns: 400, endOnFailure: true })
      expect(found.failed).toBe(true)
    },
    60_000,
  )
})
