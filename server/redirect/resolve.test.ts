// The ladder and tier 1 on a clock of their own: who is asked, how often, and by what a copy ends.
import { describe, expect, it } from 'vitest'
import { Vouching } from '../coherence/vouching.ts'
import { absent, isLink, type Answer, type Code, type Known, type Link } from '../link.ts'
import { createResolver } from './resolve.ts'
import { createTier1 } from './tier1-local.ts'
import { noTier2 } from './tier2-redis.ts'
import { plain } from '../../testing/links.ts'

const code = 'abc1234' as Code
const link = (version: number): Link => ({
  code,
  id: 7,
  url: `https://example.com/${version}`,
  ...plain,
  version,
})
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function start(staleMaxMs = 1e9) {
  const world = {
    nowMs: 1000,
    truth: link(1) as Answer,
    redis: 'unknown' as Answer,
    trusted: 'unknown' as Answer,
    /** While Postgres is being asked. */
    meanwhile: (): void => undefined,
    flights: 0,
    saved: 0,
    random: 0,
  }
  const nowMs = (): number => world.nowMs
  const vouching = new Vouching(800)
  const tier1 = createTier1({ max: 9, freshMs: 100, graceMs: 50, staleMaxMs, trustMs: 800, vouching, nowMs })
  const resolver = createResolver({
    tier1,
    tier2: {
      ...noTier2,
      get: () => Promise.resolve(world.trusted === 'unknown' ? 'unknown' : { known: world.trusted, isCurrent: false }),
      getUntrusted: () => Promise.resolve(world.redis),
    },
    tier3: {
      get: () => {
        world.meanwhile()
        return Promise.resolve(world.truth)
      },
    },
    vouching,
    askEveryMs: 1000,
    askMostMs: 5000,
    random: () => world.random,
    nowMs,
    onFlight: () => world.flights++,
    onSaved: () => world.saved++,
  })
  const pass = (): void => vouching.answered(world.nowMs, false)
  pass()
  return {
    world,
    tier1,
    resolver,
    vouching,
    pass,
    /** What a visitor is told at that time; undefined: nobody knows. */
    async visit(atMs: number): Promise<Known | undefined> {
      world.nowMs = 1000 + atMs
      const local = resolver.local(code)
      const copy = local ?? (await resolver.ask(code))?.copy
      await nextTurn()
      return copy === undefined || copy === 'unknown' ? undefined : copy.known
    },
    async visitAll(fromMs: number, untilMs: number, everyMs: number, passes = false): Promise<Set<Known | undefined>> {
      const told = new Set<Known | undefined>()
      for (let ms = fromMs; ms < untilMs; ms += everyMs) {
        told.add(await this.visit(ms))
        if (passes) pass()
      }
      return told
    },
  }
}

describe('a link that passes vouch for', () => {
  it('is looked up after a time by chance, so that many are not looked up together, and after the longest in any case', async () => {
    const hot = start()
    hot.world.random = 1
    await hot.visitAll(0, 5000, 5, true)
    expect(hot.world.flights).toBe(1)
    await hot.visitAll(5000, 5200, 5, true)
    expect(hot.world.flights).toBe(2)
    hot.world.random = 0.25
    await hot.visitAll(5200, 8000, 5, true)
    expect(hot.world.flights).toBe(3)
  })

  it('is looked up once a second at most, however many want it', async () => {
    const hot = start()
    const told = await hot.visitAll(0, 10_000, 5, true)
    expect(told.size).toBe(1)
    expect(hot.world.flights).toBeLessThanOrEqual(10)
    expect(hot.world.flights).toBeGreaterThanOrEqual(9)
    expect(hot.world.saved).toBeGreaterThan(80)
  })

  it('keeps its prepared answer when it is heard of again, and when a look-up says the same', async () => {
    const hot = start()
    await hot.visit(0)
    const copy = hot.resolver.local(code)
    hot.tier1.amend(code, link(1))
    await hot.visitAll(0, 3000, 10, true)
    expect(hot.resolver.local(code)).toBe(copy)
  })

  it('ends when passes fail, and is looked up as others are', async () => {
    const hot = start()
    await hot.visit(0)
    hot.world.truth = link(2)
    expect(await hot.visit(799)).toEqual(link(1))
    expect(hot.world.flights).toBe(1)
    // The first to come asks; the others have what it brings.
    expect(await hot.visit(800)).toEqual(link(2))
    expect(hot.world.flights).toBe(2)
  })

  it('is as old as the last pass that vouched for it, when nobody can say any more', async () => {
    const staleMaxMs = 3000
    const hot = start(staleMaxMs)
    hot.world.random = 1
    await hot.visitAll(0, 4000, 10, true)
    hot.world.truth = 'unknown'
    expect(await hot.visit(3990 + staleMaxMs - 100)).toEqual(link(1))
    expect(await hot.visit(3990 + staleMaxMs + 200)).toBeUndefined()
  })

  it('is not vouched for any more when somebody has changed it', async () => {
    const changed = start()
    await changed.visit(0)
    expect(changed.tier1.peek(code)?.vouched).toBe(true)
    changed.tier1.expire(code)
    expect(changed.tier1.peek(code)).toMatchObject({ vouched: false, fresh: false })
    expect(changed.resolver.local(code)).toBeUndefined()
  })

  it('is not led to any more when a pass says that it has changed, although nobody can say into what', async () => {
    const changed = start()
    await changed.visit(0)
    changed.world.truth = 'unknown'
    changed.tier1.outdate(code)
    // Somebody had asked before that.
    changed.tier1.remember(code, link(1), 0, true)
    expect(await changed.visit(200)).toBeUndefined()
    changed.world.truth = link(1)
    expect(await changed.visit(400)).toEqual(link(1))
  })

  it('is not one that was asked for before a pass and came after it', async () => {
    const late = start()
    late.world.meanwhile = late.pass
    await late.visit(0)
    expect(late.tier1.peek(code)?.vouched).toBe(false)
  })

  it('is never an absence: a new link would be late', async () => {
    const nobody = start()
    nobody.world.truth = absent(0)
    await nobody.visitAll(0, 1000, 10, true)
    expect(nobody.tier1.peek(code)?.vouched).toBe(false)
    expect(nobody.world.flights).toBe(10)
  })

  it('is gone when its row is, which keeps its version', async () => {
    const gone = start()
    await gone.visit(0)
    expect(gone.tier1.amend(code, absent(1))).toBe(true)
    expect(await gone.visit(1)).toEqual(absent(1))
    // What somebody read before that is no news.
    gone.tier1.remember(code, link(1), 1000, false)
    expect(await gone.visit(2)).toEqual(absent(1))
  })

  it('does not hold on to hits that have gone back', async () => {
    const limited = start()
    await limited.visit(0)
    const copy = limited.resolver.local(code)
    if (copy === undefined) throw new Error('it is held')
    const lease = { retired: false }
    copy.prepared = { lease } as unknown as typeof copy.prepared
    await limited.visit(150)
    expect(copy.prepared).toBeDefined()
    lease.retired = true
    await limited.visit(300)
    expect(copy.prepared).toBeUndefined()
  })
})

describe('where tier 1 has a newer version than a trusted Redis, Postgres decides', () => {
  it('for tier 1, whose own change Redis was not told of', async () => {
    const own = start()
    own.world.trusted = link(1)
    own.world.truth = link(2)
    own.tier1.learn(code, link(2), false)
    expect(await own.visitAll(0, 2000, 10)).toEqual(new Set([link(2)]))
  })

  it('for Redis, when the row is gone, and that at once', async () => {
    const gone = start()
    gone.world.trusted = link(1)
    expect(await gone.visit(0)).toEqual(link(1))
    gone.world.trusted = gone.world.truth = absent(0)
    expect(await gone.visit(150)).toEqual(absent(0))
  })

  it('and while Postgres is away, what tier 1 has goes on', async () => {
    const own = start()
    own.tier1.learn(code, link(2), false)
    own.world.trusted = own.world.redis = link(1)
    own.world.truth = 'unknown'
    expect(await own.visitAll(0, 2000, 10)).toEqual(new Set([link(2)]))
  })
})

describe('while Postgres is away', () => {
  it('a hot link is asked for at most once per life of a copy, by what this process knows', async () => {
    const cutOff = start()
    await cutOff.visit(0)
    cutOff.world.truth = 'unknown'
    const before = cutOff.world.flights
    const told = await cutOff.visitAll(900, 2900, 2)
    expect([...told].map((known) => known && isLink(known) && known.url)).toEqual([link(1).url])
    expect(cutOff.world.flights - before).toBeLessThanOrEqual(20)
  })

  it('or by what a Redis knows that is not trusted, and nobody vouches for that', async () => {
    const cutOff = start()
    cutOff.world.truth = 'unknown'
    cutOff.world.redis = link(3)
    const told = await cutOff.visitAll(0, 2000, 2, true)
    expect([...told]).toEqual([link(3)])
    expect(cutOff.world.flights).toBeLessThanOrEqual(20)
    expect(cutOff.tier1.peek(code)?.vouched).toBe(false)
  })

  it('grows older all the same, and is not served past STALE_MAX_S', async () => {
    const cutOff = start(5000)
    await cutOff.visit(0)
    cutOff.world.truth = 'unknown'
    expect(await cutOff.visitAll(900, 4950, 50)).toEqual(new Set([link(1)]))
    expect(await cutOff.visit(5300)).toBeUndefined()
  })
})
