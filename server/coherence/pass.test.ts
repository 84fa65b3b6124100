// What passes cost, and what they do not wait for: statements are counted on a truth and a Redis of the model.
import { describe, expect, it } from 'vitest'
import type { Code } from '../link.ts'
import { VirtualTime } from '../../testing/virtual-time.ts'
import { createFreshener } from './freshen.ts'
import { PostgresModel } from './model/postgres-model.ts'
import { RedisClient, RedisServer } from './model/redis-model.ts'
import { createPass } from './pass.ts'
import { startRelay } from './relay.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'
import { Landing, Vouching } from './vouching.ts'
import { plain } from '../../testing/links.ts'

const code = 'abc1234' as Code
const nothing = (): void => undefined

function start(time: VirtualTime) {
  const postgres = new PostgresModel(time, {})
  const server = new RedisServer()
  const nowMs = (): number => time.nowMs
  let statements = 0
  const real = postgres.truth(() => time.sleep(1))
  const truth: Truth = {
    ...real,
    changesSince: (cursor) => {
      statements++
      return real.changesSince(cursor)
    },
  }
  const process = () => {
    const told = { truth, vouching: new Vouching(800), nowMs, onApplied: nothing, onGoneBack: () => Promise.resolve() }
    const cache = new RedisClient(server, time, {}, nothing)
    const trust = new Trust(800, nowMs)
    const prepare = told.onGoneBack
    const landing = new Landing(told.vouching)
    const failed = { onWipe: nothing, onFailure: nothing }
    const freshener = createFreshener({ ...told, ...failed, cache, trust, landing, prepare })
    const local = { amend: () => false, outdate: nothing, expireAll: nothing, clear: nothing }
    const pass = createPass({ ...told, local, freshener, onDomains: told.onGoneBack })
    const relay = startRelay({ pass, intervalMs: 200, gapMs: 20, onFailure: nothing })
    return { ...told, cache, trust, landing, relay }
  }
  const update = (rollback = false): Promise<unknown> =>
    postgres.change([code], (_code, _before, version, newId) => ({
      code,
      id: newId(),
      url: `https://example.org/${version}`,
      ...plain,
      version,
    }), 0, rollback) // prettier-ignore
  return { server, process, update, statements: () => statements }
}

const lived = (seed: number, live: (time: VirtualTime, world: ReturnType<typeof start>) => Promise<void>) => {
  const time = new VirtualTime(seed)
  return time.run(() => live(time, start(time)))
}

describe('passes', () => {
  it('ask Postgres once each, for tier 1 and for Redis, also while much is changed', () =>
    lived(1, async (time, { process, update, statements }) => {
      const one = process()
      await time.runUntil(1000)
      const before = [statements(), one.vouching.passes] as const
      for (let ms = 1000; ms < 11_000; ms += 70) {
        time.at(ms, () => void update())
      }
      await time.runUntil(11_100)
      expect(one.trust.holds(one.cache.connection)).toBe(true)
      const passes = one.vouching.passes - before[1]
      expect(passes).toBeGreaterThan(40)
      // More only where a pass finds Redis busy with the last one.
      expect(statements() - before[0]).toBeLessThan(passes * 1.2)
    }))

  it('of several processes move the cursor as often as one would', () =>
    lived(2, async (time, { server, process, update }) => {
      for (let n = 0; n < 4; n++) time.at(n * 50, () => void process())
      await time.runUntil(1000)
      // Transactions that come to nothing make every answer's snapshot another one.
      for (let ms = 1000; ms < 9500; ms += 3) {
        time.at(ms, () => void update(true))
      }
      const cursors = new Set<string | null>()
      let changes = 0
      for (let ms = 1000; ms < 9000; ms += 400) {
        changes++
        time.at(ms, () => void update())
      }
      for (let ms = 1000; ms < 9500; ms++) {
        time.at(ms, () => cursors.add(server.keys.cursor))
      }
      await time.runUntil(9600)
      expect(cursors.size).toBeLessThanOrEqual(changes + 2)
    }))

  it('vouch on, at their pace, while Redis swallows everything', () =>
    lived(3, async (time, { server, process, update }) => {
      const one = process()
      await time.runUntil(1000)
      server.hole = true
      const before = one.vouching.passes
      time.at(1500, () => void update())
      await time.runUntil(4000)
      expect(one.vouching.passes - before).toBeGreaterThanOrEqual(13)
      expect(one.vouching.untilMs - 4000).toBeGreaterThan(500)
      expect(one.trust.holds(one.cache.connection)).toBe(false)
      expect(one.landing.isCurrent(server.keys.cursor)).toBe(false)
      server.hole = false
      await time.runUntil(5500)
      expect(one.trust.holds(one.cache.connection)).toBe(true)
      expect(one.landing.isCurrent(server.keys.cursor)).toBe(true)
    }))
})
